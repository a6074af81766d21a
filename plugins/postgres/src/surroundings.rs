//! What must stay as it is for the stream to hold everything.
//!
//! The server says nothing of it in the stream: of a publication that lacks something, of a table in the place
//! of another. So the catalog is looked at when the stream is opened, and again and again while it runs.

use std::collections::HashMap;

use tarn_sdk::postgres::Error;
use tarn_sdk::{Failure, Rereads, clock, log};

use crate::attributes::Attributes;
use crate::catalog::{CatalogColumn, CatalogTable, Kind, table_numbered, tables_named};
use crate::config::{PUBLICATION_CHECK_SHARE, PUBLICATION_CHECK_US};
use crate::mark::kept::KeptMarks;
use crate::mark::{Mark, Marks};
use crate::names::is_undefined;
use crate::partitions::{self, Change, PartitionNames};
use crate::peer::{Peer, Reads, number, single};
use crate::publication;
use crate::restated;
use crate::rewrite;
use crate::server::{Server, log_end};
use crate::settings::{MappedTable, Settings};
use crate::side::Side;
use crate::stream::identity::WithoutIdentity;
use crate::table_name::TableName;

/// Looks at the catalog from time to time.
#[derive(Debug)]
pub(crate) struct Surroundings {
    server: Server,
    /// When it is looked at next, by the growing clock.
    next_us: u64,
    without_identity: WithoutIdentity,
    partition_names: PartitionNames,
    /// The publication as it was at the last look.
    publication: publication::State,
}

impl Surroundings {
    /// After a first look, which found these tables and partitions, and the publication in this [state](publication::state).
    pub(crate) fn new(
        server: Server,
        tables: &HashMap<TableName, CatalogTable>,
        partition_names: PartitionNames,
        publication: publication::State,
    ) -> Self {
        let mut without_identity = WithoutIdentity::default();
        without_identity.tell(tables);
        let now = clock::monotonic();
        Self { server, next_us: next_look(now, now), without_identity, partition_names, publication }
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// Looks again where the last look is long ago: the mapped tables, where it did.
    pub(crate) fn look_after<P: Peer>(
        &mut self,
        side: &mut Side<P>,
        settings: &Settings,
        marks: &mut KeptMarks,
    ) -> Result<Option<HashMap<TableName, CatalogTable>>, Failure> {
        let now = clock::monotonic();
        if now < self.next_us {
            return Ok(None);
        }
        let tables = look(side, &self.server, settings, marks.change(), &mut self.partition_names)?;
        self.without_identity.tell(&tables);
        self.compare_publication(side, settings, &tables)?;
        self.next_us = next_look(now, clock::monotonic());
        Ok(Some(tables))
    }

    /// Says where the publication was changed since the last look, though it has everything now.
    fn compare_publication<P: Peer>(
        &mut self,
        side: &mut Side<P>,
        settings: &Settings,
        tables: &HashMap<TableName, CatalogTable>,
    ) -> Result<(), Failure> {
        let name = settings.publication.name();
        let state = publication::state(side, &self.server, name, tables.values().map(|table| table.oid))?;
        if state != self.publication {
            publication::tell_changed(name, "in the last seconds");
            self.publication = state;
        }
        Ok(())
    }
}

/// When to look after a look, by the growing clock: of many tables a look takes long, and the stream waits for it.
fn next_look(begun_us: u64, ended_us: u64) -> u64 {
    let took = ended_us.saturating_sub(begun_us);
    ended_us.saturating_add(PUBLICATION_CHECK_US.max(took.saturating_mul(PUBLICATION_CHECK_SHARE)))
}

/// Looks that tables and publication are what they were where they were marked, and marks them as they are
/// now. Returns the mapped tables.
pub(crate) fn look<P: Peer>(
    side: &mut Side<P>,
    server: &Server,
    settings: &Settings,
    marks: &mut Marks,
    partition_names: &mut PartitionNames,
) -> Result<HashMap<TableName, CatalogTable>, Failure> {
    let horizon = horizon(side)?;
    let tables = tables_named(side, settings.tables.iter().map(|table| &table.name))?;
    for mapping in &settings.tables {
        if let Some(mark) = marks.get(&mapping.name) {
            require_same(side, &mapping.name, mark, tables.get(&mapping.name))?;
        }
    }
    let published = publication::check(side, server, settings)?;
    for (name, table) in &tables {
        let unknown = Attributes::default();
        let delivered = marks.get(name).map_or(&unknown, |mark| &mark.columns.delivered);
        if let Some(published) = published.get(name) {
            publication::require_columns(&settings.publication, table, published, delivered)?;
            if let Some(mark) = marks.get(name) {
                publication::require_filter(side, &settings.publication, table, published, mark)?;
            }
        }
    }
    partitions::require_logged(side, server, tables.values())?;
    partitions::require_identities(side, server, tables.values())?;
    for (name, table) in &tables {
        marks.add(name, table.oid, table.file, Attributes::default());
        let listed = published.get(name).and_then(|published| published.columns.as_ref());
        let is_published =
            |column: &CatalogColumn| listed.is_some_and(|listed| listed.contains(&column.name));
        note_rows(marks, name, table, settings.rereads, is_published);
        if let Some(mark) = marks.get_mut(name) {
            mark.filtered_by = Some(published.get(name).map_or(0, |published| published.filtered_by));
            mark.primary_key.see(table.primary_key, || Ok(log_end(side)?.lsn))?;
        }
    }
    for mapping in &settings.tables {
        if let Some((mark, table)) = marks.get_mut(&mapping.name).zip(tables.get(&mapping.name)) {
            mark.columns.exclude(mapping, table);
        }
    }
    let written_otherwise = marks.shapes.look(side, types_of(settings, &tables))?;
    if !written_otherwise.is_empty() {
        for mapping in &settings.tables {
            if let Some(table) = tables.get(&mapping.name) {
                note_types(marks, mapping, table, &written_otherwise, settings.rereads);
            }
        }
    }
    let changes = partition_names.look(side, server, &tables, &mut marks.leaves, marks.horizon)?;
    if changes.iter().any(|(_, change)| !change.came.is_empty() || change.has_left()) {
        // Before their rows are read, which is behind this.
        publication::decide_anew(side, server, settings)?;
    }
    for (name, change) in changes {
        note_partitions(marks, name, change, settings.rereads);
    }
    marks.horizon = horizon;
    Ok(tables)
}

/// Notes where rows hold since the table was marked what no change tells of, and says so once. The rows, or the values that
/// their changes leave out, are then to be read again, where that is wanted. Generated columns may be `published`.
pub(crate) fn note_rows(
    marks: &mut Marks,
    name: &TableName,
    table: &CatalogTable,
    rereads: Rereads,
    published: impl Fn(&CatalogColumn) -> bool,
) {
    let horizon = marks.horizon;
    let Some(mark) = marks.get_mut(name) else { return };
    let rewritten = rewrite::cause(table, mark, horizon, published)
        .map(|cause| format!("the rows of {name} were written anew by {cause}"));
    let causes = rewritten.map_or_else(|| restated::causes(table, mark), |cause| vec![cause]);
    note_causes(mark, &causes, rereads);
    let in_key = restated::written_otherwise(table, mark).find(|column| column.key != 0);
    if let Some(CatalogColumn { name: column, .. }) = in_key {
        warn_of_keys(&format!(
            "column {column} of {name} has a type now that writes the values it holds otherwise"
        ));
    }
    mark.see(table);
}

/// Says why rows hold what no change tells of, and has them read again where that is wanted.
fn note_causes(mark: &mut Mark, causes: &[String], rereads: Rereads) {
    if causes.is_empty() {
        return;
    }
    let causes = causes.join(", and ");
    if rereads == Rereads::All {
        log::info(&format!(
            "{causes}. The server does not publish what rows hold now: they are to be read again, beside the stream"
        ));
    } else {
        log::warn(&format!(
            "{causes}. The server does not publish what rows hold now: at the destination, rows that do not change from \
             here on keep the values from before, and NULL in added columns. Where that is not what the source shows, \
             resync the mirror, or edit the table out of it and add it again"
        ));
    }
    if rereads != Rereads::None {
        mark.read_again(None);
    }
}

/// Notes that another key than that of now may have told rows apart, of whose changes none says which one. Where whole rows are
/// logged, each that left a key was deleted by it, be another one there or not: reading those that are there brings what is
/// missing, and none is there that should not be.
pub(crate) fn note_other_key(mark: &mut Mark, name: &TableName, rereads: Rereads, is_whole: bool) {
    let cause = format!(
        "the primary key of {name} was made anew while changes of its rows were on their way, which do not say what key told \
         these apart. Where it was another one"
    );
    if rereads == Rereads::All && is_whole {
        log::info(&format!(
            "{cause}, several may have come as one: the rows are to be read again, beside the stream"
        ));
    } else {
        log::warn(&format!(
            "{cause}, rows may be missing at the destination, or be there under a key that they have left. Compare the two by \
             `tarn mirror verify`; where they differ, resync the mirror, or edit the table out of it and add it again"
        ));
    }
    if rereads != Rereads::None {
        mark.read_again(None);
    }
}

/// The types of the columns that are replicated, or may be.
pub(crate) fn types_of<'a>(
    settings: &'a Settings,
    tables: &'a HashMap<TableName, CatalogTable>,
) -> impl Iterator<Item = u32> + 'a {
    let mapped = settings.tables.iter().filter_map(|mapping| Some((mapping, tables.get(&mapping.name)?)));
    mapped.flat_map(|(mapping, table)| wanted_columns(mapping, table)).map(|column| column.type_oid)
}

fn wanted_columns<'a>(
    mapping: &'a MappedTable,
    table: &'a CatalogTable,
) -> impl Iterator<Item = &'a CatalogColumn> {
    table.columns.iter().filter(|column| !mapping.exclude.contains(&column.name))
}

/// Notes where values from before are written otherwise now, by the types of their columns. Rows are told by their keys: where
/// these are written otherwise, reading the rows again would leave them there under both.
fn note_types(
    marks: &mut Marks,
    mapping: &MappedTable,
    table: &CatalogTable,
    changed: &HashMap<u32, Vec<String>>,
    rereads: Rereads,
) {
    let name = &mapping.name;
    let causes = |columns: &mut dyn Iterator<Item = &CatalogColumn>| -> Vec<String> {
        columns
            .filter_map(|column| {
                let became = changed.get(&column.type_oid)?.join(" and ");
                Some(format!("{became}, which column {} of {name} holds values of", column.name))
            })
            .collect()
    };
    let in_key = causes(&mut wanted_columns(mapping, table).filter(|column| column.key != 0));
    if !in_key.is_empty() {
        warn_of_keys(&in_key.join(", and "));
        return;
    }
    if let Some(mark) = marks.get_mut(name) {
        note_causes(mark, &causes(&mut wanted_columns(mapping, table)), rereads);
    }
}

/// Says that rows from before are called otherwise now.
fn warn_of_keys(causes: &str) {
    log::warn(&format!(
        "{causes}. It identifies rows, and the server does not publish what they are called now: rows from before keep their \
         keys at the destination, and may be there twice once they change. Resync the mirror"
    ));
}

/// Notes which partitions a table got, whose rows are then to be read where that is wanted, and says what became of others.
fn note_partitions(marks: &mut Marks, name: &TableName, change: Change, rereads: Rereads) {
    let Change { came, left, left_nameless, emptied } = change;
    let texts = |names: &[TableName]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    if !came.is_empty() {
        let names = came.iter().map(|(_, name)| name.to_string()).collect::<Vec<_>>().join(", ");
        if rereads == Rereads::All {
            log::info(&format!(
                "{name} has new partitions, {names}. The server does not publish what rows they had before: they are to be \
                 read, beside the stream"
            ));
            if let Some(mark) = marks.get_mut(name) {
                mark.read_again(Some(came.iter().map(|(oid, _)| *oid).collect()));
            }
        } else {
            log::warn(&format!(
                "{name} has new partitions, {names}. The server does not publish what rows they had before: these are not at \
                 the destination until they change. Resync the mirror to have them"
            ));
        }
    }
    let mut left = texts(&left);
    if left_nameless > 0 {
        left.push(format!("{left_nameless} dropped while the mirror did not look"));
    }
    for (names, what) in [(left, "were detached or dropped"), (texts(&emptied), "were emptied by themselves")]
    {
        if !names.is_empty() {
            log::warn(&format!(
                "partitions of {name} {what}: {}. The server does not publish that: their rows stay at the destination. \
                 Delete them there, or resync the mirror, if they are to go",
                names.join(", ")
            ));
        }
    }
}

/// Every transaction with a smaller number has ended.
pub(crate) fn horizon(side: &mut impl Reads) -> Result<u64, Failure> {
    let rows = side.read("SELECT pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())")?;
    number(&single(rows, "the running transactions")?, 0)
}

/// Every transaction that has begun has a smaller number.
pub(crate) fn next_transaction(side: &mut impl Reads) -> Result<u64, Failure> {
    let rows = side.read("SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())")?;
    number(&single(rows, "the running transactions")?, 0)
}

/// One that was dropped and made again is another table: the destination still has the rows of the first,
/// and the stream has nothing of how it came to those that it has now.
fn require_same<P: Peer>(
    side: &mut Side<P>,
    name: &TableName,
    mark: &Mark,
    found: Option<&CatalogTable>,
) -> Result<(), Failure> {
    if let Some(table) = found.filter(|table| table.oid == mark.oid) {
        return require_logged(table);
    }
    let failure = match (table_numbered(side, mark.oid)?, found) {
        (Some(elsewhere), _) => renamed(&elsewhere.name),
        (None, Some(_)) => replaced(),
        (None, None) => Failure::permanent("table_replaced", "the table was dropped")
            .with_hint("edit the table out of the mirror; or make it again and resync the mirror"),
    };
    Err(failure.with_table(name.to_string()))
}

/// A table that is published with all others may be made unlogged: its changes are in no stream then.
fn require_logged(table: &CatalogTable) -> Result<(), Failure> {
    if table.kind != Kind::Unlogged {
        return Ok(());
    }
    Err(Failure::permanent(
        "table_unlogged",
        "the table was made unlogged: its changes are not in the stream",
    )
    .with_hint(format!("ALTER TABLE {} SET LOGGED, then resync the mirror", table.name.sql()))
    .with_table(table.name.to_string()))
}

/// The failure of a table in the place of which there is another one now.
pub(crate) fn replaced() -> Failure {
    Failure::permanent("table_replaced", "the table was dropped and made again")
        .with_hint("resync the mirror, or edit the table out of it and add it again")
}

/// The failure of a table that is called otherwise now.
pub(crate) fn renamed(to: &TableName) -> Failure {
    Failure::permanent("table_renamed", format!("the table was renamed to {to}"))
        .with_hint("rename it back, or resync the mirror with its new name")
}

/// The failure of a table that was looked at and is not so any more: another look helps.
pub(crate) fn changed(how: &str) -> Failure {
    Failure::retry("table_changed_meanwhile", how)
}

/// The failure of a statement that names a table and its columns, which may have been renamed or dropped since they were looked at.
pub(crate) fn meanwhile(error: Error) -> Failure {
    if is_undefined(&error) { changed(&error.message) } else { Failure::from(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_that_take_long_are_farther_apart() {
        assert_eq!(next_look(100, 100), 100 + PUBLICATION_CHECK_US);
        assert_eq!(next_look(0, 2_000), 2_000 + PUBLICATION_CHECK_US);
        assert_eq!(next_look(0, 2_000_000), 2_000_000 * (1 + PUBLICATION_CHECK_SHARE));
    }
}
