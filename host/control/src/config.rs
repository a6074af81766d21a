//! Every bound of this crate, each with its reason.

use std::time::Duration;

/// Entries that wait to be stored. A mirror makes a few a second; a flood is cut and counted rather than
/// let it hold up the loop.
pub(crate) const JOURNAL_ENTRIES_MAX: usize = 4096;

/// Entries stored by one transaction of the catalog.
pub(crate) const JOURNAL_BATCH_MAX: usize = 256;

/// How long a mirror's new state waits for the lines of its log that led to it.
pub(crate) const JOURNAL_WAIT_MAX: Duration = Duration::from_secs(5);

/// How often the supervisor looks at the catalog when nobody wakes it: another process may share it.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_secs(30);

/// How long a mirror rests after a run that nobody asked to end left it with something to do, such as with
/// the catalog away. Without it the next run would end the same way at once.
pub(crate) const RERUN_DELAY: Duration = Duration::from_secs(5);

/// How long a drop may take at the source before it goes on without it: a person waits for it, and a
/// source that is gone must not keep its mirror.
pub(crate) const TEARDOWN_DEADLINE: Duration = Duration::from_secs(30);

/// Attempts of a drop at a source that refuses, and the pause between two of them: a restart behind a
/// balancer is over by the last one.
pub(crate) const TEARDOWN_ATTEMPTS_MAX: u32 = 4;

/// See [`TEARDOWN_ATTEMPTS_MAX`].
pub(crate) const TEARDOWN_PAUSE: Duration = Duration::from_secs(2);

/// How long a check of a new mirror may take, both sides together: clients wait 60 s.
pub(crate) const VALIDATION_DEADLINE: Duration = Duration::from_secs(25);

/// How much longer it may take for each of its tables, of which both sides are asked.
pub(crate) const VALIDATION_DEADLINE_OF_TABLE: Duration = Duration::from_millis(3);

/// How long it may take at most: the rest of the minute is for the answer.
pub(crate) const VALIDATION_DEADLINE_MAX: Duration = Duration::from_secs(55);

/// How long all runs together may take to end when the process is asked to. Above the loop's own drain
/// deadline, below the 10 s after which container runtimes kill.
pub(crate) const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(9);

/// How often what is nobody's is removed from the places of stages, beside at the start: it is little, and each look is
/// a few requests of a bucket.
pub(crate) const STAGE_SWEEP_INTERVAL: Duration = Duration::from_secs(3600);

/// How long creating a peer waits for its store: what clients of this API are used to.
pub(crate) const PROBE_DEADLINE: Duration = Duration::from_secs(15);

/// How long reading a peer waits for its store's version: the peer is shown without it then.
pub(crate) const PEER_VERSION_DEADLINE: Duration = Duration::from_secs(5);

/// How long a store may take to say what is in it: a person waits at a form.
pub(crate) const INSPECTION_DEADLINE: Duration = Duration::from_secs(15);

/// How long both stores may take to count rows: clients wait 60 s.
pub(crate) const ROW_COUNT_DEADLINE: Duration = Duration::from_secs(45);

/// What of those times is kept for connecting and answering: a connector is told the rest, so that it can
/// say itself what took too long.
pub(crate) const INSPECTION_MARGIN: Duration = Duration::from_secs(3);

/// Records that a mirror goes on without and tells of in its log, in each interval: enough to see what is wrong. Others
/// are counted with the next one told of, and the status counts all of them.
pub(crate) const LEFT_OUT_LOG_LINES: u32 = 10;

/// See [`LEFT_OUT_LOG_LINES`].
pub(crate) const LEFT_OUT_LOG_INTERVAL: Duration = Duration::from_secs(60);

/// The attempt from which a failure that goes on is told of again, at each doubling: six minutes after it began, where attempts
/// are half a minute apart.
pub(crate) const RETRY_REMINDER_ATTEMPTS: u32 = 16;

/// Records of one batch that may stop their script, where it is looked for them: each costs the time of a record
/// and some instances. A script that more of them stop is wrong as a whole.
pub(crate) const STOPPED_RECORDS_MAX: u32 = 10;

/// Records of dead letters that a replay gathers before it writes them, in bytes: one write costs little for so many.
pub(crate) const REPLAY_BYTES_AT_ONCE: usize = 4 << 20;

/// Dead letters replayed by one request: the stream waits for them, and so does a client.
pub(crate) const REPLAY_LETTERS_MAX: u32 = 500;

/// Most dead letters of one page, and most bytes of records in it.
pub(crate) const LETTER_PAGE_MAX: u32 = 1_000;

/// See [`LETTER_PAGE_MAX`].
pub(crate) const LETTER_PAGE_BYTES_MAX: usize = 16 << 20;

/// Highest limit of records that a mirror may leave out: their places are kept in memory, eight bytes each.
pub(crate) const RECORD_ERROR_LIMIT_MAX: u64 = 100_000;

/// Most workers of a load, and most tables at a time: each is a connection to the source.
pub(crate) const SNAPSHOT_WORKERS_MAX: u32 = 128;

/// Most instances of a script that a mirror's changes are shared out to: more than the cores that one stream can keep
/// busy. Each script of a chain has as many, and all mirrors share the sandbox's pool of instances.
pub(crate) const SCRIPT_WORKERS_MAX: u32 = 16;

/// Longest idle timeout: rows that wait for longer than a day are a mistake in the unit.
pub(crate) const IDLE_TIMEOUT_SECONDS_MAX: u64 = 86_400;

/// Most partitions of one table: each is a row of the catalog and a statement at the source.
pub(crate) const SNAPSHOT_PARTITIONS_MAX: u32 = 100_000;

/// Largest source of a script, in bytes: a component in base64. Text is far below it.
pub(crate) const SCRIPT_SOURCE_BYTES_MAX: usize = 24 * 1024 * 1024;

/// Most log entries of one page.
pub(crate) const LOG_PAGE_MAX: u32 = 1_000;

/// How often a peer is connected to again because another request changed it meanwhile: each may take the
/// deadline above, and clients wait 60 s.
pub(crate) const PEER_ATTEMPTS_MAX: u32 = 3;

/// How often an edit is checked again because the mirror changed while it was checked.
pub(crate) const EDIT_ATTEMPTS_MAX: u32 = 5;

/// Most batches in a status, newest first: a console polls it. The batches' own route has all.
pub(crate) const STATUS_BATCHES_MAX: u32 = 1_000;

/// Most tags of one mirror: notes for people, not a store.
pub(crate) const TAGS_MAX: usize = 100;

/// Longest key of a tag, in characters.
pub(crate) const TAG_KEY_CHARS_MAX: usize = 128;

/// Longest value of a tag, in characters.
pub(crate) const TAG_VALUE_CHARS_MAX: usize = 1_024;

/// Largest text of a script's cases, in bytes: a megabyte of them is read by nobody.
pub(crate) const SCRIPT_TESTS_BYTES_MAX: usize = 1024 * 1024;

/// Failed cases that a refusal names: the first ones tell what is wrong.
pub(crate) const FAILED_CASES_NAMED_MAX: usize = 20;

/// Records that a script is tried out on at once: what a person looks through.
pub(crate) const REHEARSAL_RECORDS_MAX: usize = 1_000;

/// How many recent records a script is tried out on where nobody says it: a screen of them.
pub(crate) const REHEARSAL_RECORDS_DEFAULT: usize = 10;

/// How long a script may take for all records that it is tried out on, and again for its cases. With compiling
/// before and the last record's own limit after each, it stays below the 60 s that a request has.
pub(crate) const REHEARSAL_DEADLINE: Duration = Duration::from_secs(15);

/// Bytes of what a script made of all records that it is tried out on: they are shown to a person.
pub(crate) const REHEARSAL_BYTES_MAX: usize = 32 << 20;

/// Scripts tried out at the same time: each takes a core, and mirrors need the others.
pub(crate) const REHEARSALS_AT_ONCE: usize = 2;

/// Lines of its log that are told with what a script made of a record, the last ones.
pub(crate) const REHEARSAL_LOG_LINES: usize = 20;

/// Bytes of one such line; longer ones are cut.
pub(crate) const REHEARSAL_LOG_LINE_BYTES: usize = 500;

/// Records of one table that a mirror may keep for trying out scripts.
pub(crate) const RECENT_RECORDS_MAX: u32 = 1_000;

/// Bytes of whole batches that a mirror keeps: some hundredths of a second of a busy stream, so that cutting
/// them is rare where the stream is quiet.
pub(crate) const RECENT_WHOLE_BYTES_MAX: usize = 4 << 20;

/// Bytes of one table's recent records: a thousand of an ordinary size.
pub(crate) const RECENT_TABLE_BYTES_MAX: usize = 1 << 20;

/// Bytes of the recent records of all tables of a mirror. A hundred mirrors that keep them take two gigabytes
/// at the very most, with the batches.
pub(crate) const RECENT_BYTES_MAX: usize = 16 << 20;

/// How often the slots of mirrors are looked at: what a person who watches waits for, at the price of a connection
/// and one statement for each source.
pub(crate) const SLOT_LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// Sources that are asked at the same time: those that do not answer take a deadline each.
pub(crate) const SLOT_SOURCES_AT_ONCE: usize = 8;

/// Looks in a row that do not find a slot until it counts as missing: a drop or a resync may be under way.
pub(crate) const SLOT_ABSENT_LOOKS: u32 = 2;

/// Bytes of the log that a slot may hold before people are warned: some ten minutes of a busy server, and a tenth
/// of a small disk.
pub(crate) const SLOT_HELD_BYTES_WARNING: u64 = 10 << 30;

/// People are warned when the source would remove what a slot holds within this time: long enough to act.
pub(crate) const SLOT_TIME_LEFT_WARNING: Duration = Duration::from_secs(3600);

/// Scripts compiled at the same time. Each takes a core for some tenths of a second.
pub(crate) const SCRIPTS_COMPILED_AT_ONCE: usize = 1;

/// Verifications at the same time. Each holds four instances, a connection or two to either store, and a core
/// for some of the time; the others wait for their turn.
pub(crate) const VERIFICATIONS_AT_ONCE: usize = 2;

/// Bytes of the source's rows that a verification reads in a second: a tenth of what a load reads, so that
/// whoever works with the stores does not notice.
pub(crate) const VERIFY_BYTES_PER_SECOND_MAX: u64 = 32 * 1024 * 1024;

/// Rows of a partition: what is done again after a restart, and the time that a point is held at the source.
pub(crate) const VERIFY_PARTITION_ROWS: u64 = 250_000;

/// Partitions that a large table has at least, so that its progress can be seen.
pub(crate) const VERIFY_PARTITIONS_MIN: u32 = 8;

/// Rows and bytes of one comparison. A megabyte of rows is compared by one statement, unless its keys are long.
pub(crate) const VERIFY_BATCH_ROWS_MAX: u32 = 10_000;

/// See [`VERIFY_BATCH_ROWS_MAX`].
pub(crate) const VERIFY_BATCH_BYTES_MAX: u32 = 1024 * 1024;

/// Buckets that keys are added up in: 128 KiB a table. With a million rows a changed key has sixty others
/// looked up.
pub(crate) const VERIFY_BUCKETS: usize = 16_384;

/// Keys of one page of the destination's.
pub(crate) const VERIFY_KEY_PAGE: u32 = 20_000;

/// Keys of one look-up at the source: half of what the contract allows, so that their statement is planned
/// quickly.
pub(crate) const VERIFY_LOOKUP_KEYS: usize = 500;

/// Rows that are found unequal before they are looked at again: their keys are held in memory.
pub(crate) const VERIFY_SUSPECTS_MAX: usize = 1_000;

/// Points at which a row must be found different. At a single one, a commit may be in the source's log and not
/// yet visible to others.
pub(crate) const VERIFY_STRIKES: u32 = 2;

/// Looks at a suspect. A row that changes at each of them all the time stays unsettled.
pub(crate) const VERIFY_ROUNDS_MAX: u32 = 8;

/// The pause between two looks: doubles from the first to the last of these.
pub(crate) const VERIFY_PAUSE_MIN: Duration = Duration::from_millis(250);

/// See [`VERIFY_PAUSE_MIN`].
pub(crate) const VERIFY_PAUSE_MAX: Duration = Duration::from_secs(5);

/// How long a mirror may take to pass a point: more than the idle timeout that clients of this API set. The
/// source keeps rows that were deleted since for as long.
pub(crate) const VERIFY_CATCH_UP_MAX: Duration = Duration::from_secs(120);

/// How often a mirror's checkpoint is looked at while it is waited for.
pub(crate) const VERIFY_CATCH_UP_POLL: Duration = Duration::from_millis(200);

/// How often a verification looks whether its mirror is dropped.
pub(crate) const VERIFY_GONE_POLL: Duration = Duration::from_secs(1);

/// How long a verification waits for a mirror that is being set up, loaded or edited.
pub(crate) const VERIFY_MIRROR_WAIT_MAX: Duration = Duration::from_secs(600);

/// Tries in a row without progress before a verification is given up: with the pauses between them some five
/// minutes of a store that is away.
pub(crate) const VERIFY_ATTEMPTS_MAX: u32 = 12;

/// The pause after a failure that passes: doubles from the first to the last of these.
pub(crate) const VERIFY_RETRY_PAUSE_MIN: Duration = Duration::from_secs(1);

/// See [`VERIFY_RETRY_PAUSE_MIN`].
pub(crate) const VERIFY_RETRY_PAUSE_MAX: Duration = Duration::from_secs(30);

/// Differences of a table that are told by their keys.
pub(crate) const VERIFY_FIRST_DIFFERENCES: usize = 100;

/// Differences of a table after which it is not compared further: it is another table by then.
pub(crate) const VERIFY_DIFFERENCES_MAX: u64 = 10_000;

/// Numbers of keys that are kept of a table's unequal rows, so that none counts twice: 20 bytes each in the
/// catalog.
pub(crate) const VERIFY_UNEQUAL_MAX: usize = 20_000;

/// How often the progress of a partition under way is stored, for people.
pub(crate) const VERIFY_SAVE_INTERVAL: Duration = Duration::from_secs(2);

/// How often the verifier looks for something to do when nobody wakes it.
pub(crate) const VERIFIER_LOOK_INTERVAL: Duration = Duration::from_secs(30);

/// Tables of a mirror whose latency is kept apart: each takes some 4 KiB, and who collects metrics wants no more
/// series of one mirror.
pub(crate) const LATENCY_TABLES_MAX: usize = 1_000;

/// How long a time counts among the recent ones, at least: long enough for a p99 of a quiet table, short enough
/// that an outage is over in it when it is over.
pub(crate) const LATENCY_WINDOW: Duration = Duration::from_secs(300);

/// Commit times of one table that are kept apart in one write. Beyond, neighbours count as the older one.
pub(crate) const LATENCY_RUNS_MAX: usize = 4_096;

/// Reads of a stream that are remembered until the destination has them; beyond, neighbours count as one.
pub(crate) const LATENCY_READS_MAX: usize = 4_096;

/// Instances that make a mirror's targets at once. A store takes some 20 ms for a statement that makes a table, most of it
/// waiting for its disk; it takes more of them at once than this, but other people's queries count among its hundred, too.
pub(crate) const TARGETS_AT_ONCE: usize = 8;

/// Targets that each of them makes at least: an instance and its first connection take as long as a few tables.
pub(crate) const TARGETS_BY_INSTANCE_MIN: usize = 8;

/// Instances of the process that make targets at once, of all mirrors: many may be set up together, and the others need
/// instances, too, of some five hundred.
pub(crate) const TARGET_INSTANCES_MAX: usize = 64;
