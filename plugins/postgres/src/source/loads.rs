//! What is known of tables that load beside the stream.

use std::collections::{BTreeMap, HashMap};

use tarn_batch::Table;
use tarn_sdk::Failure;

use super::PostgresSource;
use crate::attributes::Attributes;
use crate::catalog::{self, CatalogTable};
use crate::entry;
use crate::excluded::{self, Since};
use crate::mark::{Mark, Marks};
use crate::peer::Peer;
use crate::server::log_end;
use crate::settings::{MappedTable, Publication, Settings};
use crate::side::Side;
use crate::surroundings;
use crate::table_name::TableName;

impl<P: Peer> PostgresSource<P> {
    /// Refuses tables to be taken in of which nothing tells which columns are left out, before a slot is made that holds log for
    /// nobody, or the publication is changed. The marks of the place where they begin ask the same.
    ///
    /// # Errors
    /// `excluded_column_gone`.
    pub(super) fn require_excluded_known(
        &mut self,
        is_taken: impl Fn(&MappedTable) -> bool,
    ) -> Result<(), Failure> {
        let taken = || self.settings.tables.iter().filter(|table| is_taken(table));
        let tables = catalog::tables_named(&mut self.side, taken().map(|table| &table.name))?;
        let found = taken().filter_map(|table| Some((table, tables.get(&table.name)?)));
        found.into_iter().try_for_each(|(mapping, table)| excluded::require_known(mapping, table))
    }

    /// Marks the tables that load beside the stream, or were loaded since it was last open. One may be another table than when
    /// it was last mapped, and of its columns the stream has said nothing. Of its rows is known what was last known, or was
    /// when its load began: the stream has rows from before one that it was written anew since, and these win over those that
    /// the load reads.
    ///
    /// All tables are said to load where there is a point to read at: of those that the stream had, the position tells then.
    pub(super) fn mark_loaded(&mut self, marks: &mut Marks) -> Result<(), Failure> {
        let has_point = self.held.is_some();
        let is_asked =
            |table: &&MappedTable| (table.loading && !has_point) || marks.get(&table.name).is_none();
        let names = self.settings.tables.iter().filter(is_asked);
        let names: Vec<TableName> = names.map(|table| table.name.clone()).collect();
        let tables = catalog::tables_named(&mut self.side, &names)?;
        let begun = self.settings.load_marks()?;
        for name in &names {
            let known = tables.get(name).and_then(|table| {
                let is_same = |mark: &&Mark| mark.oid == table.oid;
                marks.get(name).filter(is_same).or_else(|| begun.get(name).filter(is_same))
            });
            // The load has read the rows under the condition that there was when it began.
            let filtered_by = begun.get(name).and_then(|mark| mark.filtered_by);
            let known = known.map(|mark| mark.of_rows(filtered_by));
            marks.replace(name, known);
        }
        Ok(())
    }

    /// Notes when the tables that load beside the stream, or that were loaded since it was last open, came into the
    /// publication: the start of their load tells, wherever an edit took them in. Where nothing but the position tells, it
    /// stays: somebody may have taken a table out and put it back since, without a load after it.
    pub(super) fn note_entries(&mut self, before: &Marks, marks: &mut Marks) -> Result<(), Failure> {
        let Publication::Managed(publication) = &self.settings.publication else { return Ok(()) };
        // A load that has ended since the last look ended before now.
        marks.extend_entries(log_end(&mut self.side)?.lsn);
        let loaded = self.settings.load_marks()?;
        // All tables are said to load where there is a point to read at that the load had.
        let is_beside = self.held.is_none();
        let mut unsaid = Vec::new();
        for table in &self.settings.tables {
            let known = before.get(&table.name).and_then(|mark| mark.entry);
            let recorded = loaded.get(&table.name).and_then(|mark| mark.entry);
            match (recorded, marks.get_mut(&table.name)) {
                (Some(recorded), Some(mark)) => mark.entry = Some(recorded.or_later(known)),
                _ if before.get(&table.name).is_none() || (is_beside && table.loading) => {
                    unsaid.push((&table.name, known));
                }
                _ => {}
            }
        }
        if unsaid.is_empty() {
            return Ok(());
        }
        let entries = entry::entries(&mut self.side, publication)?;
        for (name, known) in unsaid {
            if let Some(mark) = marks.get_mut(name) {
                mark.entry = known.or_else(|| entries.get(name).copied());
            }
        }
        Ok(())
    }

    /// What the tables that are to be loaded are like, when they came into the publication, and those before them that are
    /// still mapped: the stream may be behind, and have been open to none of it.
    pub(super) fn entry_marks(
        &mut self,
        tables: &HashMap<TableName, CatalogTable>,
    ) -> Result<Marks, Failure> {
        let mut marks = Marks::new(0);
        let entries = match &self.settings.publication {
            Publication::Managed(publication) => entry::entries(&mut self.side, publication)?,
            Publication::Given(_) => HashMap::new(),
        };
        let published = self.published()?;
        let loaded = self.settings.load_marks()?;
        for table in &self.settings.tables {
            let name = &table.name;
            if let Some(found) = tables.get(name).filter(|_| table.loading) {
                excluded::require_known(table, found)?;
                marks.add(name, found.oid, found.file, Attributes::default());
                let mark = marks.get_mut(name).expect("it was added");
                mark.see(found);
                mark.columns.exclude(table, found);
                mark.entry = entries.get(name).copied();
                mark.filtered_by = Some(published.get(name).map_or(0, |published| published.filtered_by));
            } else {
                marks.replace(name, loaded.get(name).cloned());
            }
        }
        Ok(marks)
    }
}

/// Refuses columns of a table that a load is to read and that are left out under another name: its start and the plan say which ones
/// are left out, whatever they are called now. None of their values is read then, for these are read by numbers.
///
/// # Errors
/// `excluded_column_gone`.
pub(super) fn require_excluded<P: Peer>(
    side: &mut Side<P>,
    settings: &Settings,
    mapping: &MappedTable,
    table: &CatalogTable,
    read: &Table,
    planned: &BTreeMap<String, i32>,
) -> Result<(), Failure> {
    if mapping.exclude.is_empty() {
        return Ok(());
    }
    let begun = settings.load_marks()?;
    let mark = begun.get(&mapping.name).filter(|mark| mark.oid == table.oid);
    let mut marked = mark.map(|mark| mark.columns.clone()).unwrap_or_default();
    marked.excluded.extend(planned.iter().map(|(name, number)| (*number, name.as_str())));
    // An edit may have others delivered since.
    marked.excluded.retain(&mapping.exclude);
    excluded::require_there(mapping, table, &marked, read)?;
    // What a plan of now notes was not noted when the load began.
    if let Some(mark) = mark.filter(|_| !settings.load_has_excluded()) {
        let since = Since { horizon: begun.horizon, next: surroundings::next_transaction(side)? };
        excluded::require_untouched(mapping, table, &mark.columns, since)?;
    }
    Ok(())
}

/// Refuses tables with columns that are left out that a version marked which did not note their numbers, where these may be under
/// another name by now.
///
/// # Errors
/// `excluded_column_gone`.
pub(super) fn require_excluded_since<P: Peer>(
    side: &mut Side<P>,
    settings: &Settings,
    before: &Marks,
    tables: &HashMap<TableName, CatalogTable>,
) -> Result<(), Failure> {
    let since = Since { horizon: before.horizon, next: surroundings::next_transaction(side)? };
    for mapping in &settings.tables {
        let (table, mark) = (tables.get(&mapping.name), before.get(&mapping.name));
        if let Some((table, mark)) = table.zip(mark).filter(|(table, mark)| table.oid == mark.oid) {
            excluded::require_untouched(mapping, table, &mark.columns, since)?;
        }
    }
    Ok(())
}
