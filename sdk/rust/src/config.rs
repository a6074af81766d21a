//! The settings that the host gives a plugin, as JSON; `wit/README.md` lists the fields. Absent
//! fields take their defaults, unknown ones are ignored.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Failure;

/// What a source is configured with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SourceConfig {
    /// The mirror's name.
    pub mirror: String,
    /// The replication slot.
    pub slot: String,
    /// The publication.
    pub publication: String,
    /// Whether the mirror itself makes, alters and drops the publication.
    pub publication_managed: bool,
    /// The tables to replicate.
    pub tables: Vec<SourceTable>,
    /// Tables (`schema.name`) whose snapshot still runs while the stream does: unchanged values in
    /// their rows are fetched by key, because the destination may not have them yet.
    pub loading: Vec<String>,
    /// Whether messages in the source's log are delivered too: there is a script that may want them.
    pub messages: bool,
    /// Whether large transactions are taken before they commit, where the source can send them so.
    pub in_progress: bool,
    /// Which relation records (`BATCH.md`, *Messages*) are delivered.
    pub relations: Relations,
    /// What is read once more of tables that the source wrote anew, where no change says what their rows hold now.
    pub rereads: Rereads,
    /// Whether rows come with all their columns or not at all, also where they are read again: there is a script that may decide
    /// by any of them what becomes of a row.
    pub whole_rows: bool,
    /// The position that loads start at: that of the setup, or what the last `alter` returned.
    pub load_start: Vec<u8>,
    /// How many instances read a load at a time; 0 where nothing is loaded.
    pub load_workers: u32,
}

/// Which relation records a source delivers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Relations {
    /// None: nobody takes them.
    #[default]
    None,
    /// One where a table's columns changed.
    Changes,
    /// One before the first change of each table, too.
    All,
}

/// What a source reads once more of a table whose rows were written anew.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Rereads {
    /// Nothing.
    #[default]
    None,
    /// Values that later changes leave out: the destination has those from before, or none.
    LeftOut,
    /// All rows.
    All,
}

/// One table of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SourceTable {
    /// `schema.name`.
    pub source: String,
    /// Columns that are not replicated.
    pub exclude: Vec<String>,
    /// Whether the destination has none of the rows from before the stream, or keeps none at all: values that changes leave out
    /// are read from the table, for there is nothing else to take them from.
    pub lacks_rows: bool,
}

/// What a destination is configured with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DestinationConfig {
    /// The mirror's name.
    pub mirror: String,
    /// The tables to write.
    pub tables: Vec<DestinationTable>,
    /// The column that marks deleted rows; empty for [`Self::SOFT_DELETE_COLUMN`].
    pub soft_delete_column: String,
    /// The column that says when a row was written; empty for [`Self::SYNCED_AT_COLUMN`].
    pub synced_at_column: String,
    /// The cluster to make tables on; empty for none.
    pub cluster: String,
    /// Whether tables are made with a replicated engine.
    pub replicated: bool,
    /// What becomes of rows that are in the tables before the mirror is.
    pub existing_rows: ExistingRows,
    /// Which load the instance is for that goes into tables beside those of the settings; empty for none.
    pub beside: String,
    /// Types that columns have where their own settings name none.
    pub usual_types: UsualTypes,
    /// What a queue is told besides.
    pub queue: QueueConfig,
}

/// Types that a destination would not choose by itself, since not every value of the source's fits; empty for its own
/// choice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UsualTypes {
    /// Of numerics without bounds, or with more digits than any type of the destination's has.
    pub numeric: String,
    /// Of times of day.
    pub time: String,
    /// Of documents.
    pub json: String,
}

/// What a queue is told besides the tables, whose destinations are topics.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueConfig {
    /// A name of what the mirror delivers since it was made or resynced: no other one has it, of no server.
    pub delivery_id: String,
    /// Whether each change is delivered exactly once to those who read what is committed; otherwise at least once.
    pub exactly_once: bool,
    /// What is made of deleted rows.
    pub deletes: Deletes,
    /// Whether the instance writes records that come again long after they were due (dead letters).
    pub replays: bool,
    /// Whether topics that are missing are made.
    pub create_topics: bool,
    /// How many of them an instance makes at most beyond those that tables name: scripts may make names of values.
    pub topics_max: u32,
    /// Partitions of topics that are made; -1 leaves it to the brokers.
    pub topic_partitions: i32,
    /// On how many brokers their partitions are; -1 leaves it to the brokers.
    pub topic_replication: i32,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            delivery_id: String::new(),
            exactly_once: true,
            deletes: Deletes::default(),
            replays: false,
            create_topics: true,
            topics_max: 1_000,
            topic_partitions: -1,
            topic_replication: -1,
        }
    }
}

/// What is made of deleted rows, where no script makes messages of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Deletes {
    /// A message that says so.
    #[default]
    Record,
    /// A message without a value, which deletes what a compacted topic has under the key.
    Tombstone,
    /// Both, in this order.
    Both,
}

/// What becomes of rows that are in a destination's table before the mirror is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExistingRows {
    /// They are refused: a snapshot is to be loaded, and they would stay among its rows.
    #[default]
    Refused,
    /// They stay: there is no snapshot.
    Kept,
    /// They go, and the table with them: the host drops it before the mirror is set up.
    Replaced,
}

impl DestinationConfig {
    /// The usual name of the column that marks deleted rows.
    pub const SOFT_DELETE_COLUMN: &str = "_tarn_is_deleted";
    /// The usual name of the column that says when a row was written.
    pub const SYNCED_AT_COLUMN: &str = "_tarn_synced_at";
    /// The name of the column that holds a row's version.
    pub const VERSION_COLUMN: &str = "_tarn_version";

    /// The column that marks deleted rows.
    pub fn soft_delete_column(&self) -> &str {
        or_default(&self.soft_delete_column, Self::SOFT_DELETE_COLUMN)
    }

    /// The column that says when a row was written.
    pub fn synced_at_column(&self) -> &str {
        or_default(&self.synced_at_column, Self::SYNCED_AT_COLUMN)
    }
}

fn or_default<'a>(name: &'a str, default: &'a str) -> &'a str {
    if name.is_empty() { default } else { name }
}

/// One table of a destination.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DestinationTable {
    /// The source's table, `schema.name`.
    pub source: String,
    /// The destination's table.
    pub destination: String,
    /// The engine to make the table with; empty for the usual one.
    pub engine: String,
    /// The expression to partition the table by; empty for none.
    pub partition_key: String,
    /// Columns that are not written.
    pub exclude: Vec<String>,
    /// Settings of single columns.
    pub columns: Vec<DestinationColumn>,
}

/// Settings of one column of a destination's table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DestinationColumn {
    /// The source's column.
    pub source_name: String,
    /// Its name at the destination; empty for the same.
    pub destination_name: String,
    /// Its type at the destination; empty for the usual one.
    pub destination_type: String,
    /// Its place in the table's sorting key, from 1; 0 when not set.
    pub ordering: i32,
    /// Whether the column may be null at the destination although the source's may not.
    pub nullable_enabled: bool,
}

/// What a script is opened with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScriptSettings {
    /// The mirror's name.
    pub mirror: String,
    /// The source peer's name.
    pub source_peer: String,
    /// The destination peer's name.
    pub destination_peer: String,
    /// The mirror's tables.
    pub tables: Vec<ScriptTable>,
    /// What the destination takes.
    pub output: Output,
}

/// One table as a script sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScriptTable {
    /// The source's table, `schema.name`.
    pub source: String,
    /// The destination's table.
    pub destination: String,
}

/// What a destination takes from a script.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Output {
    /// Rows of tables.
    #[default]
    Rows,
    /// Messages of a queue.
    Messages,
}

/// Reads settings; what is wrong with them is a permanent failure that names the place.
pub(crate) fn parse<T: DeserializeOwned>(json: &str) -> Result<T, Failure> {
    serde_json::from_str(json)
        .map_err(|error| Failure::permanent("settings_invalid", format!("the settings: {error}")))
}
