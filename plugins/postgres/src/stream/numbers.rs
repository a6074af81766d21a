//! Which columns of a table a relation message talks about.
//!
//! The message has names and no numbers, and the catalog may be ahead of it: a name may have gone to another column by
//! now, and the column that the message means may be gone. Told apart by names alone, values of a column that was
//! dropped would show in the one that was made under its name. But the message has its columns in the order of
//! their numbers, with none left out between them but those that are dropped or not published. So a name that would
//! break this order is not trusted, and what lies between two known columns is often the only one that can.

use tarn_batch::Table;

use super::succession::{Told, compare};
use crate::catalog::{CatalogColumn, CatalogTable};
use crate::mark::columns::MarkedColumns;
use crate::pgoutput::RelationColumn;

/// What is known when a message comes.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) catalog: &'a CatalogTable,
    /// The table as the message before described it.
    pub(super) before: Option<&'a Table>,
    /// What is marked of its columns.
    pub(super) marked: &'a MarkedColumns,
    /// The names of columns that are not wanted, and so never delivered.
    pub(super) excluded_names: &'a [String],
    /// Whether the publication has all columns of the table that are not generated.
    pub(super) is_whole: bool,
    /// The transaction whose rows follow the message, the lower 32 bits of its number.
    pub(super) writer: Option<u32>,
    /// Whether the numbers of transactions are believed where names do not contradict them: a message that they mislead of is rare,
    /// and where nothing can be left out, a doubt stops the mirror.
    pub(super) believes: bool,
}

impl Known<'_> {
    /// The number of each column of a message; 0 where it cannot be told, and nothing at all where values of one column
    /// might be taken for those of another.
    pub(super) fn numbers(&self, columns: &[RelationColumn<'_>]) -> Option<Vec<i32>> {
        if self.catalog.columns.iter().any(|column| self.is_stored_since(column)) {
            return self.beside_stored(columns);
        }
        self.numbers_as_it_is(columns)
    }

    /// The same where the columns that the table has were stored ones all the time, or are generated.
    pub(super) fn numbers_as_it_is(&self, columns: &[RelationColumn<'_>]) -> Option<Vec<i32>> {
        let numbers = self.numbers_without_generated(columns)?;
        let gone: Vec<i32> =
            self.marked.generated.numbers().filter(|number| self.was_left_out(*number)).collect();
        // Before one of them was dropped it may have become a stored one, which messages have; so may all.
        let all = Some(gone.as_slice()).filter(|gone| gone.len() > 1);
        gone.chunks(1)
            .chain(all)
            .all(|stored| self.numbers_with_stored(stored, columns).as_ref() == Some(&numbers))
            .then_some(numbers)
    }

    /// The same where those of these numbers became stored ones before they were dropped.
    fn numbers_with_stored(&self, stored: &[i32], columns: &[RelationColumn<'_>]) -> Option<Vec<i32>> {
        let generated = self.marked.generated.numbers().filter(|number| !stored.contains(number));
        let marked = MarkedColumns {
            delivered: self.marked.delivered.numbers().chain(stored.iter().copied()).collect(),
            generated: generated.collect(),
            ..self.marked.clone()
        };
        Known { marked: &marked, ..*self }.numbers_without_generated(columns)
    }

    /// The same where those that were generated before they were dropped are in no message.
    fn numbers_without_generated(&self, columns: &[RelationColumn<'_>]) -> Option<Vec<i32>> {
        let by_name: Vec<i32> = columns.iter().map(|column| self.by_name(column)).collect();
        let mut numbers = by_name.clone();
        self.distrust(&mut numbers);
        if (numbers.contains(&0) || self.is_defined_later(&by_name))
            && let Some(with_required) = self.with_required(&by_name)
        {
            numbers = with_required;
        }
        // Where a column was dropped, one of another type than the message's is hardly the message's.
        let other = |column: &RelationColumn<'_>| self.other_type(column).map_or(0, |found| found.attribute);
        let others: Vec<i32> = columns.iter().map(other).collect();
        let doubted =
            numbers.iter().zip(&others).map(|(number, other)| if number == other { 0 } else { *number });
        match self.by_drops(columns, &doubted.collect::<Vec<_>>(), &others) {
            Told::Numbers(numbers) => return Some(numbers),
            Told::Unclear => return None,
            Told::Nothing => {}
        }
        if let Some(delivered) = self.as_delivered(&by_name, &numbers) {
            return Some(delivered);
        }
        self.fill(columns, &mut numbers);
        Some(numbers)
    }

    /// Whether a column is gone that the stream did not have because it was generated.
    pub(super) fn was_left_out(&self, number: i32) -> bool {
        self.marked.was_left_out(number) && !self.is_there(number)
    }

    /// Whether messages may have columns that are excluded.
    pub(super) fn is_any_excluded(&self) -> bool {
        !self.excluded_names.is_empty() || !self.marked.excluded.is_empty()
    }

    /// Whether a column is excluded, or was under another name.
    pub(super) fn is_excluded(&self, column: &CatalogColumn) -> bool {
        self.excluded_names.contains(&column.name) || self.marked.excluded.contains(column.attribute)
    }

    fn is_there(&self, number: i32) -> bool {
        self.catalog.columns.iter().any(|column| column.attribute == number)
    }

    /// Whether one of these columns got its name, or something else, after the message.
    fn is_defined_later(&self, numbers: &[i32]) -> bool {
        let Some(writer) = self.writer else { return false };
        let mut columns = self.catalog.columns.iter();
        columns
            .any(|column| numbers.contains(&column.attribute) && compare(column.defined_by, writer).is_gt())
    }

    /// The number of the catalog's column of the same name; 0 where that one came later than the message.
    fn by_name(&self, column: &RelationColumn<'_>) -> i32 {
        let Some(found) = self.of_catalog(column.name) else { return 0 };
        let before =
            self.before.and_then(|table| table.columns.iter().find(|known| known.name == column.name));
        let had_other =
            before.is_some_and(|known| known.attribute != 0 && known.attribute != found.attribute);
        // Nothing but the type tells a column from the one that was made in its place at the end of the table.
        let replaces = self.other_type(column).is_some() && (had_other || self.before.is_none());
        if replaces { 0 } else { found.attribute }
    }

    /// The catalog's column of the same name, where the stream has not had it and its type is another one.
    fn other_type(&self, column: &RelationColumn<'_>) -> Option<&CatalogColumn> {
        let is_new = |found: &CatalogColumn| {
            !self.marked.delivered.is_empty() && !self.marked.delivered.contains(found.attribute)
        };
        let other_type = |found: &CatalogColumn| {
            (found.type_oid, found.type_modifier) != (column.type_oid, column.type_modifier)
        };
        self.of_catalog(column.name).filter(|found| is_new(found) && other_type(found))
    }

    fn of_catalog(&self, name: &str) -> Option<&CatalogColumn> {
        self.catalog.columns.iter().find(|found| found.name == name)
    }

    /// The numbers that a column of a message may have. What the stream did not have last, although it had later columns,
    /// and the table has not now, was dropped before and does not come again; one that is excluded was never had.
    pub(super) fn candidates(&self) -> Vec<i32> {
        let greatest = self.marked.delivered.greatest();
        let may_be = |number: &i32| {
            self.marked.delivered.contains(*number)
                || self.is_there(*number)
                || ((*number > greatest || self.is_any_excluded()) && !self.was_left_out(*number))
        };
        (1..=self.catalog.attributes_made).filter(may_be).collect()
    }

    /// Takes numbers back, as few as it takes, so that the rest rises as the columns do, with room for those between.
    /// That is a longest row of offsets (how far a number, counted among the candidates, is ahead of its place) that do not
    /// fall, for the columns between two that are there cannot be more than the candidates between theirs.
    fn distrust(&self, numbers: &mut [i32]) {
        let candidates = self.candidates();
        let count = i32::try_from(numbers.len()).unwrap_or(i32::MAX);
        let offset_max = i32::try_from(candidates.len()).unwrap_or(i32::MAX) + 1 - count;
        // Of rows of a length the one with the least last offset, and each member's one before.
        let mut tails: Vec<usize> = Vec::new();
        let mut before: Vec<Option<usize>> = vec![None; numbers.len()];
        let place = |at: usize| i32::try_from(at).unwrap_or(i32::MAX);
        let rank = |number: i32| place(candidates.partition_point(|candidate| *candidate < number)) + 1;
        let offset = |numbers: &[i32], at: usize| rank(numbers[at]) - place(at);
        for at in 0..numbers.len() {
            let own = offset(numbers, at);
            if numbers[at] == 0 || own < 1 || own > offset_max {
                continue;
            }
            let length = tails.partition_point(|tail| offset(numbers, *tail) <= own);
            before[at] = length.checked_sub(1).map(|shorter| tails[shorter]);
            match tails.get_mut(length) {
                Some(tail) => *tail = at,
                None => tails.push(at),
            }
        }
        let mut kept = vec![0; numbers.len()];
        let mut next = tails.last().copied();
        while let Some(at) = next {
            kept[at] = numbers[at];
            next = before[at];
        }
        numbers.copy_from_slice(&kept);
    }

    /// The columns that the stream had last, if a message of as many columns has at least as many names of these as
    /// of any others.
    fn as_delivered(&self, by_name: &[i32], trusted: &[i32]) -> Option<Vec<i32>> {
        let greatest = self.marked.delivered.greatest();
        let delivered: Vec<i32> =
            (1..=greatest).filter(|number| self.marked.delivered.contains(*number)).collect();
        if delivered.len() != by_name.len() {
            return None;
        }
        let same = delivered.iter().zip(by_name).filter(|(delivered, named)| delivered == named).count();
        (same >= trusted.iter().filter(|number| **number != 0).count()).then_some(delivered)
    }

    /// Gives numbers to columns between known ones.
    fn fill(&self, columns: &[RelationColumn<'_>], numbers: &mut [i32]) {
        let candidates = self.candidates();
        let mut from = 0;
        while from < numbers.len() {
            if numbers[from] != 0 {
                from += 1;
                continue;
            }
            let to = (from..numbers.len()).find(|at| numbers[*at] != 0).unwrap_or(numbers.len());
            let least = if from == 0 { 1 } else { numbers[from - 1] + 1 };
            let end = numbers.get(to).copied().unwrap_or(self.catalog.attributes_made + 1);
            let generated = |number: i32| {
                self.catalog.columns.iter().any(|column| column.attribute == number && column.generated)
            };
            let is_free = |number: &i32| (least..end).contains(number) && !generated(*number);
            let mut free: Vec<i32> = candidates.iter().copied().filter(is_free).collect();
            if free.len() > to - from {
                let had = |number: &i32| self.marked.delivered.contains(*number);
                // Where none was dropped, and none is left out, those that were there then are the first ones.
                if self.is_whole && to == numbers.len() && free.iter().all(|number| self.is_there(*number)) {
                    free.truncate(to - from);
                } else {
                    free.retain(had);
                }
            }
            if free.len() == to - from {
                numbers[from..to].copy_from_slice(&free);
            } else {
                for at in from..to {
                    let known = self
                        .before
                        .and_then(|table| table.columns.iter().find(|known| known.name == columns[at].name));
                    numbers[at] = known.map_or(0, |known| known.attribute).max(0);
                    if !(least..end).contains(&numbers[at]) {
                        numbers[at] = 0;
                    }
                }
            }
            from = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::fixture;

    const INT: u32 = 23;
    const TEXT: u32 = 25;

    fn catalog(made: i32, columns: &[(i32, &str, u32)]) -> CatalogTable {
        let columns = columns.iter().map(|&(attribute, name, type_oid)| CatalogColumn {
            type_oid,
            generated: name == "generated",
            ..fixture::column(attribute, name)
        });
        CatalogTable { attributes_made: made, ..fixture::table(columns) }
    }

    /// The numbers of a message, where the stream had these columns before and nothing else is known.
    fn numbers(catalog: &CatalogTable, delivered: &[i32], message: &[(&str, u32)]) -> Vec<i32> {
        let columns: Vec<_> = message
            .iter()
            .map(|&(name, type_oid)| RelationColumn { in_key: false, name, type_oid, type_modifier: -1 })
            .collect();
        let delivered = delivered.iter().copied().collect();
        let known = Known {
            catalog,
            before: None,
            marked: &MarkedColumns { delivered, ..MarkedColumns::default() },
            excluded_names: &[],
            is_whole: false,
            writer: None,
            believes: false,
        };
        known.numbers(&columns).expect("they are told apart")
    }

    #[test]
    fn columns_of_the_catalog_are_found_by_their_names() {
        let now = catalog(4, &[(1, "id", INT), (2, "generated", INT), (4, "b", TEXT)]);
        assert_eq!(numbers(&now, &[1], &[("id", INT), ("b", TEXT)]), [1, 4]);
        assert_eq!(numbers(&now, &[], &[("id", INT)]), [1]);
    }

    #[test]
    fn a_column_that_was_dropped_is_not_the_one_that_was_made_under_its_name() {
        let now = catalog(4, &[(1, "id", INT), (3, "b", INT), (4, "a", INT)]);
        assert_eq!(numbers(&now, &[1, 2, 3], &[("id", INT), ("a", INT), ("b", INT)]), [1, 2, 3]);
        assert_eq!(numbers(&now, &[1, 2, 3], &[("id", INT), ("b", INT), ("a", INT)]), [1, 3, 4]);
        // At the end of the table only the type tells.
        let now = catalog(3, &[(1, "id", INT), (3, "a", TEXT)]);
        assert_eq!(numbers(&now, &[1, 2], &[("id", INT), ("a", INT)]), [1, 2]);
        assert_eq!(numbers(&now, &[1, 2], &[("id", INT), ("a", TEXT)]), [1, 3]);
        // Once it was delivered, another type is only that.
        assert_eq!(numbers(&now, &[1, 3], &[("id", INT), ("a", INT)]), [1, 3]);
    }

    #[test]
    fn names_that_two_columns_exchanged_are_told_by_their_places() {
        let now = catalog(3, &[(1, "id", INT), (2, "b", INT), (3, "a", INT)]);
        assert_eq!(numbers(&now, &[1, 2, 3], &[("id", INT), ("a", INT), ("b", INT)]), [1, 2, 3]);
        assert_eq!(numbers(&now, &[1, 2, 3], &[("id", INT), ("b", INT), ("a", INT)]), [1, 2, 3]);
    }

    #[test]
    fn a_column_that_was_dropped_before_is_not_taken_for_one_of_two_that_exchanged_their_names() {
        let now = catalog(5, &[(1, "id", INT), (2, "b", INT), (3, "a", INT), (5, "c", INT)]);
        assert_eq!(
            numbers(&now, &[1, 2, 3, 5], &[("id", INT), ("a", INT), ("b", INT), ("c", INT)]),
            [1, 2, 3, 5]
        );
    }

    #[test]
    fn names_exchanged_among_many_are_told_too() {
        let now = catalog(
            7,
            &[(1, "id", INT), (2, "x", INT), (3, "b", INT), (4, "a", INT), (5, "c", INT), (7, "d", INT)],
        );
        let message = [("id", INT), ("x", INT), ("a", INT), ("b", INT), ("c", INT)];
        for delivered in [&[1, 2, 3, 4, 5][..], &[]] {
            assert_eq!(numbers(&now, delivered, &message), [1, 2, 3, 4, 5]);
        }
    }

    #[test]
    fn a_name_that_is_gone_is_told_by_its_place_or_not_at_all() {
        let now = catalog(4, &[(1, "id", INT), (2, "new", INT), (4, "c", INT)]);
        assert_eq!(numbers(&now, &[1, 2, 4], &[("id", INT), ("old", INT), ("c", INT)]), [1, 2, 4]);
        assert_eq!(numbers(&now, &[1, 2, 3, 4], &[("id", INT), ("old", INT), ("c", INT)]), [1, 0, 4]);
    }
}
