//! The crate's bounds, each with its reason.

use std::time::Duration;

/// Bytes held between a stream's source and destination: read, not yet written. Two full writes (one in
/// flight, one filling) and half of one more, so that reading never waits for a healthy destination;
/// small enough that a mirror with its sandboxes stays well under 300 MB.
pub const WINDOW_BYTES_MAX: u64 = 40 * MIB;

/// Bytes of one destination write. Column stores want inserts of some 100,000 rows, which 16 MiB are at
/// 160 bytes a row; the destination holds this much once more in its own form.
pub const BATCH_BYTES_MAX: u64 = 16 * MIB;

/// Bytes of one read. The cost of a call vanishes from some hundred rows on, so a smaller read only keeps
/// decode, script and write closer together; a script's time limit for one call wants it small as well.
pub const READ_BYTES_MAX: u32 = MIB as u32;

/// How long a stream's read waits for a first row. It bounds how long a stop, or a confirm, waits behind
/// an idle source; two calls a second cost nothing.
pub const READ_WAIT: Duration = Duration::from_millis(500);

/// What a batch counts against the window beyond its bytes: the structures that hold it. Keeps a flood of
/// one-row batches bounded as well.
pub const BATCH_OVERHEAD_BYTES: u64 = 256;

/// Least time between two confirms of a busy stream: a source keeps a second more of its log, and is
/// spared a message a batch.
pub const CONFIRM_INTERVAL: Duration = Duration::from_secs(1);

/// Least time between two checkpoints that no batch asks for. An idle stream's position still moves, so
/// that the source can drop its log; hundreds of idle mirrors must not keep the catalog's disk busy.
pub const HEARTBEAT_CHECKPOINT_INTERVAL: Duration = Duration::from_secs(5);

/// How long a stop may finish what is under way. Container runtimes kill 10 s after they asked.
pub const DRAIN_DEADLINE: Duration = Duration::from_secs(8);

/// Bytes of one destination write of a snapshot worker. Each worker holds two of them (one in flight, one
/// filling) and the sandboxes two more: four workers stay under 150 MB.
pub const SNAPSHOT_BATCH_BYTES_MAX: u64 = 8 * MIB;

/// Writes' worth of bytes from which a snapshot worker reads and writes by turns. So much is read at once only where
/// single rows are many megabytes; each is in memory several times on its way.
pub const SNAPSHOT_WIDE_BATCHES: u64 = 2;

/// Tries of one partition whose source fails with passing trouble, before the whole run is given up. One
/// lost connection is mended in place; where the second fails too, the held point is gone most likely, and
/// only the caller can hold a new one.
pub const PARTITION_SOURCE_ATTEMPTS_MAX: u32 = 2;

/// Tries in a row of a worker that the source has no connection for. Sessions of a load before may still be ending at the first one; a
/// source that is full at the second one stays so, and the load goes on with the workers that have one.
pub const CONNECTION_ATTEMPTS_MAX: u32 = 2;

/// The delay after a first failure. Most passing trouble (a failover, a restart behind a balancer) is over
/// by then or takes much longer.
pub const RETRY_DELAY_MIN: Duration = Duration::from_secs(1);

/// The longest delay: whoever mends a store sees its mirrors go on within half a minute.
pub const RETRY_DELAY_MAX: Duration = Duration::from_secs(30);

/// How long a run without rows must last to count as recovered. Below it, a run that breaks at its first
/// rows would look like progress, and the delays would never grow.
pub const STEADY_AFTER: Duration = Duration::from_secs(10);

/// How long it must last at most, where shorter ones broke again without a row: a source that lets go whoever waits
/// for it would else count as back each time. Longer than any connector waits for a sign of its store.
pub const STEADY_AFTER_MAX: Duration = Duration::from_secs(300);

/// Records among which a mirror's limit of left-out records holds, in limits: one in ten may be wrong. Fewer would
/// stop a mirror for a bad hour of one table, more would let a script empty a table of several.
pub const RECORD_ERROR_WINDOW_LIMITS: u64 = 10;

const MIB: u64 = 1024 * 1024;

const _: () = assert!(
    WINDOW_BYTES_MAX >= 2 * BATCH_BYTES_MAX + 2 * READ_BYTES_MAX as u64,
    "a full batch must fit beside the one in flight, or a stream would stall until its idle timeout"
);
