//! What a mirror's runs are told to do, and the bounds they keep.

use std::time::Duration;

use crate::config;
use crate::records::Records;

/// Settings of a stream.
#[derive(Clone, Debug)]
pub struct StreamSettings {
    /// Rows of one destination write at most (a script may make more of a single read).
    pub batch_rows_max: u32,
    /// How long a row waits for company before it is written; zero means not at all.
    pub idle_timeout: Duration,
    /// What becomes of records that cannot be taken.
    pub records: Records,
    /// Byte and time bounds; [`StreamBounds::default`] outside of tests.
    pub bounds: StreamBounds,
}

/// Settings of a snapshot.
#[derive(Clone, Debug)]
pub struct SnapshotSettings {
    /// Rows of one partition.
    pub partition_rows: u64,
    /// Partitions of one table at least, where it is large enough.
    pub partitions_min: u32,
    /// Workers in all; each has its own connections.
    pub workers: u32,
    /// Tables that load at the same time.
    pub tables_in_parallel: u32,
    /// Rows of one destination write at most.
    pub batch_rows_max: u32,
    /// What becomes of records that cannot be taken.
    pub records: Records,
    /// Byte and time bounds; [`SnapshotBounds::default`] outside of tests.
    pub bounds: SnapshotBounds,
}

/// Bounds of a stream. The defaults and their reasons are in `config.rs`.
#[derive(Clone, Debug)]
pub struct StreamBounds {
    /// Bytes held between source and destination.
    pub window_bytes_max: u64,
    /// Bytes of one destination write.
    pub batch_bytes_max: u64,
    /// Bytes of one read.
    pub read_bytes_max: u32,
    /// How long a read waits for a first row.
    pub read_wait: Duration,
    /// Least time between two confirms of a busy stream.
    pub confirm_interval: Duration,
    /// Least time between two checkpoints that no batch asks for.
    pub heartbeat_checkpoint_interval: Duration,
    /// How long a stop may finish what is under way.
    pub drain_deadline: Duration,
}

/// Bounds of a snapshot. The defaults and their reasons are in `config.rs`.
#[derive(Clone, Debug)]
pub struct SnapshotBounds {
    /// Bytes of one destination write; a worker holds at most two.
    pub batch_bytes_max: u64,
    /// Bytes of one read.
    pub read_bytes_max: u32,
    /// How long a stop may finish what is under way.
    pub drain_deadline: Duration,
}

impl Default for StreamBounds {
    fn default() -> Self {
        Self {
            window_bytes_max: config::WINDOW_BYTES_MAX,
            batch_bytes_max: config::BATCH_BYTES_MAX,
            read_bytes_max: config::READ_BYTES_MAX,
            read_wait: config::READ_WAIT,
            confirm_interval: config::CONFIRM_INTERVAL,
            heartbeat_checkpoint_interval: config::HEARTBEAT_CHECKPOINT_INTERVAL,
            drain_deadline: config::DRAIN_DEADLINE,
        }
    }
}

impl Default for SnapshotBounds {
    fn default() -> Self {
        Self {
            batch_bytes_max: config::SNAPSHOT_BATCH_BYTES_MAX,
            read_bytes_max: config::READ_BYTES_MAX,
            drain_deadline: config::DRAIN_DEADLINE,
        }
    }
}

impl StreamBounds {
    /// With less room, a batch that is filling would wait for its idle timeout while reading stands still.
    pub(crate) fn assert_consistent(&self) {
        let overhead = 2 * config::BATCH_OVERHEAD_BYTES;
        assert!(
            self.window_bytes_max
                >= 2 * self.batch_bytes_max + 2 * (u64::from(self.read_bytes_max) + overhead),
            "the window holds less than two batches and two reads: {self:?}"
        );
    }
}
