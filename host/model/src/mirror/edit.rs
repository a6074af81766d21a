//! Changes to a mirror that a person asked for and its run carries out.

use serde::{Deserialize, Serialize};

use super::{MirrorSpec, TableMapping};

/// Changed settings of a paused mirror. Zero or empty means unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MirrorEdit {
    /// Tables to take in.
    pub additional_tables: Vec<TableMapping>,
    /// Tables to let go of.
    pub removed_tables: Vec<TableMapping>,
    /// See [`MirrorSpec::max_batch_size`].
    pub batch_size: u32,
    /// See [`MirrorSpec::idle_timeout_seconds`].
    pub idle_timeout: u64,
    /// See [`MirrorSpec::snapshot_num_rows_per_partition`].
    pub snapshot_num_rows_per_partition: u32,
    /// See [`MirrorSpec::snapshot_max_parallel_workers`].
    pub snapshot_max_parallel_workers: u32,
    /// See [`MirrorSpec::snapshot_num_tables_in_parallel`].
    pub snapshot_num_tables_in_parallel: u32,
    /// Whether added tables stream from now on without their existing rows.
    pub skip_initial_snapshot_for_table_additions: bool,
}

impl MirrorEdit {
    /// The specification with this edit in it.
    pub fn apply_to(&self, spec: &MirrorSpec) -> MirrorSpec {
        let mut edited = spec.clone();
        edited
            .tables
            .retain(|table| !self.removed_tables.iter().any(|removed| removed.source == table.source));
        edited.tables.extend(self.additional_tables.iter().cloned());
        for (setting, change) in [
            (&mut edited.max_batch_size, self.batch_size),
            (&mut edited.snapshot_num_rows_per_partition, self.snapshot_num_rows_per_partition),
            (&mut edited.snapshot_max_parallel_workers, self.snapshot_max_parallel_workers),
            (&mut edited.snapshot_num_tables_in_parallel, self.snapshot_num_tables_in_parallel),
        ] {
            if change != 0 {
                *setting = change;
            }
        }
        if self.idle_timeout != 0 {
            edited.idle_timeout_seconds = self.idle_timeout;
        }
        edited
    }
}

/// What of an edit the run has still to do at source and destination. It is recorded together with the
/// edited specification and cleared when done, so that a crash in between loses nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PendingEdit {
    /// Tables that are in the specification and not yet at the source.
    pub added: Vec<TableMapping>,
    /// Tables that are out of the specification and still at the source.
    pub removed: Vec<TableMapping>,
    /// Whether added tables stream without their existing rows.
    pub skip_snapshot: bool,
}

/// How a mirror is dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DropOptions {
    /// Whether its batches and counts go too.
    pub drop_mirror_stats: bool,
    /// Whether the destination is left as it is.
    pub skip_destination_drop: bool,
}
