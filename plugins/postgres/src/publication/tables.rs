//! The tables of a publication.
//!
//! The server has a view of them. From PostgreSQL 16 on it opens every table, and so waits for whoever changes one for long; a
//! stream would stand still meanwhile. That of 15 has generated columns among the others, which the stream has not. So from
//! there on the catalog is asked, which takes no lock.

use std::collections::HashMap;

use tarn_sdk::Failure;
use tarn_sdk::sql::postgres::literal;

use crate::attributes::Attributes;
use crate::config::COLUMN_LISTS_SINCE_MAJOR;
use crate::peer::{Reads, number, text};
use crate::server::Server;
use crate::table_name::TableName;

/// What a publication of somebody else says of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PublishedTable {
    /// The columns it publishes, where it says.
    pub(crate) columns: Option<Vec<String>>,
    /// The numbers of the columns that it was told to publish; nothing where it was told of none.
    pub(crate) list: Option<Attributes>,
    /// The transaction that made the [condition](row_filter) on its rows, the lower 32 bits of its number; 0 where there is none.
    pub(crate) filtered_by: u32,
}

/// The tables of a publication `b`, as `published (relid)`: those that it lists, those of schemas that it lists, or all that can
/// be published. With `publish_via_partition_root` a partition is left out where one of its ancestors is listed; without
/// it, the partitions with rows stand for a partitioned table.
const TABLES: &str = "listed (relid) AS (
       SELECT r.prrelid FROM b JOIN pg_catalog.pg_publication_rel AS r ON r.prpubid = b.oid
       UNION
       SELECT c.oid FROM b JOIN pg_catalog.pg_publication_namespace AS n ON n.pnpubid = b.oid
       JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.pnnspid AND c.relkind IN ('r', 'p') AND c.relpersistence = 'p'
       UNION
       SELECT c.oid FROM b JOIN pg_catalog.pg_class AS c ON b.puballtables AND c.relkind IN ('r', 'p') AND c.relpersistence = 'p'
       WHERE c.oid >= 16384::oid),
     below (relid) AS (
       SELECT i.inhrelid FROM listed JOIN pg_catalog.pg_class AS c ON c.oid = listed.relid AND c.relkind = 'p'
       JOIN pg_catalog.pg_inherits AS i ON i.inhparent = c.oid AND NOT i.inhdetachpending
       UNION
       SELECT i.inhrelid FROM below JOIN pg_catalog.pg_class AS c ON c.oid = below.relid AND c.relkind = 'p'
       JOIN pg_catalog.pg_inherits AS i ON i.inhparent = c.oid AND NOT i.inhdetachpending),
     published (relid) AS (
       SELECT t.relid FROM b JOIN (SELECT relid FROM listed EXCEPT SELECT relid FROM below) AS t ON b.pubviaroot
       UNION ALL
       SELECT c.oid FROM b JOIN (SELECT relid FROM listed UNION SELECT relid FROM below) AS t ON NOT b.pubviaroot
       JOIN pg_catalog.pg_class AS c ON c.oid = t.relid AND c.relkind = 'r')";

/// The tables of a publication. A partitioned table that is published by its partitions is not among
/// them; its partitions are.
pub(crate) fn tables(
    side: &mut impl Reads,
    server: &Server,
    name: &str,
) -> Result<HashMap<TableName, PublishedTable>, Failure> {
    let name = literal(name);
    let sql = if server.major() >= COLUMN_LISTS_SINCE_MAJOR {
        // The name of the setting for generated columns is of 18, and what has none is one that publishes none. What publishes a
        // table's schema publishes all of its rows and columns, whatever is said of the table.
        format!(
            "WITH RECURSIVE b AS (SELECT * FROM pg_catalog.pg_publication WHERE pubname = {name}), {TABLES}
             SELECT n.nspname, c.relname,
                    (SELECT pg_catalog.to_json(pg_catalog.array_agg(a.attname ORDER BY a.attnum)) FROM pg_catalog.pg_attribute AS a
                     WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                       AND CASE WHEN r.prattrs IS NOT NULL AND s.oid IS NULL THEN a.attnum = ANY (r.prattrs)
                           ELSE a.attgenerated = '' OR (a.attgenerated = 's' AND pg_catalog.to_jsonb(b) ->> 'pubgencols' = 's') END),
                    CASE WHEN s.oid IS NULL THEN pg_catalog.to_json(r.prattrs::int2[]) END,
                    CASE WHEN r.prqual IS NOT NULL AND s.oid IS NULL THEN r.xmin END
             FROM b JOIN published AS p ON true
             JOIN pg_catalog.pg_class AS c ON c.oid = p.relid JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
             LEFT JOIN pg_catalog.pg_publication_rel AS r ON r.prpubid = b.oid AND r.prrelid = c.oid
             LEFT JOIN pg_catalog.pg_publication_namespace AS s ON s.pnpubid = b.oid AND s.pnnspid = c.relnamespace"
        )
    } else {
        // Neither lists of columns nor conditions on rows are there.
        format!(
            "SELECT schemaname, tablename, NULL, NULL, NULL FROM pg_catalog.pg_publication_tables WHERE pubname = {name}"
        )
    };
    let rows = side.read(&sql)?;
    let mut tables = HashMap::with_capacity(rows.len());
    for row in &rows {
        let json = |column: usize| row.get(column).and_then(Option::as_deref);
        let columns = json(2).and_then(|json| serde_json::from_str(json).ok());
        let list: Option<Vec<i32>> = json(3).and_then(|json| serde_json::from_str(json).ok());
        let list = list.map(|numbers| numbers.into_iter().collect());
        let filtered_by =
            row.get(4).is_some_and(Option::is_some).then(|| number(row, 4)).transpose()?.unwrap_or(0);
        let table = TableName::new(text(row, 0)?, text(row, 1)?);
        tables.insert(table, PublishedTable { columns, list, filtered_by });
    }
    Ok(tables)
}

/// The condition that rows of a table must meet, as SQL of the server's own. It waits for whoever changes the table.
pub(crate) fn row_filter(
    side: &mut impl Reads,
    publication: &str,
    oid: u32,
    published: Option<&PublishedTable>,
) -> Result<Option<String>, Failure> {
    if published.is_none_or(|published| published.filtered_by == 0) {
        return Ok(None);
    }
    // What publishes the schema publishes all rows.
    let rows = side.read(&format!(
        "SELECT pg_catalog.pg_get_expr(r.prqual, r.prrelid)
         FROM pg_catalog.pg_publication AS b
         JOIN pg_catalog.pg_publication_rel AS r ON r.prpubid = b.oid
         JOIN pg_catalog.pg_class AS c ON c.oid = r.prrelid
         WHERE b.pubname = {} AND c.oid = {}::oid AND NOT EXISTS
           (SELECT FROM pg_catalog.pg_publication_namespace AS n WHERE n.pnpubid = b.oid AND n.pnnspid = c.relnamespace)",
        literal(publication),
        literal(&oid.to_string())
    ))?;
    Ok(rows.first().and_then(|row| row.first().cloned().flatten()))
}
