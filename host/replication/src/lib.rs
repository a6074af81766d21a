//! How records travel from a source to a destination without losing or doubling one.
//!
//! This crate knows no store, no sandbox and no catalog. It owns the loop: what is read when, what is
//! written when, when a position may be remembered and when a source may forget. Everything it waits
//! for is behind a trait that other crates implement.
//!
//! It keeps one invariant, asserted after every event:
//!
//! ```text
//! read >= written >= durable >= checkpointed >= confirmed
//! ```

mod batch;
mod checkpoint;
pub mod config;
mod destination;
mod hand;
mod instances;
mod ledger;
mod machine;
mod observer;
mod retry;
mod run;
mod settings;
mod snapshot;
mod source;
mod stream;
mod supervise;
mod transform;

pub use batch::{Batch, Limits};
pub use checkpoint::{BatchRecord, Checkpoint, Checkpoints, Resume};
pub use destination::{Ack, Destination};
pub use instances::{Instances, NoTransform};
pub use ledger::{PartitionDone, PartitionProgress, PartitionState, SnapshotLedger, TableProgress};
pub use machine::{Effect, Event, Machine, Now, Part, Script, Stopped};
pub use observer::{Notice, Observer, Silent, Watermarks};
pub use retry::{BackOff, Remedy, remedy};
pub use run::Run;
pub use settings::{SnapshotBounds, SnapshotSettings, StreamBounds, StreamSettings};
pub use snapshot::{SnapshotEnd, snapshot};
pub use source::{Changes, HeldSnapshot, PartitionRead, SnapshotSource, Source};
pub use stream::{StreamParts, stream};
pub use supervise::{Ended, supervise};
pub use transform::{RecordPolicy, Rejection, Transform, Transformed};
