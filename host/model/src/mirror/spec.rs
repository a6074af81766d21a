//! What a mirror is asked to do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::TableMapping;
use crate::enumerated::{Enumerated, serde_by_name};
use crate::record_error::RecordErrorPolicy;
use crate::schema_change::SchemaChangePolicy;
use crate::script::joined;

/// A mirror as a person defined it, defaults filled in. Times are in seconds, sizes in rows. It
/// serialises under the API's names, in the catalog as in answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct MirrorSpec {
    /// Its unique name: it becomes part of the slot's and the publication's names.
    #[serde(rename = "flow_job_name")]
    pub name: String,
    /// Peer that records come from.
    #[serde(rename = "source_name")]
    pub source_peer: String,
    /// Peer that records go to.
    #[serde(rename = "destination_name")]
    pub destination_peer: String,
    /// The tables.
    #[serde(rename = "table_mappings")]
    pub tables: Vec<TableMapping>,
    /// Whether existing rows are loaded first.
    pub do_initial_snapshot: bool,
    /// Whether it ends after the load.
    pub initial_snapshot_only: bool,
    /// Whether an earlier mirror's rows at the destination are replaced by this one's load.
    pub resync: bool,
    /// Most rows of one write to the destination.
    pub max_batch_size: u32,
    /// Longest time a row waits for company before it is written.
    pub idle_timeout_seconds: u64,
    /// Publication to use; empty means the mirror makes `tarn_pub_<mirror>` itself.
    pub publication_name: String,
    /// Slot to use; empty means `tarn_slot_<mirror>`.
    pub replication_slot_name: String,
    /// Rows of one snapshot partition.
    pub snapshot_num_rows_per_partition: u32,
    /// Partitions of one table; 0 means by size.
    pub snapshot_num_partitions_override: u32,
    /// Partitions loaded at the same time.
    pub snapshot_max_parallel_workers: u32,
    /// Tables loaded at the same time.
    pub snapshot_num_tables_in_parallel: u32,
    /// Where the load may be staged; kept for clients that send it.
    pub snapshot_staging_path: String,
    /// Where changes may be staged; kept for clients that send it.
    pub cdc_staging_path: String,
    /// Column that marks deleted rows; empty means `_tarn_is_deleted`.
    pub soft_delete_col_name: String,
    /// Column of the write's time; empty means `_tarn_synced_at`.
    pub synced_at_col_name: String,
    /// Scripts that transform records, in this order: `name` or `name@version`, several with commas between
    /// them. A list of such texts is taken too; empty means none.
    #[serde(deserialize_with = "joined")]
    pub script: String,
    /// Instances of each script that changes are shared out to, by key. With one of them, every change goes through
    /// the same instance.
    pub script_workers: u32,
    /// What becomes of a record that the scripts or the destination cannot take.
    pub record_error_policy: RecordErrorPolicy,
    /// Of ten times as many records, so many may be left out, also by the policies SKIP and DEAD_LETTER: one
    /// more stops the mirror.
    pub record_error_limit: u32,
    /// What is done at the destination where columns changed at the source.
    pub schema_changes: SchemaChangePolicy,
    /// Records of each table, as they came from the source, that are kept in memory for trying out scripts;
    /// 0 keeps none.
    pub recent_records: u32,
    /// The types the destination's tables are made of; kept for clients that send it.
    pub system: TypeSystem,
    /// Settings by name. `TARN_STREAM_IN_PROGRESS`, when it is `true`, takes large transactions before they commit;
    /// `TARN_REREAD`, when it is `false`, reads no rows again that the source wrote anew; those of types are in
    /// plugins/clickhouse/TABLES.md, those of a queue in plugins/kafka/RECORDS.md. Other names that begin with `TARN_` are
    /// refused, and all others kept for clients that send them.
    pub env: BTreeMap<String, String>,
}

/// Whose types a mirror speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TypeSystem {
    /// The service's own.
    #[default]
    Own,
    /// PostgreSQL's.
    Postgres,
}

impl Enumerated for TypeSystem {
    const EXPECTED: &'static str = "a type system";
    const ALL: &'static [(Self, u32, &'static str)] = &[(Self::Own, 0, "Q"), (Self::Postgres, 1, "PG")];
}

serde_by_name!(TypeSystem);

impl MirrorSpec {
    /// A record in ten, over ten thousand: data that is wrong here and there stays below it, a script that is
    /// wrong for one of several tables does not, and meets it within a second of a busy stream.
    pub const RECORD_ERROR_LIMIT: u32 = 1_000;

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

    /// Puts the default where a setting is unset or zero, or a column's setting says nothing.
    pub fn fill_defaults(&mut self) {
        for (setting, default) in [
            (&mut self.max_batch_size, 250_000),
            (&mut self.snapshot_num_rows_per_partition, 1_000_000),
            (&mut self.snapshot_max_parallel_workers, 4),
            (&mut self.snapshot_num_tables_in_parallel, 1),
            (&mut self.record_error_limit, Self::RECORD_ERROR_LIMIT),
            (&mut self.script_workers, 1),
        ] {
            if *setting == 0 {
                *setting = default;
            }
        }
        if self.idle_timeout_seconds == 0 {
            self.idle_timeout_seconds = 10;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_and_zero_settings_take_the_defaults_and_others_stay() {
        let mut spec =
            MirrorSpec { name: "m".into(), snapshot_max_parallel_workers: 2, ..MirrorSpec::default() };
        spec.fill_defaults();
        assert_eq!((spec.max_batch_size, spec.idle_timeout_seconds), (250_000, 10));
        assert_eq!((spec.record_error_policy, spec.record_error_limit), (RecordErrorPolicy::Stop, 1_000));
        assert_eq!(
            (spec.snapshot_num_rows_per_partition, spec.snapshot_max_parallel_workers),
            (1_000_000, 2)
        );
        assert_eq!(spec.snapshot_num_tables_in_parallel, 1);
        assert_eq!((spec.publication(), spec.slot()), ("tarn_pub_m".into(), "tarn_slot_m".into()));
    }

    #[test]
    fn a_spec_is_kept_under_the_names_of_the_api() {
        let spec: MirrorSpec = serde_json::from_str(
            r#"{"flow_job_name":"m","source_name":"a","destination_name":"b","system":1,"table_mappings":[
                {"source_table_identifier":"public.t","destination_table_identifier":"t","exclude":"x, y"}]}"#,
        )
        .expect("parses");
        assert_eq!((spec.name.as_str(), spec.system), ("m", TypeSystem::Postgres));
        assert_eq!(spec.tables[0].exclude, ["x", "y"]);
        let again: MirrorSpec =
            serde_json::from_value(serde_json::to_value(&spec).expect("serialises")).expect("parses");
        assert_eq!(again, spec);
    }
}
