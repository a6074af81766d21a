//! Points at the source, and waiting until the destination has passed one.

use tarn_catalog::Catalog;
use tarn_model::{DesiredState, Failure, Mirror, MirrorState};
use tarn_wasm::{HeldPoint, SourceInstance};
use tokio::time::{Instant, sleep};

use super::instances::Instances;
use crate::config::{VERIFY_CATCH_UP_MAX, VERIFY_CATCH_UP_POLL};
use crate::stage::Stages;

/// A point that is held for as long as this lives.
pub(super) struct Point {
    _holder: SourceInstance,
    pub(super) place: Place,
}

/// Where a point is.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// What reads at it.
    pub(super) token: String,
    /// Everything that it sees was committed by this sequence.
    pub(super) sequence: u64,
}

impl Point {
    /// Holds a new one.
    pub(super) async fn hold(instances: &Instances) -> Result<Self, Failure> {
        let mut holder = instances.source().await?;
        let HeldPoint { token, sequence, .. } = holder.hold_snapshot().await?;
        Ok(Self { _holder: holder, place: Place { token, sequence } })
    }
}

/// What a mirror does, as far as a verification is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Its destination follows.
    Streams,
    /// Its destination stays as it is, for this reason.
    Rests(String),
    /// It is on its way to one of the two.
    Moves(MirrorState),
    /// It is dropped, or about to be.
    Gone,
}

impl Standing {
    pub(super) fn of(mirror: Option<&Mirror>) -> Self {
        let Some(mirror) = mirror else { return Self::Gone };
        if mirror.desired == DesiredState::Terminated {
            return Self::Gone;
        }
        match mirror.state {
            MirrorState::Terminating | MirrorState::Terminated => Self::Gone,
            MirrorState::Running => Self::Streams,
            MirrorState::Paused => Self::Rests("the mirror is paused".to_owned()),
            MirrorState::Failed => Self::Rests("the mirror has failed".to_owned()),
            MirrorState::Completed => Self::Rests("the mirror takes no changes".to_owned()),
            state @ (MirrorState::Unknown
            | MirrorState::Pausing
            | MirrorState::Setup
            | MirrorState::Snapshot
            | MirrorState::Resync
            | MirrorState::Modifying) => Self::Moves(state),
        }
    }
}

/// How waiting for a point ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// The destination has everything that the point sees.
    Yes,
    /// It will not, for this reason.
    No(String),
}

/// Waits until a mirror's destination has everything that was committed by a sequence.
pub(super) async fn passed(
    catalog: &Catalog,
    stages: &Stages,
    mirror: i64,
    sequence: u64,
) -> Result<Passed, Failure> {
    let deadline = Instant::now() + VERIFY_CATCH_UP_MAX;
    loop {
        // What waits in the stage is before the checkpoint, and not at the destination. It is looked at last: what
        // leaves it in between is there.
        if catalog.resume(mirror).await?.is_some_and(|resume| resume.sequence >= sequence)
            && stages.waits_after(catalog, mirror).await?.is_none_or(|after| after >= sequence)
        {
            return Ok(Passed::Yes);
        }
        let found = catalog.mirror_by_id(mirror).await?;
        match Standing::of(found.as_ref()) {
            Standing::Rests(why) => return Ok(Passed::No(why)),
            Standing::Gone => return Ok(Passed::No("the mirror is dropped".to_owned())),
            Standing::Streams | Standing::Moves(_) if Instant::now() < deadline => {}
            Standing::Streams | Standing::Moves(_) => {
                let seconds = VERIFY_CATCH_UP_MAX.as_secs();
                return Ok(Passed::No(format!("the mirror did not catch up within {seconds} s")));
            }
        }
        sleep(VERIFY_CATCH_UP_POLL).await;
    }
}
