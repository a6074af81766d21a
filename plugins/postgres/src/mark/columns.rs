//! What a mark says of the columns that the stream had, by their numbers.

use super::column_names::ColumnNames;
use crate::attributes::Attributes;
use crate::catalog::{CatalogColumn, CatalogTable};
use crate::settings::MappedTable;

/// See the module's documentation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MarkedColumns {
    /// Those that the stream last said the table has; none before it described it.
    pub(crate) delivered: Attributes,
    /// What those were called, as far as it is known.
    pub(crate) names: ColumnNames,
    /// Those that were generated, which neither load nor stream has unless a publication has them. Those that were dropped stay:
    /// the stream may be behind that.
    pub(crate) generated: Attributes,
    /// What those were called that are, or were, generated, while they were, as far as it is known.
    pub(crate) generated_names: ColumnNames,
    /// Those that were generated, are stored by now, and were not delivered since: the stream may be behind that.
    pub(crate) stored: Attributes,
    /// Those that the mirror leaves out, whatever they are called now, with the names that it leaves out; those that are gone
    /// included.
    pub(crate) excluded: ColumnNames,
}

impl MarkedColumns {
    /// Takes over which columns the catalog has that are generated.
    pub(super) fn see(&mut self, table: &CatalogTable) {
        let generated: Attributes = numbers(table, |column| column.generated);
        let is_there = |number: &i32| table.columns.iter().any(|column| column.attribute == *number);
        let were: Attributes = self.generated.numbers().chain(self.stored.numbers()).collect();
        let (there, gone): (Vec<i32>, Vec<i32>) = were.numbers().partition(is_there);
        let is_behind = |number: &i32| !generated.contains(*number) && !self.delivered.contains(*number);
        self.stored = there.into_iter().filter(is_behind).collect();
        self.generated = generated.numbers().chain(gone).collect();
        let generated = table.columns.iter().filter(|column| column.generated);
        let mut names: ColumnNames =
            generated.map(|column| (column.attribute, column.name.as_str())).collect();
        names.add(&self.generated_names.of(&self.once_generated()));
        self.generated_names = names;
    }

    /// Those that are, or were, generated.
    pub(super) fn once_generated(&self) -> Attributes {
        self.generated.numbers().chain(self.stored.numbers()).collect()
    }

    /// Whether a column may have had a name, the last one that the stream had it under, or that it had while it was generated;
    /// nothing where neither is known.
    pub(crate) fn name_allows(&self, number: i32, name: &str) -> Option<bool> {
        self.names.allow(number, name).or_else(|| self.generated_names.allow(number, name))
    }

    /// The names of those columns that the stream had whose names are not known, as a table has them.
    pub(crate) fn unknown_names(&self, table: &CatalogTable) -> ColumnNames {
        let is_unknown = |number: i32| self.delivered.contains(number) && !self.names.contains(number);
        let unknown = table.columns.iter().filter(|column| is_unknown(column.attribute));
        unknown.map(|column| (column.attribute, column.name.as_str())).collect()
    }

    /// Whether the destination may have a column: of a table that loads, all may be there.
    pub(crate) fn may_be_there(&self, number: i32) -> bool {
        self.delivered.is_empty() || self.delivered.contains(number)
    }

    /// Whether one was generated, and the stream did not have it.
    pub(crate) fn was_left_out(&self, number: i32) -> bool {
        self.generated.contains(number) && !self.delivered.contains(number)
    }

    /// Takes over which columns of the table a mapping leaves out.
    pub(crate) fn exclude(&mut self, mapping: &MappedTable, table: &CatalogTable) {
        self.excluded.retain(&mapping.exclude);
        let excluded = table.columns.iter().filter(|column| mapping.exclude.contains(&column.name));
        self.excluded.extend(excluded.map(|column| (column.attribute, column.name.as_str())));
    }
}

/// The numbers of those columns of a table that are of a sort.
pub(super) fn numbers(table: &CatalogTable, is: fn(&CatalogColumn) -> bool) -> Attributes {
    table.columns.iter().filter(|column| is(column)).map(|column| column.attribute).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::fixture;

    #[test]
    fn a_name_of_a_generated_column_is_kept_once_it_is_stored_and_once_it_is_gone() {
        let table = |columns: &[(i32, &str, bool)]| {
            fixture::table(columns.iter().map(|&(number, name, generated)| CatalogColumn {
                generated,
                ..fixture::column(number, name)
            }))
        };
        let mut marked = MarkedColumns { delivered: [1].into_iter().collect(), ..MarkedColumns::default() };
        let told = |marked: &MarkedColumns| ["f", "g", "h"].map(|name| marked.name_allows(2, name));
        marked.see(&table(&[(1, "id", false), (2, "f", true)]));
        marked.see(&table(&[(1, "id", false), (2, "g", true)]));
        assert_eq!(told(&marked), [Some(false), Some(true), Some(false)]);
        marked.see(&table(&[(1, "id", false), (2, "h", false)]));
        assert_eq!(told(&marked), [Some(false), Some(true), Some(false)]);
        let delivered = MarkedColumns { delivered: [1, 2].into_iter().collect(), ..marked.clone() };
        marked.see(&table(&[(1, "id", false)]));
        assert_eq!(told(&marked), [Some(false), Some(true), Some(false)]);
        let mut marked = delivered;
        marked.see(&table(&[(1, "id", false), (2, "h", false)]));
        assert_eq!(told(&marked), [None; 3]);
    }
}
