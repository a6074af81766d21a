//! A part of a table's snapshot, as text that stays valid across restarts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tarn_sdk::Failure;

use super::key_range::KeyRange;
use crate::catalog::CatalogColumn;
use crate::lsn::Lsn;

/// The form that this version writes.
const VERSION: u32 = 5;

/// The form that knows of no columns that are left out, which is still read.
const VERSION_WITHOUT_EXCLUDED: u32 = 4;

/// The form that knows of no load, which is still read.
const VERSION_WITHOUT_LOAD: u32 = 3;

/// The form that knows of no keys, which is still read.
const VERSION_WITHOUT_KEYS: u32 = 2;

/// The form that knows of no columns, which is still read.
const VERSION_WITHOUT_COLUMNS: u32 = 1;

/// A range of a table's blocks or keys, or of a partition's of a partitioned table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Partition {
    /// The form of this text.
    v: u32,
    /// The mapped table, as the settings name it.
    pub(crate) table: String,
    /// The mapped table's number; nothing where it was cut by a version that did not note it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) root: Option<u32>,
    /// The relation that holds the rows: the table, or a leaf of it.
    pub(crate) leaf: u32,
    /// Its file when it was cut: where it has another now, its rows are at other places.
    pub(crate) file: u32,
    /// The first block.
    pub(crate) from: u32,
    /// The first block after it; nothing for the last range, which is open upward (B226).
    pub(crate) to: Option<u32>,
    /// Only rows that came or changed since this transaction; nothing for all.
    pub(crate) since: Option<u64>,
    /// The numbers of the columns that the table had when it was cut; nothing for those that it has.
    #[serde(default)]
    pub(crate) columns: Option<Vec<i32>>,
    /// Those of them that were left out then, by the names that they had.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) excluded: BTreeMap<String, i32>,
    /// Where the load began that it was cut for, a place in the log; nothing for the load that reads it. An edit gives those
    /// that are left a later one. Rows with a version of then would win over changes of columns that these lack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<u64>,
    /// The range of keys; nothing where it is one of blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) keys: Option<KeyRange>,
}

impl Partition {
    pub(crate) fn new(table: &str, leaf: u32, file: u32, from: u32, to: Option<u32>) -> Self {
        let table = table.to_owned();
        Self {
            v: VERSION,
            table,
            root: None,
            leaf,
            file,
            from,
            to,
            since: None,
            columns: None,
            excluded: BTreeMap::new(),
            start: None,
            keys: None,
        }
    }

    /// A range of keys.
    pub(crate) fn of_keys(table: &str, leaf: u32, file: u32, keys: KeyRange) -> Self {
        Self { keys: Some(keys), ..Self::new(table, leaf, file, 0, None) }
    }

    /// The same of a table with this number, with these columns only, of which those of these names are left out.
    pub(crate) fn of_columns(self, root: Option<u32>, columns: &[CatalogColumn], exclude: &[String]) -> Self {
        let excluded = columns.iter().filter(|column| exclude.contains(&column.name));
        Self {
            root,
            columns: Some(columns.iter().map(|column| column.attribute).collect()),
            excluded: excluded.map(|column| (column.name.clone(), column.attribute)).collect(),
            ..self
        }
    }

    /// The same of the load that began there.
    pub(crate) fn of_load(self, start: Option<Lsn>) -> Self {
        Self { start: start.map(|Lsn(start)| start), ..self }
    }

    /// The partition that brings this one, read completely at a horizon, up to a later point.
    pub(crate) fn catch_up(mut self, horizon: &str) -> Result<Self, Failure> {
        let since = horizon.parse().map_err(|_| {
            Failure::permanent(
                "horizon_unreadable",
                "the stored horizon was not made by this version of the plugin",
            )
        })?;
        self.since = Some(since);
        Ok(self)
    }

    /// Whether it has all blocks of its relation.
    pub(crate) fn is_whole(&self) -> bool {
        self.from == 0 && self.to.is_none()
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("numbers and text have a JSON form")
    }

    pub(crate) fn from_text(text: &str) -> Result<Self, Failure> {
        let unreadable = || {
            Failure::permanent(
                "partition_unreadable",
                "the stored partition was not made by this version of the plugin",
            )
            .with_hint("resync the mirror, or run the version that made it")
        };
        let partition: Self = serde_json::from_str(text).map_err(|_| unreadable())?;
        match partition.v {
            VERSION_WITHOUT_COLUMNS
            | VERSION_WITHOUT_KEYS
            | VERSION_WITHOUT_LOAD
            | VERSION_WITHOUT_EXCLUDED
            | VERSION => Ok(partition),
            _ => Err(unreadable()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::fixture;

    #[test]
    fn a_partition_reads_as_it_was_written() {
        let partition = Partition::new(r#""Sales"."Q1""#, 4_000_000_000, 7, 10, Some(20))
            .of_columns(
                Some(4_000_000_001),
                &[fixture::column(1, "id"), fixture::column(7, "secret")],
                &["secret".to_owned(), "other".to_owned()],
            )
            .of_load(Some(Lsn(7)));
        let caught_up = partition.clone().catch_up("5000000000").expect("a horizon");
        assert_eq!(caught_up.since, Some(5_000_000_000));
        assert_eq!(caught_up.columns.as_deref(), Some(&[1, 7][..]));
        assert_eq!(caught_up.excluded, [("secret".to_owned(), 7)].into());
        for partition in [partition, caught_up] {
            assert_eq!(Partition::from_text(&partition.to_text()).expect("a partition"), partition);
        }
    }

    #[test]
    fn version_1_is_still_read() {
        let text = r#"{"v":1,"table":"public.t","leaf":16384,"file":16390,"from":0,"to":null,"since":null}"#;
        let partition = Partition::from_text(text).expect("a partition");
        assert!(partition.is_whole());
        assert_eq!((partition.leaf, partition.file, partition.columns), (16384, 16390, None));
    }

    #[test]
    fn version_2_is_still_read() {
        let text = r#"{"v":2,"table":"public.t","leaf":16384,"file":16390,"from":0,"to":9,"since":7,"columns":[1,3]}"#;
        let partition = Partition::from_text(text).expect("a partition");
        assert_eq!(partition.columns.as_deref(), Some(&[1, 3][..]));
        assert_eq!((partition.keys.as_ref(), partition.to_text().as_str()), (None, text));
    }

    #[test]
    fn version_3_is_still_read() {
        let text = r#"{"v":3,"table":"public.t","leaf":16384,"file":16390,"from":0,"to":null,"since":null,"columns":[1,3],"keys":{"key":[{"attribute":1,"type_oid":25,"collation":"\"C\""}],"from":null,"to":["it's"]}}"#;
        let partition = Partition::from_text(text).expect("a partition");
        let keys = partition.keys.as_ref().expect("a range of keys");
        assert_eq!(keys.conditions(&["k".to_owned()]), [r#"(t."k") < ('it''s')"#]);
        assert_eq!(partition.to_text(), text);
    }

    #[test]
    fn version_4_is_still_read() {
        let text = r#"{"v":4,"table":"public.t","leaf":16384,"file":16390,"from":0,"to":9,"since":7,"columns":[1,3],"start":5000000000}"#;
        let partition = Partition::from_text(text).expect("a partition");
        assert_eq!((partition.start, partition.to_text().as_str()), (Some(5_000_000_000), text));
    }

    #[test]
    fn version_5_is_still_read() {
        let text = r#"{"v":5,"table":"public.t","leaf":16384,"file":16390,"from":0,"to":9,"since":7,"columns":[1,3],"excluded":{"secret":3}}"#;
        let partition = Partition::from_text(text).expect("a partition");
        assert_eq!(
            (&partition.excluded, partition.to_text().as_str()),
            (&[("secret".to_owned(), 3)].into(), text)
        );
    }

    #[test]
    fn other_text_is_no_partition() {
        for text in
            ["", "{}", r#"{"v":6,"table":"public.t","leaf":1,"file":1,"from":0,"to":null,"since":null}"#]
        {
            assert_eq!(Partition::from_text(text).expect_err("no partition").code, "partition_unreadable");
        }
    }
}
