//! One table of a mirror.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use tarn_batch::split_table_name;

use crate::enumerated::{Enumerated, serde_by_name};

/// Which table goes where, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct TableMapping {
    /// `schema.table` at the source. Clients also write the parts in double quotes, as in SQL.
    #[serde(rename = "source_table_identifier", deserialize_with = "plain_or_quoted")]
    pub source: String,
    /// Table at the destination.
    #[serde(rename = "destination_table_identifier")]
    pub destination: String,
    /// Columns left out. Clients send a list, or one text with commas.
    #[serde(deserialize_with = "list_or_commas")]
    pub exclude: Vec<String>,
    /// Settings of single columns.
    pub columns: Vec<ColumnMapping>,
    /// Partition expression of the destination's table.
    pub partition_key: String,
    /// Engine of the destination's table.
    pub engine: TableEngine,
}

/// Settings of one column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct ColumnMapping {
    /// Column at the source.
    #[serde(alias = "name")]
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

/// Engine of a destination's table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableEngine {
    /// The latest version of each row.
    #[default]
    ReplacingMergeTree,
    /// Every version of each row.
    MergeTree,
    /// Nothing: rows feed materialised views.
    Null,
    /// The first, replicated.
    ReplicatedReplacingMergeTree,
    /// The second, replicated.
    ReplicatedMergeTree,
    /// The latest non-null value of each column.
    CoalescingMergeTree,
}

impl Enumerated for TableEngine {
    const EXPECTED: &'static str = "a table engine";
    const ALL: &'static [(Self, u32, &'static str)] = &[
        (Self::ReplacingMergeTree, 0, "CH_ENGINE_REPLACING_MERGE_TREE"),
        (Self::MergeTree, 1, "CH_ENGINE_MERGE_TREE"),
        (Self::Null, 2, "CH_ENGINE_NULL"),
        (Self::ReplicatedReplacingMergeTree, 3, "CH_ENGINE_REPLICATED_REPLACING_MERGE_TREE"),
        (Self::ReplicatedMergeTree, 4, "CH_ENGINE_REPLICATED_MERGE_TREE"),
        (Self::CoalescingMergeTree, 5, "CH_ENGINE_COALESCING_MERGE_TREE"),
    ];

    fn from_name(name: &str) -> Option<Self> {
        let by_store = Self::ALL.iter().find(|(engine, ..)| engine.store_name() == name);
        let by_api = Self::ALL.iter().find(|(.., known)| *known == name);
        by_api.or(by_store).map(|(engine, ..)| *engine).or(name.is_empty().then_some(Self::default()))
    }
}

serde_by_name!(TableEngine);

impl TableEngine {
    /// The store's own name for it.
    pub fn store_name(self) -> &'static str {
        match self {
            Self::ReplacingMergeTree => "ReplacingMergeTree",
            Self::MergeTree => "MergeTree",
            Self::Null => "Null",
            Self::ReplicatedReplacingMergeTree => "ReplicatedReplacingMergeTree",
            Self::ReplicatedMergeTree => "ReplicatedMergeTree",
            Self::CoalescingMergeTree => "CoalescingMergeTree",
        }
    }
}

/// Reads a table's name and leaves out quotes that it does not need, so that one table has one name.
fn plain_or_quoted<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(unquoted(&text).unwrap_or(text))
}

/// The name without quotes; `None` where it is none, or would mean another table without them.
fn unquoted(text: &str) -> Option<String> {
    let (schema, name) = split_table_name(text)?;
    let is_plain = !schema.contains('.') && !schema.starts_with('"') && !name.starts_with('"');
    is_plain.then(|| format!("{schema}.{name}"))
}

/// Reads a list of names, or one text with commas between them.
fn list_or_commas<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct Names;

    impl<'de> Visitor<'de> for Names {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of column names, or one text with commas")
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut names = Vec::new();
            while let Some(name) = list.next_element::<String>()? {
                names.push(name);
            }
            Ok(names)
        }
    }

    deserializer.deserialize_any(Names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_one_name_with_quotes_or_without() {
        // B187.
        for (text, name) in [
            ("public.users", "public.users"),
            (r#""public"."users""#, "public.users"),
            (r#"public."my.table""#, "public.my.table"),
            (r#""Mix"."Tab""#, "Mix.Tab"),
            // Without quotes these would be other tables, or none.
            (r#""a.b"."c""#, r#""a.b"."c""#),
            (r#"public.""q""""#, r#"public.""q""""#),
            ("users", "users"),
        ] {
            let table: TableMapping =
                serde_json::from_value(serde_json::json!({"source_table_identifier": text})).expect("parses");
            assert_eq!(table.source, name, "{text}");
        }
    }

    #[test]
    fn a_column_is_named_by_either_key() {
        for key in ["name", "source_name"] {
            let column: ColumnMapping =
                serde_json::from_str(&format!(r#"{{"{key}":"id","ordering":2}}"#)).expect("parses");
            assert_eq!((column.source_name.as_str(), column.ordering), ("id", 2));
        }
    }

    #[test]
    fn an_engine_is_named_by_the_api_by_the_store_or_by_number() {
        for text in ["1", "\"CH_ENGINE_MERGE_TREE\"", "\"MergeTree\""] {
            assert_eq!(serde_json::from_str::<TableEngine>(text).expect("an engine"), TableEngine::MergeTree);
        }
        assert_eq!(serde_json::from_str::<TableEngine>("\"\"").expect("unset"), TableEngine::default());
        assert!(serde_json::from_str::<TableEngine>("\"Log\"").is_err());
    }
}
