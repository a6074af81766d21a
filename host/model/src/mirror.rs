//! Mirrors: what is replicated from which peer into which.

use serde::{Deserialize, Serialize};

/// A mirror as a person defined it, defaults filled in. Times are in seconds, sizes in rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MirrorSpec {
    /// Its unique name: it becomes part of the slot's and the publication's names.
    pub name: String,
    /// Peer that records come from.
    pub source_peer: String,
    /// Peer that records go to.
    pub destination_peer: String,
    /// The tables.
    pub tables: Vec<TableMapping>,
    /// Whether existing rows are loaded first.
    pub do_initial_snapshot: bool,
    /// Whether it ends after the load.
    pub initial_snapshot_only: bool,
    /// Most rows of one write to the destination.
    pub max_batch_size: u32,
    /// Longest time a row waits for company before it is written.
    pub idle_timeout_seconds: u64,
    /// Publication to use; empty means the mirror makes `tarn_pub_<mirror>` itself.
    pub publication_name: String,
    /// Slot to use; empty means `tarn_slot_<mirror>`.
    pub replication_slot_name: String,
    /// Rows of one snapshot partition.
    pub snapshot_num_rows_per_partition: u64,
    /// Partitions of one table; 0 means by size.
    pub snapshot_num_partitions_override: u32,
    /// Partitions loaded at the same time.
    pub snapshot_max_parallel_workers: u32,
    /// Tables loaded at the same time.
    pub snapshot_num_tables_in_parallel: u32,
    /// Column that marks deleted rows; empty means `_tarn_is_deleted`.
    pub soft_delete_col_name: String,
    /// Column of the write's time; empty means `_tarn_synced_at`.
    pub synced_at_col_name: String,
    /// Script that transforms records, `name` or `name@version`; empty means none.
    pub script: String,
}

/// One table of a mirror.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableMapping {
    /// `schema.table` at the source.
    pub source: String,
    /// Table at the destination.
    pub destination: String,
    /// Columns left out.
    pub exclude: Vec<String>,
    /// Settings of single columns.
    pub columns: Vec<ColumnMapping>,
    /// Partition expression of the destination's table.
    pub partition_key: String,
    /// Engine of the destination's table; empty means the destination's own choice.
    pub engine: String,
}

/// Settings of one column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ColumnMapping {
    /// Column at the source.
    pub source_name: String,
    /// Its name at the destination; empty means the same.
    pub destination_name: String,
    /// Its type at the destination; empty means by the source's type.
    pub destination_type: String,
    /// Its place in the destination's sorting key, from 1; 0 means by the source's key.
    pub ordering: u32,
    /// Whether it is nullable whatever the source says.
    pub nullable_enabled: bool,
}

impl MirrorSpec {
    /// The publication the source reads.
    pub fn publication(&self) -> String {
        if self.publication_name.is_empty() {
            format!("tarn_pub_{}", self.name)
        } else {
            self.publication_name.clone()
        }
    }

    /// Whether the mirror makes, alters and drops the publication itself.
    pub fn publication_managed(&self) -> bool {
        self.publication_name.is_empty()
    }

    /// The replication slot the source reads.
    pub fn slot(&self) -> String {
        if self.replication_slot_name.is_empty() {
            format!("tarn_slot_{}", self.name)
        } else {
            self.replication_slot_name.clone()
        }
    }
}
