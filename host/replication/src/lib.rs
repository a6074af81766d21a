//! How records travel from a source to a destination without losing or doubling one.
//!
//! ```text
//!            Source ──> [Transform] ──> Destination          each behind a trait, each busy with one call
//!               ^            │                │
//!        confirm│            v                v
//!               └──────── Machine <──── written, durable
//!                            │
//!                            v save
//!                       Checkpoints
//! ```
//!
//! This crate knows no store, no sandbox and no catalog. It owns the loop: what is read when, what is
//! written when, when a position may be remembered and when a source may forget. It keeps one invariant,
//! asserted after every event:
//!
//! ```text
//! read >= written >= durable >= checkpointed >= confirmed
//! ```
//!
//! What waits in a [`Stage`] for a destination that fails is durable, too.
//!
//! - [`Machine`] decides, as a pure function of events; its module documentation holds the argument.
//! - [`stream()`] performs what the machine decides, for one life of a mirror's stream.
//! - [`snapshot()`] loads existing rows with several workers; its module documentation says why a load that
//!   lost its point still ends right.
//! - [`supervise()`] runs one life after another, and [`remedy`] is the one place that says which failures
//!   deserve another.
//! - [`Records`] settles what becomes of records that a script or the destination cannot take.
//! - The traits are what others implement: components ([`Source`], [`SnapshotSource`], [`Transform`],
//!   [`Destination`]), the catalog ([`Checkpoints`], [`SnapshotLedger`], [`RecordDesk`]) and whoever watches
//!   ([`Observer`]).
//!
//! Bounds and their reasons are in [`config`]. The simulation in `tests/sim` crashes all of it at every step.

mod batch;
mod checkpoint;
pub mod config;
mod destination;
mod hand;
mod instances;
mod ledger;
mod machine;
mod observer;
mod records;
mod reopening;
mod retry;
mod run;
mod settings;
mod snapshot;
mod source;
mod stage;
mod stream;
mod supervise;
mod transform;

pub use batch::{Batch, Limits};
pub use checkpoint::{BatchRecord, Checkpoint, Checkpoints, Resume};
pub use destination::{Ack, Destination, PartState};
pub use instances::{Instances, NoTransform};
pub use ledger::{PartitionDone, PartitionProgress, PartitionState, SnapshotLedger, TableProgress};
pub use machine::{Effect, Event, Machine, Now, Part, Script, Shelf, Standing, Stopped};
pub use observer::{LoopId, Notice, Observer, Silent, Watermarks};
pub use records::{LeavingOut, RecordDesk, Records};
pub use reopening::{Opening, Reopening};
pub use retry::{Remedy, remedy};
pub use run::Run;
pub use settings::{SnapshotBounds, SnapshotSettings, StreamBounds, StreamSettings};
pub use snapshot::{SnapshotEnd, snapshot};
pub use source::{Changes, HeldSnapshot, PartitionRead, SnapshotSource, Source};
pub use stage::{NoStage, OpenStage, STAGE_FULL, Stage, Staged, Ticket};
pub use stream::{StreamParts, stream};
pub use supervise::{Ended, supervise};
pub use transform::{Rejection, Transform, Transformed};
