//! What a run tells those who watch it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tarn_model::Failure;

use crate::checkpoint::BatchRecord;
use crate::ledger::PartitionDone;
use crate::machine::Standing;
use crate::transform::Rejection;

/// How far a stream is, as sequences of its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watermarks {
    /// Delivered by the source.
    pub read: u64,
    /// Taken by the destination.
    pub written: u64,
    /// Safe at the destination.
    pub durable: u64,
    /// Stored as the position to restart from.
    pub checkpointed: u64,
    /// Released at the source.
    pub confirmed: u64,
}

/// One of the loops of a mirror that count their failures each by itself: its lives, a destination that rests, a worker
/// of its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoopId(u64);

impl LoopId {
    /// One that no other loop of this process has.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Something that happened.
#[derive(Debug)]
pub enum Notice<'a> {
    /// The stream moved. Sent after events that changed a watermark, so often; cheap to ignore.
    Progress {
        /// Where it is now.
        watermarks: Watermarks,
        /// Bytes held between source and destination.
        window_bytes: u64,
        /// Everything up to this sequence is at the destination itself, not only in the stage.
        delivered: u64,
        /// Bytes that wait in the stage.
        staged_bytes: u64,
    },
    /// What became of the stage.
    Staging(Standing),
    /// Rows arrived from the source.
    RowsRead {
        /// How many.
        rows: u64,
    },
    /// A batch got its first row.
    BatchBegun {
        /// The number it will have.
        number: u64,
        /// Sequence of the source before its first row.
        first_sequence: u64,
    },
    /// A batch is durable and its checkpoint stored.
    BatchEnded(&'a BatchRecord),
    /// The script dropped rows on purpose.
    RowsDropped {
        /// How many.
        rows: u64,
    },
    /// A record could not be taken, the policy is to go on without it, and note was taken of it.
    RecordLeftOut(&'a Rejection),
    /// The destination took changed columns.
    SchemaEvolved,
    /// A table was cut into partitions.
    TablePlanned {
        /// `schema.name` at the source.
        table: &'a str,
        /// How many partitions.
        partitions: u32,
    },
    /// A worker starts on a partition.
    PartitionBegun {
        /// `schema.name` at the source.
        table: &'a str,
        /// Its place in the table's plan.
        number: u32,
    },
    /// Rows of a partition were written.
    PartitionRows {
        /// `schema.name` at the source.
        table: &'a str,
        /// Its place in the table's plan.
        number: u32,
        /// How many, since the last such notice.
        rows: u64,
    },
    /// A partition is durable and stored as done.
    PartitionEnded(&'a PartitionDone),
    /// The source of a stream is open.
    StreamOpened,
    /// Something failed and will be tried again. Sent once a failure.
    Retrying {
        /// Who tries.
        of: LoopId,
        /// What failed.
        failure: &'a Failure,
        /// Failures without progress between them, from 1.
        attempt: u32,
        /// How long until the next try.
        delay: Duration,
    },
    /// It went on after failures.
    Recovered {
        /// Who went on.
        of: LoopId,
        /// How many failures there were in a row.
        attempts: u32,
    },
    /// It ended while it failed, and will not be tried again by this loop.
    GivenUp {
        /// Which ended.
        of: LoopId,
    },
}

/// Watches runs. Called from the loop: it must be quick and must not block.
pub trait Observer: Send + Sync + 'static {
    /// Something happened.
    fn notice(&self, notice: Notice<'_>);
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn notice(&self, _notice: Notice<'_>) {}
}
