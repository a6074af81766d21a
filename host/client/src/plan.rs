//! What applying a setup would do, found by comparing it with the server, and shown before it is done.

mod mirror;
mod show;

use tarn_model::{MirrorEdit, MirrorSpec, Peer};

pub(crate) use self::mirror::{Difference, compare};
use crate::setup::ScriptText;

/// A value that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// The field, as in the file.
    pub(crate) field: String,
    /// What the server has; empty where it has nothing.
    pub(crate) stored: String,
    /// What the file wants.
    pub(crate) given: String,
}

/// What becomes of a peer.
#[derive(Debug)]
pub(crate) enum PeerStep {
    Create(Peer),
    Update { peer: Peer, changes: Vec<Change> },
    Unchanged(String),
    Drop(String),
}

/// What becomes of a script.
#[derive(Debug)]
pub(crate) enum ScriptStep {
    Create(ScriptText),
    /// A new version of the script of this id.
    Update {
        id: i64,
        script: ScriptText,
    },
    Unchanged(String),
    Drop {
        id: i64,
        name: String,
    },
}

/// What becomes of a mirror.
#[derive(Debug)]
pub(crate) enum MirrorStep {
    Create(Box<MirrorSpec>),
    /// Pause, edit, resume.
    Edit {
        name: String,
        edit: Box<MirrorEdit>,
        changes: Vec<Change>,
    },
    Unchanged(String),
    /// It differs in what no edit changes.
    Stuck {
        name: String,
        changes: Vec<Change>,
    },
    Drop(String),
}

/// Everything that applying does. Peers come before scripts and scripts before mirrors; what is dropped goes
/// the other way round.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) peers: Vec<PeerStep>,
    pub(crate) scripts: Vec<ScriptStep>,
    pub(crate) mirrors: Vec<MirrorStep>,
}

/// How many steps of each kind a plan has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) create: usize,
    pub(crate) change: usize,
    pub(crate) drop: usize,
    pub(crate) unchanged: usize,
    pub(crate) stuck: usize,
}

impl Tally {
    /// Whether there is anything to do.
    pub(crate) fn is_idle(self) -> bool {
        self.create + self.change + self.drop == 0
    }
}

impl Plan {
    /// Counts the steps.
    pub(crate) fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for peer in &self.peers {
            *match peer {
                PeerStep::Create(_) => &mut tally.create,
                PeerStep::Update { .. } => &mut tally.change,
                PeerStep::Unchanged(_) => &mut tally.unchanged,
                PeerStep::Drop(_) => &mut tally.drop,
            } += 1;
        }
        for script in &self.scripts {
            *match script {
                ScriptStep::Create(_) => &mut tally.create,
                ScriptStep::Update { .. } => &mut tally.change,
                ScriptStep::Unchanged(_) => &mut tally.unchanged,
                ScriptStep::Drop { .. } => &mut tally.drop,
            } += 1;
        }
        for mirror in &self.mirrors {
            *match mirror {
                MirrorStep::Create(_) => &mut tally.create,
                MirrorStep::Edit { .. } => &mut tally.change,
                MirrorStep::Unchanged(_) => &mut tally.unchanged,
                MirrorStep::Stuck { .. } => &mut tally.stuck,
                MirrorStep::Drop(_) => &mut tally.drop,
            } += 1;
        }
        tally
    }
}
