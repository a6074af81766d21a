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
