//! Every bound of this crate, each with its reason.

use std::time::Duration;

/// Entries that wait to be stored. A mirror makes a few a second; a flood is cut and counted rather than
/// let it hold up the loop.
pub(crate) const JOURNAL_ENTRIES_MAX: usize = 4096;

/// Entries stored by one transaction of the catalog.
pub(crate) const JOURNAL_BATCH_MAX: usize = 256;

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

/// How long all runs together may take to end when the process is asked to. Above the loop's own drain
/// deadline, below the 10 s after which container runtimes kill.
pub(crate) const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(9);

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

/// Records of one batch that may stop their script, where it is looked for them: each costs the time of a record
/// and some instances. A script that more of them stop is wrong as a whole.
pub(crate) const STOPPED_RECORDS_MAX: u32 = 10;

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

/// Scripts compiled at the same time. Each takes a core for some tenths of a second.
pub(crate) const SCRIPTS_COMPILED_AT_ONCE: usize = 1;
