//! What the mirror wants of this source.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use tarn_sdk::{Failure, Relations, Rereads, SourceConfig, SourceTable};

use crate::mark::Marks;
use crate::position::{Place, Position};
use crate::table_name::TableName;

/// The settings, with the tables' names read.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) mirror: String,
    pub(crate) slot: String,
    pub(crate) publication: Publication,
    pub(crate) tables: Vec<MappedTable>,
    /// Where each of them is among those.
    places: HashMap<TableName, usize>,
    /// Mappings whose table's name cannot be read: their index and text.
    pub(crate) unreadable: Vec<(usize, String)>,
    /// Whether messages in the log are delivered.
    pub(crate) messages: bool,
    /// Whether large transactions are taken before they commit.
    pub(crate) in_progress: bool,
    /// Which relation records are delivered.
    pub(crate) relations: Relations,
    /// What is read again of rows that were written anew.
    pub(crate) rereads: Rereads,
    /// Whether no column of a row may be left out until it is read again.
    pub(crate) whole_rows: bool,
    /// The position that the last edit's load started at; empty before there is one.
    load_start: Vec<u8>,
    /// What is marked there, once that was read.
    load_marks: OnceCell<Marks>,
    /// How many instances read a load at a time.
    pub(crate) load_workers: u32,
}

/// The publication the stream reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Publication {
    /// The mirror makes, alters and drops it.
    Managed(String),
    /// Somebody else does.
    Given(String),
}

impl Publication {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Managed(name) | Self::Given(name) => name,
        }
    }

    pub(crate) fn is_managed(&self) -> bool {
        matches!(self, Self::Managed(_))
    }
}

/// One table of the mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MappedTable {
    /// Its place among the mappings, for people.
    pub(crate) index: usize,
    pub(crate) name: TableName,
    /// Columns that are left out, by their exact names.
    pub(crate) exclude: Vec<String>,
    /// Whether the destination may lack rows of it that the stream changes.
    pub(crate) loading: bool,
    /// Whether the destination has none of the rows from before the stream, or keeps none.
    pub(crate) lacks_rows: bool,
}

impl Settings {
    pub(crate) fn new(config: SourceConfig) -> Self {
        let loading: HashSet<TableName> =
            config.loading.iter().filter_map(|text| TableName::parse(text)).collect();
        let mut tables = Vec::with_capacity(config.tables.len());
        let mut places = HashMap::with_capacity(config.tables.len());
        let mut unreadable = Vec::new();
        for (index, table) in config.tables.into_iter().enumerate() {
            match TableName::parse(&table.source) {
                Some(name) => {
                    let loading = loading.contains(&name);
                    places.entry(name.clone()).or_insert(tables.len());
                    let SourceTable { exclude, lacks_rows, .. } = table;
                    tables.push(MappedTable { index, name, exclude, loading, lacks_rows });
                }
                None => unreadable.push((index, table.source)),
            }
        }
        let publication = if config.publication_managed {
            Publication::Managed(config.publication)
        } else {
            Publication::Given(config.publication)
        };
        let SourceConfig {
            mirror,
            slot,
            messages,
            in_progress,
            relations,
            rereads,
            whole_rows,
            load_start,
            load_workers,
            ..
        } = config;
        Self {
            mirror,
            slot,
            publication,
            tables,
            places,
            unreadable,
            messages,
            in_progress,
            relations,
            rereads,
            whole_rows,
            load_start,
            load_marks: OnceCell::new(),
            load_workers,
        }
    }

    /// What is marked where the last load started.
    pub(crate) fn load_marks(&self) -> Result<&Marks, Failure> {
        if let Some(marks) = self.load_marks.get() {
            return Ok(marks);
        }
        let marks = match self.load_start.is_empty() {
            true => Marks::default(),
            false => Position::of_load(&self.load_start)?,
        };
        Ok(self.load_marks.get_or_init(|| marks))
    }

    /// Whether the numbers of columns that are left out were noted there.
    pub(crate) fn load_has_excluded(&self) -> bool {
        !Position::is_of_earlier_version(&self.load_start)
    }

    /// Has loads start there from here on.
    pub(crate) fn begin_load(&mut self, start: &[u8]) {
        (self.load_start, self.load_marks) = (start.to_vec(), OnceCell::new());
    }

    /// The place where the last load started, if one did.
    pub(crate) fn load_place(&self) -> Result<Option<Place>, Failure> {
        (!self.load_start.is_empty()).then(|| Place::from_bytes(&self.load_start)).transpose()
    }

    /// The mapping of a table.
    pub(crate) fn table(&self, name: &TableName) -> Option<&MappedTable> {
        self.places.get(name).map(|place| &self.tables[*place])
    }

    /// The mapping of a table that the host names as the settings do.
    pub(crate) fn table_named(&self, text: &str) -> Result<&MappedTable, Failure> {
        TableName::parse(text).and_then(|name| self.table(&name)).ok_or_else(|| {
            Failure::permanent("table_not_mapped", "the table is not one of the mirror's").with_table(text)
        })
    }

    /// How the mirror's sessions that may hold the slot call themselves.
    pub(crate) fn application_name(&self) -> String {
        format!("tarn {}", self.mirror)
    }
}

#[cfg(test)]
mod tests {
    use tarn_sdk::SourceTable;

    use super::*;

    #[test]
    fn tables_are_found_however_the_host_writes_them() {
        let table = |source: &str| SourceTable { source: source.to_owned(), ..SourceTable::default() };
        let settings = Settings::new(SourceConfig {
            tables: vec![table("public.a"), table("nowhere"), table(r#""Sales"."Q1""#)],
            loading: vec!["Sales.Q1".to_owned()],
            ..SourceConfig::default()
        });
        assert_eq!(settings.unreadable, [(1, "nowhere".to_owned())]);
        let sales = settings.table_named("Sales.Q1").expect("mapped");
        assert_eq!((sales.index, sales.loading), (2, true));
        assert!(!settings.table_named("public.a").expect("mapped").loading);
        assert_eq!(settings.table_named("public.b").expect_err("not mapped").code, "table_not_mapped");
    }
}
