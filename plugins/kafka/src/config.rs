//! The plugin's limits and names.

/// The topic beside which positions are kept. It holds no messages.
pub(crate) const POSITIONS: &str = "tarn_positions";

/// Its partitions: a position has a number at each of the first ones.
pub(crate) const POSITIONS_PARTITIONS: u16 = 16;

/// How long a transaction of the stream may take: longer than the host waits for messages to arrive and for the
/// commit, for else the brokers would give it up under its hands. Readers of committed messages wait as long for what
/// comes after one that a killed process left open.
pub(crate) const STREAM_TIMEOUT_MS: u32 = 120_000;

/// How long the transaction of a part of a load may take: a million rows take some ten seconds, through a slow script
/// minutes. Brokers allow 15 minutes by default.
pub(crate) const PART_TIMEOUT_MS: u32 = 600_000;

/// How long a part may go on in one transaction. From there on each of its writes is one: the rest of the time is for
/// one more of them to be read, written and committed, and brokers give up what takes longer.
pub(crate) const PART_WHOLE_MS: u32 = 300_000;

/// Messages that are handed to the host at a time: enough that the call costs nothing, few enough to be held twice.
pub(crate) const SEND_BYTES: usize = 1 << 20;

/// Topics that are remembered to be there: scripts may make names of values.
pub(crate) const TOPICS_KNOWN_MAX: usize = 10_000;

/// Kafka's own limit on a topic's name.
pub(crate) const TOPIC_NAME_BYTES_MAX: usize = 249;
