use tarn_batch::{Column, Type};

use super::*;
use crate::ddl::Ddl;

fn column(name: &str, data_type: Type, nullable: bool, key: u16) -> Column {
    Column { name: name.to_owned(), data_type, type_name: "a type".to_owned(), nullable, key, attribute: 0 }
}

fn table(columns: Vec<Column>) -> Table {
    Table { id: 1, schema: "public".to_owned(), name: "t".to_owned(), version: 1, columns }
}

fn create(change: impl FnOnce(&mut DestinationConfig), table: &Table) -> String {
    let mapping = DestinationTable {
        source: "public.t".to_owned(),
        destination: "t".to_owned(),
        ..DestinationTable::default()
    };
    let mut config = DestinationConfig { tables: vec![mapping], ..DestinationConfig::default() };
    change(&mut config);
    let design = Design::new(&config, &config.tables[0], table, "m").expect("a design");
    Ddl::new(&config).create(&design)
}

#[test]
fn a_target_is_made_with_the_sources_types_and_key() {
    let table = table(vec![
        column("id", Type::Int8, false, 1),
        column("price", Type::Numeric { precision: 12, scale: 2 }, true, 0),
        column("tags", Type::Array(Box::new(Type::Text)), false, 0),
    ]);
    assert_eq!(
        create(|_| {}, &table),
        "CREATE TABLE IF NOT EXISTS `t` (\n    \
         `id` Int64,\n    \
         `price` Nullable(Decimal(12, 2)),\n    \
         `tags` Array(Nullable(String)),\n    \
         `_tarn_version` UInt128,\n    \
         `_tarn_is_deleted` UInt8,\n    \
         `_tarn_synced_at` DateTime64(6, 'UTC')\n\
         ) ENGINE = ReplacingMergeTree(`_tarn_version`, `_tarn_is_deleted`)\n\
         ORDER BY (`id`)"
    );
}

#[test]
fn columns_say_which_of_the_sources_they_hold() {
    let mut table = table(vec![column("id", Type::Int8, false, 1)]);
    table.columns[0].attribute = 3;
    assert!(create(|_| {}, &table).contains("`id` Int64 COMMENT 'tarn: 1.3',"));
}

#[test]
fn a_replicated_target_is_made_on_its_cluster_with_the_mirrors_names() {
    let sql = create(
        |config| {
            config.cluster = "c`1".to_owned();
            config.replicated = true;
            config.soft_delete_column = "gone".to_owned();
            config.synced_at_column = "at".to_owned();
            config.tables[0].partition_key = "id % 10".to_owned();
        },
        &table(vec![column("id", Type::Int4, false, 1)]),
    );
    assert_eq!(
        sql,
        "CREATE TABLE IF NOT EXISTS `t` ON CLUSTER `c\\`1` (\n    \
         `id` Int32,\n    \
         `_tarn_version` UInt128,\n    \
         `gone` UInt8,\n    \
         `at` DateTime64(6, 'UTC')\n\
         ) ENGINE = ReplicatedReplacingMergeTree(`_tarn_version`, `gone`)\n\
         PARTITION BY id % 10\n\
         ORDER BY (`id`)"
    );
}

#[test]
fn a_composite_key_sorts_in_its_own_order_or_the_mappings() {
    // B101.
    let table = table(vec![
        column("a", Type::Int4, false, 4),
        column("b", Type::Int4, false, 1),
        column("c", Type::Int4, false, 3),
        column("d", Type::Int4, false, 2),
    ]);
    assert!(create(|_| {}, &table).ends_with("ORDER BY (`b`, `d`, `c`, `a`)"));
    let ordered = create(
        |config| {
            config.tables[0].columns = [("c", 1), ("d", 2)]
                .map(|(name, ordering)| DestinationColumn {
                    source_name: name.to_owned(),
                    ordering,
                    ..DestinationColumn::default()
                })
                .to_vec();
        },
        &table,
    );
    assert!(ordered.ends_with("ORDER BY (`c`, `d`, `b`, `a`)"), "{ordered}");
}

#[test]
fn columns_that_differ_in_case_are_two() {
    // B103.
    let table = table(vec![column("Id", Type::Int4, false, 1), column("id", Type::Int4, true, 0)]);
    let sql = create(|_| {}, &table);
    assert!(sql.contains("`Id` Int32,\n    `id` Nullable(Int32)"), "{sql}");
}

#[test]
fn one_expression_is_told_from_more() {
    for expression in ["", "toYYYYMM(at)", "(a, b % 2)", "replace(s, ');', '')", "a - 1", "`odd ) name`"] {
        assert!(is_expression(expression), "{expression}");
    }
    for text in ["a)", "(a", "a; DROP TABLE t", "a -- b", "a /* b", "'a", "f(a)) ORDER BY (b"] {
        assert!(!is_expression(text), "{text}");
    }
}
