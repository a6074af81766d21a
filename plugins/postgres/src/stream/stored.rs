//! Columns that were generated, and are stored by now (`DROP EXPRESSION`).
//!
//! No message from before that has them, and every one from after it does. The catalog keeps the transaction that changed a
//! column last, which may have given it another name since. So both are tried, and where they do not agree, the
//! column's type or that transaction says which of the two it is, or nothing does.

use super::numbers::Known;
use super::succession::compare;
use crate::catalog::CatalogColumn;
use crate::pgoutput::RelationColumn;

impl Known<'_> {
    /// Whether a column is stored by now that the stream did not have because it was generated.
    pub(super) fn is_stored_since(&self, column: &CatalogColumn) -> bool {
        self.marked.stored.contains(column.attribute)
            && !column.generated
            && !self.marked.delivered.contains(column.attribute)
    }

    /// The [numbers](Self::numbers) of a message's columns in a table that has such columns.
    pub(super) fn beside_stored(&self, columns: &[RelationColumn<'_>]) -> Option<Vec<i32>> {
        let mut before = self.catalog.clone();
        for column in &mut before.columns {
            column.generated |= self.is_stored_since(column);
        }
        let absent = Known { catalog: &before, ..*self }.numbers_as_it_is(columns);
        let present = self.numbers_as_it_is(columns);
        if absent == present {
            return absent;
        }
        let present = present?;
        let mut stored = self.catalog.columns.iter().filter(|column| self.is_stored_since(column));
        let is_of_other_type = |now: &CatalogColumn| {
            let mut places = present.iter().zip(columns).filter(|(number, _)| **number == now.attribute);
            places.any(|(_, column)| {
                (now.type_oid, now.type_modifier) != (column.type_oid, column.type_modifier)
            })
        };
        if stored.clone().any(is_of_other_type) {
            return absent;
        }
        let writer = self.writer?;
        stored.all(|now| compare(now.defined_by, writer).is_lt()).then_some(present)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::fixture;
    use crate::mark::columns::MarkedColumns;

    const BEFORE: u32 = 10;
    const STORED: u32 = 20;
    const AFTER: u32 = 30;

    /// A message's numbers, where `g` was generated, and `y` came after it and was changed last by a transaction.
    fn numbers(y_defined_by: u32, writer: u32, message: &[(&str, u32)]) -> Option<Vec<i32>> {
        let columns = [(1, "id", 1), (2, "a", 1), (3, "g", STORED), (4, "y", y_defined_by)];
        let columns = columns.map(|(attribute, name, defined_by)| CatalogColumn {
            type_oid: 23,
            defined_by,
            ..fixture::column(attribute, name)
        });
        let columns_of =
            |&(name, type_oid)| RelationColumn { in_key: false, name, type_oid, type_modifier: -1 };
        let known = Known {
            catalog: &fixture::table(columns),
            before: None,
            marked: &MarkedColumns {
                delivered: [1, 2].into_iter().collect(),
                stored: [3].into_iter().collect(),
                ..MarkedColumns::default()
            },
            excluded_names: &[],
            is_whole: true,
            writer: Some(writer),
            believes: false,
        };
        known.numbers(&message.iter().map(columns_of).collect::<Vec<_>>())
    }

    #[test]
    fn a_column_that_is_stored_by_now_is_in_messages_from_then_on() {
        for writer in [BEFORE, AFTER] {
            assert_eq!(numbers(BEFORE, writer, &[("id", 23), ("a", 23)]), Some(vec![1, 2]));
            assert_eq!(numbers(BEFORE, writer, &[("id", 23), ("a", 23), ("y", 23)]), Some(vec![1, 2, 4]));
            let all = [("id", 23), ("a", 23), ("g", 23), ("y", 23)];
            assert_eq!(numbers(BEFORE, writer, &all), Some(vec![1, 2, 3, 4]));
        }
    }

    #[test]
    fn a_name_that_is_gone_is_not_taken_for_its() {
        assert_eq!(numbers(AFTER, BEFORE, &[("id", 23), ("a", 23), ("z", 25)]), Some(vec![1, 2, 4]));
        assert_eq!(numbers(AFTER, BEFORE, &[("id", 23), ("a", 23), ("z", 23)]), None);
        assert_eq!(numbers(AFTER, AFTER + 1, &[("id", 23), ("a", 23), ("z", 23)]), Some(vec![1, 2, 3]));
    }
}
