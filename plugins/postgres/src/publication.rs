//! The publication: what of the database the stream holds.

use std::collections::HashMap;

use tarn_sdk::sql::postgres::{ident, literal};
use tarn_sdk::{Failure, log};

use crate::catalog::tables_named;
use crate::peer::{Peer, flag, text};
use crate::server::Server;
use crate::settings::{Publication, Settings};
use crate::side::Side;
use crate::table_name::TableName;

/// What a publication of somebody else says of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PublishedTable {
    /// The columns it publishes, where it says.
    pub(crate) columns: Option<Vec<String>>,
    /// The condition rows must meet, as SQL of the server's own.
    pub(crate) row_filter: Option<String>,
}

/// Which kinds of changes a publication has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PublishedKinds {
    /// The kinds it lacks, as its option `publish` names them.
    pub(crate) missing: Vec<&'static str>,
}

/// A publication's kinds of changes; nothing where it does not exist.
pub(crate) fn kinds<P: Peer>(side: &mut Side<P>, name: &str) -> Result<Option<PublishedKinds>, Failure> {
    let rows = side.read(&format!(
        "SELECT pubinsert, pubupdate, pubdelete, pubtruncate
         FROM pg_catalog.pg_publication WHERE pubname = {}",
        literal(name)
    ))?;
    Ok(rows.first().map(|row| {
        let kinds = ["insert", "update", "delete", "truncate"];
        let missing = kinds.into_iter().enumerate().filter(|(column, _)| !flag(row, *column));
        PublishedKinds { missing: missing.map(|(_, kind)| kind).collect() }
    }))
}

/// The tables of a publication. A partitioned table that is published by its partitions is not among
/// them; its partitions are.
pub(crate) fn tables<P: Peer>(
    side: &mut Side<P>,
    server: &Server,
    name: &str,
) -> Result<HashMap<TableName, PublishedTable>, Failure> {
    // Column lists and row filters exist since 15.
    let details = if server.major() >= 15 { "to_json(attnames), rowfilter" } else { "NULL, NULL" };
    let rows = side.read(&format!(
        "SELECT schemaname, tablename, {details} FROM pg_catalog.pg_publication_tables WHERE pubname = {}",
        literal(name)
    ))?;
    let mut tables = HashMap::with_capacity(rows.len());
    for row in &rows {
        let columns = row.get(2).and_then(Option::as_deref).and_then(|json| serde_json::from_str(json).ok());
        let row_filter = row.get(3).cloned().flatten();
        tables.insert(TableName::new(text(row, 0)?, text(row, 1)?), PublishedTable { columns, row_filter });
    }
    Ok(tables)
}

/// Makes the mirror's publication anew; of somebody else's, looks that it is there.
pub(crate) fn set_up<P: Peer>(side: &mut Side<P>, settings: &Settings) -> Result<(), Failure> {
    match &settings.publication {
        Publication::Given(name) => require(side, name),
        Publication::Managed(name) => {
            let tables: Vec<String> = settings.tables.iter().map(|table| only(&table.name)).collect();
            // One message, one transaction.
            side.run(&format!(
                "DROP PUBLICATION IF EXISTS {name};
                 CREATE PUBLICATION {name} FOR TABLE {tables}
                 WITH (publish = 'insert, update, delete, truncate', publish_via_partition_root = true)",
                name = ident(name),
                tables = tables.join(", ")
            ))
            .map_err(|error| Failure::from(error).in_context(format!("making publication {name:?}")))?;
            Ok(())
        }
    }
}

/// Makes the mirror's publication hold the mapped tables and no others, changing it only where it does
/// not (B167, B175); of somebody else's, looks that it holds them.
pub(crate) fn alter<P: Peer>(
    side: &mut Side<P>,
    server: &Server,
    settings: &Settings,
) -> Result<(), Failure> {
    let name = settings.publication.name();
    require(side, name)?;
    let present = tables(side, server, name)?;
    let added: Vec<&TableName> =
        settings.tables.iter().map(|table| &table.name).filter(|name| !present.contains_key(*name)).collect();
    if let Publication::Given(_) = &settings.publication {
        return require_tables(side, name, added, &present);
    }
    let removed: Vec<&TableName> = present.keys().filter(|name| settings.table(name).is_none()).collect();
    let mut statements = Vec::new();
    if !added.is_empty() {
        let tables: Vec<String> = added.iter().map(|name| only(name)).collect();
        statements.push(format!("ALTER PUBLICATION {} ADD TABLE {}", ident(name), tables.join(", ")));
    }
    if !removed.is_empty() {
        let tables: Vec<String> = removed.iter().map(|name| only(name)).collect();
        statements.push(format!("ALTER PUBLICATION {} DROP TABLE {}", ident(name), tables.join(", ")));
    }
    if !statements.is_empty() {
        log::info(&format!(
            "publication {name:?}: {} tables added, {} tables removed",
            added.len(),
            removed.len()
        ));
        side.run(&statements.join("; "))
            .map_err(|error| Failure::from(error).in_context(format!("altering publication {name:?}")))?;
    }
    Ok(())
}

/// Looks that the publication is there and holds the mapped tables: without it, or without one of them,
/// changes would be missing in silence, for newer servers pass over a publication that they do not find.
pub(crate) fn check<P: Peer>(
    side: &mut Side<P>,
    server: &Server,
    settings: &Settings,
) -> Result<(), Failure> {
    let name = settings.publication.name();
    let kinds = kinds(side, name)?.ok_or_else(|| missing(name))?;
    let present = tables(side, server, name)?;
    if settings.publication.is_managed() {
        require_everything(name, &kinds, &present)?;
    }
    let names = settings.tables.iter().map(|table| &table.name);
    require_tables(side, name, names.filter(|name| !present.contains_key(*name)), &present)
}

/// The mirror's own publication has every kind of change and every row: somebody else narrowed it
/// otherwise.
fn require_everything(
    name: &str,
    kinds: &PublishedKinds,
    present: &HashMap<TableName, PublishedTable>,
) -> Result<(), Failure> {
    let narrowed = |message: String| {
        Failure::permanent("publication_narrowed", message)
            .with_hint("resync the mirror: what the publication left out is not in the stream")
    };
    if !kinds.missing.is_empty() {
        let kinds = kinds.missing.join(", ");
        return Err(narrowed(format!("publication {name:?} does not publish {kinds} any more")));
    }
    match present.iter().find(|(_, table)| table.row_filter.is_some()) {
        Some((table, _)) => {
            let message = format!("publication {name:?} got a row filter for the table");
            Err(narrowed(message).with_table(table.to_string()))
        }
        None => Ok(()),
    }
}

/// Looks that each mapped table is still the one it was when the stream began. One that was dropped and
/// made again is another table: the destination still has the rows of the first.
pub(crate) fn require_same_tables<P: Peer>(
    side: &mut Side<P>,
    known: &HashMap<TableName, u32>,
) -> Result<(), Failure> {
    let now = tables_named(side, known.keys())?;
    let changed = known.iter().find(|(name, oid)| now.get(*name).is_none_or(|table| table.oid != **oid));
    match changed {
        None => Ok(()),
        Some((name, _)) => {
            Err(Failure::permanent("table_replaced", "the table was dropped, renamed, or made again")
                .with_hint("resync the mirror, or edit the table out of it")
                .with_table(name.to_string()))
        }
    }
}

fn require_tables<'a, P: Peer>(
    side: &mut Side<P>,
    publication: &str,
    absent: impl IntoIterator<Item = &'a TableName>,
    present: &HashMap<TableName, PublishedTable>,
) -> Result<(), Failure> {
    for table in absent {
        if !partitions_published(side, table, present)? {
            let message = format!("publication {publication:?} does not hold the table");
            return Err(Failure::permanent("publication_lacks_table", message)
                .with_hint(format!(
                    "ALTER PUBLICATION {} ADD TABLE {}, then resync the table: its changes until then are not in the stream",
                    ident(publication),
                    table.sql()
                ))
                .with_table(table.to_string()));
        }
    }
    Ok(())
}

/// Whether a partitioned table is published by all of its leaves.
pub(crate) fn partitions_published<P: Peer>(
    side: &mut Side<P>,
    table: &TableName,
    present: &HashMap<TableName, PublishedTable>,
) -> Result<bool, Failure> {
    let rows = side.read(&format!(
        "SELECT n.nspname, c.relname
         FROM pg_catalog.pg_partition_tree((
                SELECT r.oid FROM pg_catalog.pg_class r JOIN pg_catalog.pg_namespace s ON s.oid = r.relnamespace
                WHERE s.nspname = {} AND r.relname = {} AND r.relkind = 'p')) AS t
         JOIN pg_catalog.pg_class c ON c.oid = t.relid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE t.isleaf",
        literal(&table.schema),
        literal(&table.name)
    ))?;
    for row in &rows {
        if !present.contains_key(&TableName::new(text(row, 0)?, text(row, 1)?)) {
            return Ok(false);
        }
    }
    Ok(!rows.is_empty())
}

/// Drops the mirror's publication; leaves somebody else's alone.
pub(crate) fn remove<P: Peer>(side: &mut Side<P>, publication: &Publication) -> Result<(), Failure> {
    if let Publication::Managed(name) = publication {
        side.run(&format!("DROP PUBLICATION IF EXISTS {}", ident(name)))
            .map_err(|error| Failure::from(error).in_context(format!("dropping publication {name:?}")))?;
    }
    Ok(())
}

/// Looks that a publication is there.
pub(crate) fn require<P: Peer>(side: &mut Side<P>, name: &str) -> Result<(), Failure> {
    match kinds(side, name)? {
        Some(_) => Ok(()),
        None => Err(missing(name)),
    }
}

/// The publication is gone.
pub(crate) fn missing(name: &str) -> Failure {
    Failure::permanent("publication_missing", format!("publication {name:?} does not exist"))
        .with_hint("make it again and resync the mirror: what changed while it was gone is not in the stream")
}

/// A table without those that inherit from it; partitions are a part of their table in any case.
fn only(name: &TableName) -> String {
    format!("ONLY {}", name.sql())
}
