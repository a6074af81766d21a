//! Tables as scripts see them: their names, and columns by name.

use tarn_batch::{Column, Table};

use crate::added::{self, Added};

/// Slots of the cache of column names; a power of two. Scripts name few columns.
const CACHE_SLOTS: usize = 32;

/// Tables kept from batch to batch. A changed table is another one, so the old ones are dropped when
/// there are many.
const BINDINGS_MAX: usize = 1_024;

/// A table and what is known of it.
pub struct Binding {
    /// Tells it from every other one that was made.
    pub serial: i64,
    /// The table as it comes.
    given: Table,
    /// The table with the columns that the script adds.
    pub table: Table,
    /// Its qualified name.
    pub source: String,
    /// What the mirror calls it at the destination.
    pub target: String,
    /// What comes before the columns' values in JSON; empty until a row is encoded.
    json_names: Vec<Vec<u8>>,
    /// Where a runtime keeps a column's name, and the column: one that keeps equal strings at one place asks faster.
    cache: [(*const u8, usize); CACHE_SLOTS],
    /// The same of names that are kept for ever, so that the place says which column it is.
    kept: [(*const u8, usize); CACHE_SLOTS],
}

impl Binding {
    fn new(serial: i64, given: Table, targets: &[(String, String)], added: &[Added]) -> Self {
        let table = added::extend(&given, added);
        let source = table.qualified_name();
        let target = targets.iter().find(|(from, _)| *from == source).map_or(&source, |(_, to)| to).clone();
        let cache = [(std::ptr::null(), 0); CACHE_SLOTS];
        // No string is there.
        let kept = [(std::ptr::without_provenance(1), 0); CACHE_SLOTS];
        Self { serial, given, table, source, target, json_names: Vec::new(), cache, kept }
    }

    /// The column whose name is kept at a place.
    #[inline]
    pub fn column_at(&self, place: *const u8) -> Option<usize> {
        let (known, column) = self.kept[(place.addr() / 16) % CACHE_SLOTS];
        (known == place).then_some(column)
    }

    /// Notes where a column's name is kept for ever.
    pub fn note_place(&mut self, place: *const u8, column: usize) {
        self.kept[(place.addr() / 16) % CACHE_SLOTS] = (place, column);
    }

    /// The column of that name.
    #[inline]
    pub fn column(&mut self, name: &[u8]) -> Option<usize> {
        let place = name.as_ptr();
        let slot = &mut self.cache[(place.addr() / 8) % CACHE_SLOTS];
        // The place may hold another string by now, so the name decides.
        if slot.0 == place && self.table.columns[slot.1].name.as_bytes() == name {
            return Some(slot.1);
        }
        let column = self.table.columns.iter().position(|column| column.name.as_bytes() == name)?;
        *slot = (place, column);
        Some(column)
    }

    /// The table, and what comes before its columns' values in JSON: made by `make` once.
    pub fn json_names(&mut self, make: fn(&Table) -> Vec<Vec<u8>>) -> (&Table, &[Vec<u8>]) {
        if self.json_names.is_empty() {
            self.json_names = make(&self.table);
        }
        (&self.table, &self.json_names)
    }

    /// What a person calls a column in a message.
    pub fn describe<'a>(&'a self, column: &'a Column) -> impl std::fmt::Display + 'a {
        std::fmt::from_fn(move |out| write!(out, "column {} ({})", column.name, column.type_name))
    }
}

/// The tables that records came from so far.
#[derive(Default)]
pub struct Bindings {
    all: Vec<Binding>,
    /// How many were made.
    made: i64,
    /// Qualified names at source and destination, from the settings.
    targets: Vec<(String, String)>,
}

impl Bindings {
    /// Takes what the mirror calls its tables at the destination.
    pub fn set_targets(&mut self, targets: Vec<(String, String)>) {
        self.targets = targets;
        self.all.clear();
    }

    /// Finds or makes the bindings of a batch's tables: where each is.
    pub fn bind(&mut self, tables: &[Table], added: &[Added]) -> Vec<usize> {
        if self.all.len() + tables.len() > BINDINGS_MAX {
            self.all.clear();
        }
        tables.iter().map(|table| self.place(table, added)).collect()
    }

    fn place(&mut self, table: &Table, added: &[Added]) -> usize {
        if let Some(place) = self.all.iter().position(|binding| binding.given == *table) {
            return place;
        }
        self.made += 1;
        self.all.push(Binding::new(self.made, table.clone(), &self.targets, added));
        self.all.len() - 1
    }

    /// A binding by its place.
    #[inline]
    pub fn get(&self, place: usize) -> &Binding {
        &self.all[place]
    }

    /// A binding by its place.
    #[inline]
    pub fn get_mut(&mut self, place: usize) -> &mut Binding {
        &mut self.all[place]
    }
}
