//! The publication: what of the database the stream holds.

pub(crate) mod lacks;
mod tables;

use std::collections::{HashMap, HashSet};

use tarn_sdk::postgres::Error;
use tarn_sdk::sql::postgres::{ident, literal};
use tarn_sdk::{Failure, log};

use self::lacks::Lacks;
pub(crate) use self::tables::{PublishedTable, row_filter, tables};
use crate::attributes::Attributes;
use crate::catalog::CatalogTable;
use crate::config::{
    CATALOG_TABLES_MAX, COLUMN_LISTS_SINCE_MAJOR, DECIDES_ANEW_SINCE_MAJOR, PUBLICATION_LOCK_MS,
};
use crate::mark::Mark;
use crate::peer::{Peer, Reads, flag, number, text};
use crate::server::Server;
use crate::settings::{Publication, Settings};
use crate::side::Side;
use crate::stream::compare;
use crate::table_name::TableName;

/// SQLSTATE of a lock that was not to be had in time.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// Those of some tables that a publication had all columns of, but for generated ones, when a transaction wrote to them. Lists
/// of columns are there since 15. What publishes a table without one says nothing of a time before it did.
pub(crate) fn having_all_columns(
    side: &mut impl Reads,
    server: &Server,
    name: &str,
    oids: &[u32],
    writer: u32,
) -> Result<HashSet<u32>, Failure> {
    if server.major() < COLUMN_LISTS_SINCE_MAJOR {
        return Ok(oids.iter().copied().collect());
    }
    let mut having = HashSet::with_capacity(oids.len());
    for oids in oids.chunks(CATALOG_TABLES_MAX) {
        let listed: Vec<String> = oids.iter().map(|oid| format!("({oid}::oid)")).collect();
        let rows = side.read(&format!(
            "SELECT c.oid, CASE WHEN r.oid IS NOT NULL THEN CASE WHEN r.prattrs IS NULL THEN r.xmin END
                                WHEN n.oid IS NOT NULL THEN n.xmin
                                WHEN p.puballtables THEN p.xmin END
             FROM pg_catalog.pg_publication AS p
             JOIN pg_catalog.pg_class AS c ON c.oid IN (VALUES {})
             LEFT JOIN pg_catalog.pg_publication_rel AS r ON r.prpubid = p.oid AND r.prrelid = c.oid
             LEFT JOIN pg_catalog.pg_publication_namespace AS n
               ON n.pnpubid = p.oid AND n.pnnspid = c.relnamespace
             WHERE p.pubname = {}",
            listed.join(", "),
            literal(name)
        ))?;
        for row in rows.iter().filter(|row| row.get(1).is_some_and(Option::is_some)) {
            if compare(number(row, 1)?, writer).is_lt() {
                having.insert(number(row, 0)?);
            }
        }
    }
    Ok(having)
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

/// Makes the mirror's publication anew; of somebody else's, looks that it is there.
pub(crate) fn set_up<P: Peer>(side: &mut Side<P>, settings: &Settings) -> Result<(), Failure> {
    match &settings.publication {
        Publication::Given(name) => require(side, name),
        Publication::Managed(name) => {
            let tables: Vec<String> = settings.tables.iter().map(|table| only(&table.name)).collect();
            // One message, one transaction.
            side.run(&format!(
                "SET LOCAL lock_timeout = {PUBLICATION_LOCK_MS};
                 DROP PUBLICATION IF EXISTS {name};
                 CREATE PUBLICATION {name} FOR TABLE {tables}
                 WITH (publish = 'insert, update, delete, truncate', publish_via_partition_root = true)",
                name = ident(name),
                tables = tables.join(", ")
            ))
            .map_err(|error| refused(error, &format!("making publication {name:?}")))?;
            Ok(())
        }
    }
}

/// The failure of a statement that changes a publication.
fn refused(error: Error, doing: &str) -> Failure {
    let is_locked = error.sqlstate == LOCK_NOT_AVAILABLE;
    let failure = Failure::from(error).in_context(doing);
    if !is_locked {
        return failure;
    }
    failure.with_hint(
        "somebody holds a lock on one of the tables for long, as ALTER TABLE does: pg_locks says who. It is tried again",
    )
}

/// Has the server decide anew what it publishes. Before PostgreSQL 15 it does so once for each relation, and again only when a
/// publication came or went: a table that is attached as a partition would stay out of the stream, and one that is detached
/// in it. One that comes and goes in a transaction is no change of the mirror's own, which would look like somebody else's.
///
/// # Errors
/// Whatever keeps the server from answering; that it makes none is told in the log.
pub(crate) fn decide_anew<P: Peer>(
    side: &mut Side<P>,
    server: &Server,
    settings: &Settings,
) -> Result<(), Failure> {
    if server.major() >= DECIDES_ANEW_SINCE_MAJOR {
        return Ok(());
    }
    let publication = settings.publication.name();
    // Names have at most 63 bytes.
    let beginning: String = publication.chars().filter(char::is_ascii).take(40).collect();
    let name = ident(&format!("tarn_anew_{beginning}"));
    match side.run(&format!("CREATE PUBLICATION {name}; DROP PUBLICATION {name}")) {
        Err(error) if !error.is_passing() => {
            log::warn(&format!(
                "partitions came or left, and this server's stream goes by what it decided of them before ({}): ALTER PUBLICATION {} SET \
                 (publish = 'insert, update, delete, truncate') has it decide anew; then resync the mirror. It does so by \
                 itself where the role may create publications",
                error.message,
                ident(publication)
            ));
            Ok(())
        }
        outcome => {
            outcome?;
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
        // One message, one transaction.
        side.run(&format!("SET LOCAL lock_timeout = {PUBLICATION_LOCK_MS}; {}", statements.join("; ")))
            .map_err(|error| refused(error, &format!("altering publication {name:?}")))?;
    }
    Ok(())
}

/// Looks that the publication is there and holds the mapped tables: without it, or without one of them,
/// changes would be missing in silence, for newer servers pass over a publication that they do not find.
/// Returns what it says of its tables.
pub(crate) fn check<P: Peer>(
    side: &mut Side<P>,
    server: &Server,
    settings: &Settings,
) -> Result<HashMap<TableName, PublishedTable>, Failure> {
    let name = settings.publication.name();
    let kinds = kinds(side, name)?.ok_or_else(|| missing(name))?;
    let present = tables(side, server, name)?;
    require_kinds(name, &kinds)?;
    if settings.publication.is_managed() {
        require_all_rows(name, &present)?;
    }
    let names = settings.tables.iter().map(|table| &table.name);
    require_tables(side, name, names.filter(|name| !present.contains_key(*name)), &present)?;
    Ok(present)
}

/// The transactions that made what a publication says of itself, of tables and of their schemas, each by what it is said of.
pub(crate) type State = Vec<(String, u32)>;

/// What is another one whenever somebody changed what a publication has of tables, given by their numbers.
///
/// # Errors
/// Whatever keeps the server from answering.
pub(crate) fn state(
    side: &mut impl Reads,
    server: &Server,
    publication: &str,
    tables: impl Iterator<Item = u32>,
) -> Result<State, Failure> {
    let tables: Vec<String> = tables.map(|oid| oid.to_string()).collect();
    let tables = format!("'{{{}}}'::oid[]", tables.join(","));
    // Since then schemas may be published.
    let schemas = if server.major() >= COLUMN_LISTS_SINCE_MAJOR {
        format!(
            "UNION ALL
             SELECT 'schema ' || n.oid, n.xmin FROM p
             JOIN pg_catalog.pg_publication_namespace AS n ON n.pnpubid = p.oid
             WHERE n.pnnspid IN (SELECT c.relnamespace FROM pg_catalog.pg_class AS c WHERE c.oid = ANY ({tables}))
             UNION ALL
             SELECT 'member ' || d.objid, d.xmin FROM p
             JOIN pg_catalog.pg_publication_namespace AS n ON n.pnpubid = p.oid
             JOIN pg_catalog.pg_depend AS d ON d.refobjid = n.pnnspid
             WHERE d.refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass
               AND d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = ANY ({tables}) AND d.objsubid = 0"
        )
    } else {
        String::new()
    };
    let rows = side.read(&format!(
        "WITH p AS (SELECT oid, xmin FROM pg_catalog.pg_publication WHERE pubname = {})
         SELECT 'publication ' || p.oid AS what, p.xmin FROM p
         UNION ALL
         SELECT 'table ' || r.oid, r.xmin FROM p
         JOIN pg_catalog.pg_publication_rel AS r ON r.prpubid = p.oid WHERE r.prrelid = ANY ({tables})
         {schemas}
         ORDER BY what",
        literal(publication)
    ))?;
    rows.iter().map(|row| Ok((text(row, 0)?.to_owned(), number(row, 1)?))).collect()
}

/// Says where a publication was changed since it was looked at, though it has everything now.
pub(crate) fn tell_changed(name: &str, since: &str) {
    log::warn(&format!(
        "publication {name:?} was changed {since}. It publishes the tables now; changes that it left out meanwhile, if any, \
         are missing at the destination: verify the mirror, and resync it where it differs"
    ));
}

/// A publication has every kind of change when a mirror is made: somebody narrowed it otherwise.
fn require_kinds(name: &str, kinds: &PublishedKinds) -> Result<(), Failure> {
    if kinds.missing.is_empty() {
        return Ok(());
    }
    let message = format!("publication {name:?} does not publish {} any more", kinds.missing.join(", "));
    Err(lacking(message).with_hint(format!(
        "ALTER PUBLICATION {} SET (publish = 'insert, update, delete, truncate'), then resync the mirror: what the publication \
         left out is not in the stream",
        ident(name)
    )))
}

/// The mirror's own publication has every row.
fn require_all_rows(name: &str, present: &HashMap<TableName, PublishedTable>) -> Result<(), Failure> {
    match present.iter().find(|(_, table)| table.filtered_by != 0) {
        Some((table, _)) => {
            let message = format!("publication {name:?} got a row filter for the table");
            Err(lacking(message).with_table(table.to_string()))
        }
        None => Ok(()),
    }
}

fn lacking(message: String) -> Failure {
    Failure::permanent("publication_narrowed", message)
        .with_hint("resync the mirror: what the publication left out is not in the stream")
}

/// Looks that a table's columns are published: all of them by the mirror's own publication, by somebody else's
/// those that the stream had.
pub(crate) fn require_columns(
    publication: &Publication,
    table: &CatalogTable,
    published: &PublishedTable,
    delivered: &Attributes,
) -> Result<(), Failure> {
    let Some(list) = &published.list else { return Ok(()) };
    let is_managed = publication.is_managed();
    let left_out = table.columns.iter().filter(|column| {
        let wanted = if is_managed { !column.generated } else { delivered.contains(column.attribute) };
        wanted && !list.contains(column.attribute)
    });
    let left_out: Vec<&str> = left_out.map(|column| column.name.as_str()).collect();
    if left_out.is_empty() && !is_managed {
        return Ok(());
    }
    Err(narrowed(publication.name(), &table.name, &left_out))
}

/// Looks that somebody else's publication has the condition on a table's rows that the table was loaded and streamed under.
/// A column that the condition names may have another name; its transaction stays.
pub(crate) fn require_filter(
    side: &mut impl Reads,
    publication: &Publication,
    table: &CatalogTable,
    published: &PublishedTable,
    mark: &Mark,
) -> Result<(), Failure> {
    if publication.is_managed() || mark.filtered_by.is_none_or(|before| before == published.filtered_by) {
        return Ok(());
    }
    let name = publication.name();
    let message = match published.filtered_by {
        0 => format!("publication {name:?} has no row filter for the table any more"),
        _ => {
            // Where the text cannot be had, the rest is said all the same.
            let filter = row_filter(side, name, table.oid, Some(published)).ok().flatten();
            let filter = filter.map_or_else(String::new, |filter| format!(": {filter}"));
            format!("publication {name:?} has another row filter for the table than before{filter}")
        }
    };
    Err(Failure::permanent("publication_narrowed", message)
        .with_hint("resync the mirror: rows that only one of the two filters leaves out are not at the destination as they are")
        .with_table(table.name.to_string()))
}

/// The publication was told to leave columns out that the table still has. Rows without them must not be
/// taken for rows without values.
pub(crate) fn narrowed(publication: &str, table: &TableName, columns: &[&str]) -> Failure {
    let message = match columns {
        [] => format!(
            "publication {publication:?} got a column list for the table: added columns would be left out"
        ),
        columns => format!(
            "publication {publication:?} leaves out columns that the table still has: {}",
            columns.join(", ")
        ),
    };
    let (publication, sql) = (ident(publication), table.sql());
    Failure::permanent("publication_narrowed", message)
        .with_hint(format!(
            "in one transaction, ALTER PUBLICATION {publication} DROP TABLE {sql} and ALTER PUBLICATION {publication} \
             ADD TABLE {sql} with all columns; then resume the mirror, and if it stops again, resync it: rows were \
             changed meanwhile, and their values are not in the stream"
        ))
        .with_table(table.to_string())
}

fn require_tables<'a, P: Peer>(
    side: &mut Side<P>,
    publication: &str,
    absent: impl IntoIterator<Item = &'a TableName>,
    present: &HashMap<TableName, PublishedTable>,
) -> Result<(), Failure> {
    for table in absent {
        if let Some(Lacks { message, remedy }) = Lacks::find(side, publication, table, present)? {
            return Err(Failure::permanent("publication_lacks_table", message)
                .with_hint(format!(
                    "{remedy}. Then resync the table: its changes until then are not in the stream"
                ))
                .with_table(table.to_string()));
        }
    }
    Ok(())
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
        .with_hint(
            "rename it back or make it again, and resume the mirror; if it stops again, resync it: rows were changed while the \
             publication was gone, and these changes are not in the stream",
        )
}

/// The publication was not there at the place of the log that the server reads, whatever is there now.
pub(crate) fn missing_there<P: Peer>(side: &mut Side<P>, name: &str) -> Failure {
    match kinds(side, name) {
        Ok(None) => missing(name),
        Ok(Some(_)) => Failure::permanent(
            "publication_narrowed",
            format!(
                "publication {name:?} exists, but did not where the stream has come to in the server's log: it was renamed or \
                 dropped, and is back since"
            ),
        )
        .with_hint(
            "resync the mirror: what was changed while the publication was gone is not in the stream, and nothing that is done to \
             publications now changes that",
        ),
        Err(failure) => failure,
    }
}

/// A table without those that inherit from it; partitions are a part of their table in any case.
fn only(name: &TableName) -> String {
    format!("ONLY {}", name.sql())
}
