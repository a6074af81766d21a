//! Columns that the stream had, and whose names were not noted, by an earlier version.
//!
//! A description brings names. Until a table has one, none of its rows changes, and those of the catalog are taken, once the
//! stream has passed the place that the log was at when they were seen: what gave a column such a name is before that place.
//! Taken at once, a stream that is behind would have names from after what is still to come.

use std::collections::HashMap;

use tarn_sdk::Failure;

use crate::catalog::CatalogTable;
use crate::lsn::Lsn;
use crate::mark::column_names::ColumnNames;
use crate::mark::kept::KeptMarks;
use crate::table_name::TableName;

/// See the module's documentation: nothing where all names are known.
#[derive(Debug, Default)]
pub(super) struct Unnamed(Option<Seen>);

/// Names that were seen and are not taken yet.
#[derive(Debug)]
struct Seen {
    /// What the stream has to pass.
    after: Lsn,
    names: Vec<(TableName, ColumnNames)>,
}

impl Unnamed {
    /// Sees the names of tables where some are not known. `log_end` is asked where the log is now.
    pub(super) fn see(
        &mut self,
        tables: &HashMap<TableName, CatalogTable>,
        marks: &KeptMarks,
        log_end: impl FnOnce() -> Result<Lsn, Failure>,
    ) -> Result<(), Failure> {
        // What waits is not put off by what is seen later.
        if self.0.is_some() {
            return Ok(());
        }
        let unknown = tables.iter().filter_map(|(name, table)| {
            let names = marks.get(name)?.columns.unknown_names(table);
            (!names.is_empty()).then(|| (name.clone(), names))
        });
        let names: Vec<_> = unknown.collect();
        if !names.is_empty() {
            self.0 = Some(Seen { after: log_end()?, names });
        }
        Ok(())
    }

    /// Has the marks have the names that were seen, where the stream is at `end`, and has not brought others.
    pub(super) fn take(&mut self, marks: &mut KeptMarks, end: Lsn) {
        let Some(seen) = self.0.take_if(|seen| end >= seen.after) else { return };
        for (table, names) in &seen.names {
            if let Some(mark) = marks.change().get_mut(table) {
                mark.columns.names.add(&names.of(&mark.columns.delivered));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::fixture;
    use crate::mark::Marks;

    #[test]
    fn names_that_were_not_noted_are_those_of_the_catalog_once_the_stream_has_passed_where_they_were_seen() {
        let table = |columns: &[(i32, &str)]| {
            let table = fixture::table(columns.iter().map(|&(number, name)| fixture::column(number, name)));
            HashMap::from([(table.name.clone(), table)])
        };
        let seen = table(&[(1, "id"), (2, "a"), (4, "new")]);
        let name = seen.keys().next().expect("a table");
        let mut marks = Marks::new(7);
        marks.add(name, 1, 50, [1, 2, 3].into_iter().collect());
        marks.get_mut(name).expect("it was added").columns.names.extend([(1, "key")]);
        let (mut marks, mut unnamed) = (KeptMarks::new(marks), Unnamed::default());
        unnamed.see(&seen, &marks, || Ok(Lsn(100))).expect("seen");
        let later = table(&[(1, "id"), (2, "b")]);
        unnamed.see(&later, &marks, || panic!("something waits")).expect("known");
        let told = |marks: &KeptMarks| {
            let names = marks.get(name).expect("it is marked").columns.names.clone();
            [(1, "key"), (2, "a"), (3, "new"), (4, "new")].map(|(number, name)| names.allow(number, name))
        };
        unnamed.take(&mut marks, Lsn(99));
        assert_eq!(told(&marks), [Some(true), None, None, None]);
        unnamed.take(&mut marks, Lsn(100));
        assert_eq!(told(&marks), [Some(true), Some(true), None, None]);
        unnamed.see(&seen, &marks, || panic!("all are known")).expect("known");
    }
}
