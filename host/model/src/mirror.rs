//! Mirrors: what is replicated from which peer into which, and how far it is.

mod edit;
mod graph;
mod load;
mod spec;
mod table;
mod tag;

pub use self::edit::{DropOptions, MirrorEdit, PendingEdit};
pub use self::graph::{GraphBar, GraphMode, GraphSpan};
pub use self::load::{RowCounts, TableLoad};
pub use self::spec::{MirrorSpec, TypeSystem};
pub use self::table::{ColumnMapping, TableEngine, TableMapping};
pub use self::tag::MirrorTag;

use crate::failure::Failure;
use crate::state::{DesiredState, MirrorState};
use crate::timestamp::Timestamp;

/// A mirror as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// Tells it from an earlier mirror of the same name.
    pub id: i64,
    /// What it replicates.
    pub spec: MirrorSpec,
    /// What a person asked it to be.
    pub desired: DesiredState,
    /// What it is doing.
    pub state: MirrorState,
    /// SETUP, SNAPSHOT or RUNNING: where it goes on after a rest.
    pub resume_at: MirrorState,
    /// Counts the requests it took. A run reports its moves under the epoch it began with; a later
    /// request makes those reports void.
    pub epoch: i64,
    /// Why it is FAILED.
    pub failure: Option<Failure>,
    /// An edit that is recorded and not yet carried out.
    pub edit: Option<PendingEdit>,
    /// How it is to be dropped.
    pub drop_options: DropOptions,
    /// When it was created.
    pub created_at: Timestamp,
    /// Rows that changes brought, over all batches that ended.
    pub rows_synced: u64,
}

impl Mirror {
    /// The id clients know a mirror's work by.
    pub fn workflow_id(&self) -> String {
        workflow_id(&self.spec.name)
    }
}

/// The id clients know the work of the mirror of that name by.
pub fn workflow_id(mirror: &str) -> String {
    format!("{mirror}-peerflow")
}
