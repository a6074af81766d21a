//! The crate's limits.

use std::time::Duration;

/// How long brokers may take to say what is there: a person waits for it, and a probe has 15 s in all.
pub(crate) const METADATA_DEADLINE: Duration = Duration::from_secs(10);

/// How long brokers are waited for until it is looked whether they let the user in; then twice as long, and so on: each
/// question is a new one, and a busy cluster takes seconds for one.
pub(crate) const FIRST_WAIT: Duration = Duration::from_millis(250);

/// How long after its user was refused a producer that begins still waits to be let in: brokers that have just started may not
/// know their users yet, and a mirror that fails for this stays so until a person resumes it.
pub(crate) const REFUSED_LOGIN_MAX: Duration = Duration::from_secs(10);

/// How long making topics may take: brokers answer once leaders are elected.
pub(crate) const ADMIN_DEADLINE: Duration = Duration::from_secs(20);

/// How long a producer may take to begin: it ends what an earlier one of its id left open, and waits until that is
/// done at all brokers.
pub(crate) const BEGIN_DEADLINE: Duration = Duration::from_secs(45);

/// How long a message may take to be with all brokers that must have it: a broker's restart and an election lie
/// within it. Less than the shortest time-out of a transaction.
pub(crate) const DELIVERY_DEADLINE: Duration = Duration::from_secs(45);

/// How long a transaction may take to be committed once its messages are there.
pub(crate) const COMMIT_DEADLINE: Duration = Duration::from_secs(30);

/// How long giving a transaction up may take: brokers do it by themselves should it fail.
pub(crate) const ABORT_DEADLINE: Duration = Duration::from_secs(5);

/// How long one request to a broker may take before the connection counts as lost.
pub(crate) const REQUEST_DEADLINE: Duration = Duration::from_secs(20);

/// How long connecting, TLS and authentication included, may take.
pub(crate) const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// How long a pause between two attempts to connect may become.
pub(crate) const RECONNECT_PAUSE_MAX: Duration = Duration::from_secs(5);

/// Time-outs of transactions that are asked for: brokers take from one second to 15 minutes by default.
pub(crate) const TRANSACTION_TIMEOUT_MS: std::ops::RangeInclusive<u32> = 1_000..=900_000;

/// Numbers of a position: partitions that the topic beside which they are kept must have.
pub(crate) const POSITION_NUMBERS_MAX: usize = 16;

/// How long a topic that was just made may be unknown to the broker that is asked.
pub(crate) const NEW_TOPIC_DEADLINE: Duration = Duration::from_secs(5);

/// How long to wait between two questions about it.
pub(crate) const NEW_TOPIC_PAUSE: Duration = Duration::from_millis(50);

/// What waits to be sent, for one producer: a stream has one of them, a load one for each worker. Where the peer takes
/// larger messages (up to 1 GB, librdkafka's own limit), it is one of those instead.
pub(crate) const WAITING_KIB_MAX: usize = 32 << 10;

/// Messages among them: small ones cost librdkafka more memory than they have bytes.
pub(crate) const WAITING_MESSAGES_MAX: usize = 200_000;

/// How long to wait at a time for room among what waits.
pub(crate) const ROOM_PAUSE: Duration = Duration::from_millis(20);

/// How long what the library told beside its answers is listened to after an error: it is there already, a line at a time.
pub(crate) const EVENTS_PAUSE: Duration = Duration::from_millis(20);

/// The largest message where the peer says nothing: what brokers take by default.
pub(crate) const MESSAGE_BYTES_MAX: u32 = 1_000_000;

/// What a message costs beside key, value and headers: fields of the record and of the batch around it.
pub(crate) const MESSAGE_OVERHEAD_BYTES: usize = 128;

/// How long the number of a topic's partitions is believed. Whoever adds partitions moves keys to others anyway.
pub(crate) const PARTITIONS_FRESH: Duration = Duration::from_secs(300);

/// Topics whose partitions a producer remembers: scripts may make names of values.
pub(crate) const TOPICS_KNOWN_MAX: usize = 10_000;

/// How much of a broker's or the library's message is kept.
pub(crate) const MESSAGE_TEXT_BYTES_MAX: usize = 1_024;
