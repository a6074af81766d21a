//! Columns that a message cannot lack.
//!
//! What the stream had and the table still has was there all the time between, so every message of that time has it.
//! Where no list of columns narrows the publication, the same holds of each column of the catalog that is between two
//! columns of the message: it is older than the later one. That tells what names do not. Of two columns that exchanged
//! their names, either name alone would be in order, with a column that was added since in the place of the other; but
//! then the message would lack one of the two.
//!
//! It is asked only where a name is gone or out of order, or a column was changed after the message. One whose names are all
//! known and in their order, and that lacks a column all the same, is of a publication that left the column out.

use super::numbers::Known;

/// A place of a message that a name may be trusted in, at the end of a row of such.
#[derive(Clone, Copy)]
struct Trusted {
    /// How many are in the row.
    length: usize,
    /// The one before.
    before: Option<usize>,
}

impl Known<'_> {
    /// The numbers by name, without as few as it takes so that the rest rises, with room between for those that the
    /// message cannot lack, and enough columns for those that it has. Nothing where it lacks some in any case.
    pub(super) fn with_required(&self, by_name: &[i32]) -> Option<Vec<i32>> {
        let numbers: Vec<i32> = self.catalog.columns.iter().map(|column| column.attribute).collect();
        let greatest = self.marked.delivered.greatest();
        let is_later = |number: i32| {
            let mut columns = self.catalog.columns.iter();
            self.is_whole
                && number > greatest
                && columns.any(|column| column.attribute == number && !column.generated)
        };
        let mut had: Vec<i32> =
            numbers.iter().copied().filter(|number| self.marked.delivered.contains(*number)).collect();
        let mut between: Vec<i32> = numbers;
        between.retain(|number| self.marked.delivered.contains(*number) || is_later(*number));
        had.sort_unstable();
        between.sort_unstable();
        let candidates = self.candidates();
        let end = self.catalog.attributes_made + 1;
        let count = |list: &[i32], after: i32, before: i32| {
            let least = list.partition_point(|number| *number <= after);
            list.partition_point(|number| *number < before).saturating_sub(least)
        };
        let has_room = |required: &[i32], after: i32, before: i32, places: usize| {
            after < before
                && count(required, after, before) <= places
                && places <= count(&candidates, after, before)
        };
        let mut rows: Vec<Option<Trusted>> = vec![None; by_name.len()];
        for at in (0..by_name.len()).filter(|at| by_name[*at] != 0) {
            let first = Trusted { length: 1, before: None };
            let mut best = has_room(&between, 0, by_name[at], at).then_some(first);
            for before in 0..at {
                let Some(row) = rows[before] else { continue };
                let is_longer = best.is_none_or(|best| row.length >= best.length);
                if is_longer && has_room(&between, by_name[before], by_name[at], at - before - 1) {
                    best = Some(Trusted { length: row.length + 1, before: Some(before) });
                }
            }
            rows[at] = best;
        }
        let ends = |at: &usize| has_room(&had, by_name[*at], end, by_name.len() - at - 1);
        let whole = (0..by_name.len()).filter(|at| rows[*at].is_some()).filter(ends);
        let last = whole.max_by_key(|at| rows[*at].map(|row| row.length));
        if last.is_none() && !has_room(&had, 0, end, by_name.len()) {
            return None;
        }
        let mut kept = vec![0; by_name.len()];
        let mut next = last;
        while let Some(at) = next {
            kept[at] = by_name[at];
            next = rows[at].and_then(|row| row.before);
        }
        Some(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{CatalogColumn, CatalogTable, fixture};
    use crate::mark::columns::MarkedColumns;
    use crate::pgoutput::RelationColumn;

    fn catalog(columns: &[(i32, &str)]) -> CatalogTable {
        fixture::table(columns.iter().map(|&(attribute, name)| CatalogColumn {
            generated: name == "generated",
            ..fixture::column(attribute, name)
        }))
    }

    fn numbers(catalog: &CatalogTable, is_whole: bool, delivered: &[i32], message: &[&str]) -> Vec<i32> {
        let columns = message.iter().map(|&name| RelationColumn {
            in_key: false,
            name,
            type_oid: 23,
            type_modifier: -1,
        });
        let delivered = delivered.iter().copied().collect();
        let known = Known {
            catalog,
            before: None,
            marked: &MarkedColumns { delivered, ..MarkedColumns::default() },
            excluded_names: &[],
            is_whole,
            writer: None,
            believes: false,
        };
        known.numbers(&columns.collect::<Vec<_>>()).expect("they are told apart")
    }

    #[test]
    fn names_that_were_exchanged_before_columns_were_added_are_told_by_what_a_message_has_to_have() {
        let now = catalog(&[(1, "id"), (2, "b"), (3, "a"), (4, "generated"), (5, "c")]);
        for is_whole in [false, true] {
            assert_eq!(numbers(&now, is_whole, &[1, 2, 3], &["id", "a", "b"]), [1, 2, 3]);
            assert_eq!(numbers(&now, is_whole, &[1, 2, 3], &["id", "a", "b", "c"]), [1, 2, 3, 5]);
            assert_eq!(numbers(&now, is_whole, &[1, 2, 3], &["id", "b", "a"]), [1, 2, 3]);
        }
        let now = catalog(&[(1, "id"), (2, "b"), (3, "a"), (4, "generated"), (5, "c"), (6, "d"), (7, "e")]);
        assert_eq!(numbers(&now, false, &[1, 2, 3], &["id", "a", "b"]), [1, 2, 3]);
        // The stream has said nothing of the table yet.
        assert_eq!(numbers(&now, true, &[], &["id", "a", "b"]), [1, 2, 3]);
        assert_eq!(numbers(&now, true, &[], &["id", "a", "b", "c"]), [1, 2, 3, 5]);
    }

    #[test]
    fn a_name_that_went_on_to_another_column_is_not_trusted_where_that_leaves_one_out() {
        // a became x, b became a.
        let now = catalog(&[(1, "id"), (2, "x"), (3, "a"), (4, "c")]);
        assert_eq!(numbers(&now, false, &[1, 2, 3], &["id", "a", "b"]), [1, 2, 3]);
        assert_eq!(numbers(&now, false, &[1, 2, 3], &["id", "x", "b"]), [1, 2, 3]);
    }

    #[test]
    fn columns_that_were_added_and_renamed_since_are_told_in_their_order() {
        let now = catalog(&[(1, "id"), (2, "b"), (3, "a"), (4, "y"), (5, "z")]);
        assert_eq!(numbers(&now, true, &[1, 2, 3], &["id", "a", "b", "c"]), [1, 2, 3, 4]);
        // A list of columns may leave any of them out.
        assert_eq!(numbers(&now, false, &[1, 2, 3], &["id", "b", "a", "c"]), [1, 2, 3, 0]);
    }

    #[test]
    fn a_message_that_lacks_a_column_says_so() {
        let now = catalog(&[(1, "id"), (2, "a"), (3, "b"), (4, "c")]);
        assert_eq!(numbers(&now, true, &[1, 2, 3], &["id", "b"]), [1, 3]);
        assert_eq!(numbers(&now, true, &[1, 2, 3], &["id", "b", "c"]), [1, 3, 4]);
    }
}
