//! Columns that were dropped while the stream is behind.
//!
//! A message may be from before a drop that the catalog already knows of, or from after it; where the table's last
//! columns are concerned, names need not tell the two apart, for the next column may have been made under the name, or
//! been renamed itself. But numbers are given in their order and never again. So with the columns that the stream had last
//! and the drops that came before a message, all of its columns are known: those that are left, then those that were added,
//! the first ones first. The catalog has the transaction of each drop; which came first, it or the one that wrote
//! the row, is told by their numbers. Both have locked the table, so that one of them ended before the other came to it; only
//! where that other one had its number before may the numbers mislead. Then names usually tell otherwise.
//!
//! Within one transaction the catalog has the number of the command, for drops as for the last change of each column that is
//! there. After a drop, what was last changed before it has its name and type of now.

use super::numbers::Known;
use crate::catalog::{CatalogColumn, Dropped};
use crate::pgoutput::RelationColumn;

/// What drops say of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// The numbers of its columns.
    Numbers(Vec<i32>),
    /// Nothing: none was dropped that it might have had, or what is known does not go together.
    Nothing,
    /// Numbers of transactions say one thing, names another, and both can be.
    Unclear,
}

impl Known<'_> {
    /// The columns of a message, of which some are known by name, and of others what they are not; 0 stands for neither.
    pub(super) fn by_drops(&self, columns: &[RelationColumn<'_>], named: &[i32], others: &[i32]) -> Told {
        let Some(writer) = self.writer.filter(|_| !self.marked.delivered.is_empty()) else {
            return Told::Nothing;
        };
        let mut drops: Vec<Dropped> = self.catalog.dropped.clone();
        if !drops.iter().any(|dropped| self.is_near(dropped.attribute)) {
            return Told::Nothing;
        }
        drops.sort_by(|one, other| {
            compare(one.dropped_by, other.dropped_by).then(one.dropped_at.cmp(&other.dropped_at))
        });
        // One list for each number of drops that were before the message.
        let list = |done: usize| {
            let (before, after) = drops.split_at(done);
            let last = before.last().filter(|dropped| dropped.dropped_by == writer);
            self.left(after, named)
                .filter(|list| last.is_none_or(|dropped| self.is_from_after(*dropped, columns, list)))
        };
        let lists: Vec<Option<Vec<i32>>> = (0..=drops.len()).map(list).collect();
        let fits = |done: usize, list: &Vec<i32>| {
            named.iter().zip(list).enumerate().all(|(at, (&name, &list))| {
                let is_later = || self.is_named_after(name, drops.get(done), writer);
                name == 0 || name == list || (is_later() && self.may_be_called(list, &columns[at]))
            })
        };
        let those = lists.iter().enumerate().filter_map(|(done, list)| Some((done, list.as_ref()?)));
        let mut fitting: Vec<&Vec<i32>> =
            those.filter(|(done, list)| fits(*done, list)).map(|(_, list)| list).collect();
        fitting.dedup();
        let done = drops.partition_point(|dropped| compare(dropped.dropped_by, writer).is_lt());
        let told = match drops.get(done) {
            // Within the transaction itself; its rows are mostly those that come after its changes.
            Some(next) if next.dropped_by == writer => None,
            _ => lists[done].as_ref(),
        };
        match (told, fitting.as_slice()) {
            (Some(told), _) if !self.believes && self.may_precede(told, &lists[..done], columns, named) => {
                Told::Unclear
            }
            (Some(told), fitting) if fits(done, told) || fitting.is_empty() => Told::Numbers(told.clone()),
            (None, fitting) if !fitting.is_empty() => {
                let may_be = |list: &&&Vec<i32>| !list.iter().zip(others).any(|(list, other)| list == other);
                let mut left = fitting.iter().filter(may_be);
                match (left.next(), left.next()) {
                    (Some(one), None) => Told::Numbers((*one).clone()),
                    _ => Told::Unclear,
                }
            }
            (Some(told), [one]) if self.was_named_otherwise(columns, told, one, writer) => {
                Told::Numbers((*one).clone())
            }
            (Some(_), _) => Told::Unclear,
            (None, _) => Told::Nothing,
        }
    }

    /// The numbers of the first columns of a message, whatever of the table was dropped when: those that the stream had last
    /// and the table still has, up to where one that is gone, or was not there for the stream, may stand between. Columns that
    /// are excluded have their places among them, where they are told by their names; nothing where they are not.
    pub(super) fn certain(&self, columns: &[RelationColumn<'_>]) -> Vec<i32> {
        let dropped = self.catalog.dropped.iter().map(|dropped| dropped.attribute);
        // One that was excluded is like one that was dropped before: the stream had neither.
        let is_doubtful =
            |number: &i32| self.is_near(*number) || self.was_left_out(*number) || self.is_any_excluded();
        let is_there = |column: &&CatalogColumn| {
            self.marked.delivered.contains(column.attribute) || self.was_excluded(column)
        };
        let others = self.catalog.columns.iter().filter(|column| !is_there(column));
        let doubtful = dropped.filter(is_doubtful).chain(others.map(|column| column.attribute));
        let end = doubtful.min().unwrap_or(self.catalog.attributes_made + 1);
        let mut certain: Vec<&CatalogColumn> =
            self.catalog.columns.iter().filter(|column| column.attribute < end).filter(is_there).collect();
        certain.sort_unstable_by_key(|column| column.attribute);
        let is_in_place = |(known, column): (&&CatalogColumn, &RelationColumn<'_>)| {
            let is_excluded = self.excluded_names.iter().any(|name| name == column.name);
            is_excluded == self.was_excluded(known) && (!is_excluded || known.name == column.name)
        };
        let is_whole = certain.len() <= columns.len() && certain.iter().zip(columns).all(is_in_place);
        if is_whole { certain.iter().map(|column| column.attribute).collect() } else { Vec::new() }
    }

    /// Whether every message since the stream's last description has a column that is excluded: it is older than one that the
    /// stream had then.
    fn was_excluded(&self, column: &CatalogColumn) -> bool {
        self.is_whole
            && self.is_excluded(column)
            && !self.marked.delivered.contains(column.attribute)
            && column.attribute < self.marked.delivered.greatest()
            && !column.generated
            && !self.marked.generated.contains(column.attribute)
            && !self.marked.stored.contains(column.attribute)
    }

    /// Whether a message may have a column of this number without the catalog's telling.
    fn is_near(&self, number: i32) -> bool {
        self.marked.delivered.contains(number)
            || (number > self.marked.delivered.greatest() && !self.was_left_out(number))
    }

    /// The columns of a message to which these were still there; nothing where it has too many or too few.
    fn left(&self, still_there: &[Dropped], named: &[i32]) -> Option<Vec<i32>> {
        let live = self.catalog.columns.iter().filter(|column| {
            self.marked.delivered.contains(column.attribute)
                || named.contains(&column.attribute)
                || self.is_excluded(column)
                || (self.is_near(column.attribute) && !column.generated)
        });
        let live = live.map(|column| column.attribute);
        // One that is excluded was never delivered.
        let dropped = still_there.iter().map(|dropped| dropped.attribute).filter(|number| {
            self.is_near(*number) || (self.is_any_excluded() && !self.was_left_out(*number))
        });
        let mut numbers: Vec<i32> = live.chain(dropped).collect();
        numbers.sort_unstable();
        if numbers.len() < named.len() {
            return None;
        }
        let later = numbers.split_off(named.len());
        // What the stream had, and is there, is not left out.
        (!later.iter().any(|number| self.marked.delivered.contains(*number))).then_some(numbers)
    }

    /// Whether a message with these columns can come after a drop by the same transaction.
    fn is_from_after(&self, dropped: Dropped, columns: &[RelationColumn<'_>], list: &[i32]) -> bool {
        let has_changed_since = |now: &CatalogColumn| {
            now.defined_by != dropped.dropped_by
                || now.defined_at.zip(dropped.dropped_at).is_none_or(|(defined, dropped)| defined > dropped)
        };
        let is_as_now = |(column, number): (&RelationColumn<'_>, &i32)| {
            let now = self.catalog.columns.iter().find(|now| now.attribute == *number);
            let is_same = |now: &CatalogColumn| {
                (now.name.as_str(), now.type_oid, now.type_modifier)
                    == (column.name, column.type_oid, column.type_modifier)
            };
            now.is_none_or(|now| has_changed_since(now) || is_same(now))
        };
        columns.iter().zip(list).all(is_as_now)
    }

    /// Whether a column was changed last, or made, after a drop by the same transaction: before that its name may have been
    /// another column's.
    fn is_named_after(&self, number: i32, dropped: Option<&Dropped>, writer: u32) -> bool {
        let Some(dropped) = dropped.filter(|dropped| dropped.dropped_by == writer) else { return false };
        let now = self.catalog.columns.iter().find(|now| now.attribute == number);
        now.filter(|now| now.defined_by == writer)
            .and_then(|now| now.defined_at.zip(dropped.dropped_at))
            .is_some_and(|(defined, dropped)| defined > dropped)
    }

    /// Whether a message may be from before drops by transactions with smaller numbers: they may have waited for the table, while
    /// one that had read it wrote to it. Where the columns have the names that they had before these, nothing tells. But a
    /// message that follows another one mostly comes because something has changed: with the names of now, it is believed.
    fn may_precede(
        &self,
        told: &[i32],
        earlier: &[Option<Vec<i32>>],
        columns: &[RelationColumn<'_>],
        named: &[i32],
    ) -> bool {
        let differing = |other: &[i32]| -> Vec<usize> {
            (0..columns.len()).filter(|&at| told[at] != other[at]).collect()
        };
        let may_be = |other: &[i32]| {
            let differing = differing(other);
            let is_new = self.before.is_some() && differing.iter().all(|&at| named[at] == told[at]);
            let was_it = |&at: &usize| {
                let was_called = self.was_called(other[at], columns[at].name);
                // Where no names were noted it may be this one; of what came and went meanwhile the numbers are believed.
                was_called
                    .unwrap_or(self.marked.names.is_empty() && self.marked.delivered.contains(other[at]))
                    && self.may_be_of_type(other[at], &columns[at])
            };
            !differing.is_empty() && !is_new && differing.iter().all(was_it)
        };
        earlier.iter().flatten().any(|other| may_be(other))
    }

    /// Whether a column that the stream had was called so last; nothing where that is not known.
    fn was_called(&self, number: i32, name: &str) -> Option<bool> {
        let mut before = self.before.into_iter().flat_map(|before| &before.columns);
        let known = before.find(|known| known.attribute == number).map(|known| known.name == name);
        known.or_else(|| self.marked.name_allows(number, name))
    }

    /// Whether what is known leaves it open that a column is that of a message: one that the stream had not yet may have had any
    /// name, and so may one whose name was not noted.
    fn may_be_called(&self, number: i32, column: &RelationColumn<'_>) -> bool {
        self.was_called(number, column.name) != Some(false) && self.may_be_of_type(number, column)
    }

    /// Whether a column that was dropped may have had the type that one of a message has.
    fn may_be_of_type(&self, number: i32, column: &RelationColumn<'_>) -> bool {
        let dropped = self.catalog.dropped.iter().find(|dropped| dropped.attribute == number);
        let mut now = self.catalog.columns.iter();
        let is_same = |now: &&CatalogColumn| {
            (now.type_oid, now.type_modifier) == (column.type_oid, column.type_modifier)
        };
        dropped.zip(now.find(is_same)).is_none_or(|(dropped, now)| dropped.layout == now.layout)
    }

    /// Whether a column had another name where the lists differ first, so that the message does not mean it. It may have been
    /// renamed since, before the one that has the name by now was made under it, unless that one is older than the message.
    fn was_named_otherwise(
        &self,
        columns: &[RelationColumn<'_>],
        told: &[i32],
        other: &[i32],
        writer: u32,
    ) -> bool {
        let Some(at) = (0..columns.len()).find(|&at| told[at] != other[at]) else { return false };
        let mut now = self.catalog.columns.iter();
        let is_older =
            |now: &CatalogColumn| now.attribute == other[at] && compare(now.defined_by, writer).is_lt();
        self.was_called(told[at], columns[at].name) == Some(false) && (self.believes || now.any(is_older))
    }
}

/// Transactions by the lower 32 bits of their numbers (B163).
pub(crate) fn compare(one: u32, other: u32) -> std::cmp::Ordering {
    one.wrapping_sub(other).cast_signed().cmp(&0)
}

#[cfg(test)]
mod tests {
    use tarn_batch::{Column, Table, Type};

    use super::*;
    use crate::catalog::{CatalogTable, fixture};
    use crate::mark::columns::MarkedColumns;

    fn catalog(columns: &[(i32, &str)], dropped: &[(i32, u32)]) -> CatalogTable {
        let table = fixture::table(columns.iter().map(|&(attribute, name)| CatalogColumn {
            type_oid: if name == "other type" { 25 } else { 23 },
            ..fixture::column(attribute, name)
        }));
        let dropped = dropped.iter().map(|&(attribute, dropped_by)| fixture::dropped(attribute, dropped_by));
        let dropped: Vec<_> = dropped.collect();
        let made = dropped.iter().map(|dropped| dropped.attribute).chain([table.attributes_made]).max();
        CatalogTable { attributes_made: made.unwrap_or(0), dropped, ..table }
    }

    /// What a message of a transaction means, where the stream had these columns, under these names (empty where they were not
    /// noted), and these were generated; a fresh one remembers these, and has had no message.
    struct Case<'a> {
        now: &'a CatalogTable,
        delivered: &'a [(i32, &'a str)],
        excluded: &'a [&'a str],
        generated: &'a [(i32, &'a str)],
        is_fresh: bool,
    }

    impl Case<'_> {
        fn numbers(&self, writer: u32, message: &[&str]) -> Option<Vec<i32>> {
            let message: Vec<_> = message.iter().map(|&name| (name, 23)).collect();
            self.numbers_of(writer, &message)
        }

        fn numbers_of(&self, writer: u32, message: &[(&str, u32)]) -> Option<Vec<i32>> {
            let columns = self.delivered.iter().map(|&(attribute, name)| Column {
                name: name.to_owned(),
                data_type: Type::Int4,
                type_name: "integer".to_owned(),
                nullable: true,
                key: 0,
                attribute,
            });
            let before = Table {
                id: 1,
                schema: "public".to_owned(),
                name: "t".to_owned(),
                version: 1,
                columns: columns.collect(),
            };
            let delivered = self.delivered.iter().map(|(number, _)| *number).collect();
            let generated = self.generated.iter().map(|(number, _)| *number).collect();
            let excluded: Vec<String> = self.excluded.iter().map(|&name| name.to_owned()).collect();
            let known = Known {
                catalog: self.now,
                before: (!self.is_fresh).then_some(&before),
                marked: &MarkedColumns {
                    delivered,
                    names: self.delivered.iter().copied().filter(|(_, name)| !name.is_empty()).collect(),
                    generated,
                    generated_names: self.generated.iter().copied().collect(),
                    ..MarkedColumns::default()
                },
                excluded_names: &excluded,
                is_whole: true,
                writer: Some(writer),
                believes: false,
            };
            let columns = message.iter().map(|&(name, type_oid)| RelationColumn {
                in_key: false,
                name,
                type_oid,
                type_modifier: -1,
            });
            known.numbers(&columns.collect::<Vec<_>>())
        }
    }

    const BEFORE: u32 = 900;
    const DROP: u32 = 1000;
    const AFTER: u32 = 1001;

    #[test]
    fn a_column_that_followed_a_dropped_one_and_was_renamed_is_told_by_the_transaction() {
        let now = catalog(&[(1, "id"), (3, "c")], &[(2, DROP)]);
        let case = Case {
            now: &now,
            delivered: &[(1, "id"), (2, "a")],
            excluded: &[],
            generated: &[],
            is_fresh: true,
        };
        assert_eq!(case.numbers(BEFORE, &["id", "a"]), Some(vec![1, 2]));
        assert_eq!(case.numbers(AFTER, &["id", "b"]), Some(vec![1, 3]));
        assert_eq!(case.numbers(AFTER, &["id"]), Some(vec![1]));
        // Its own transaction: the name tells, or nothing does.
        assert_eq!(case.numbers(DROP, &["id", "c"]), Some(vec![1, 3]));
        assert_eq!(case.numbers(DROP, &["id", "b"]), None);
        // One of another type than the column that was made under its name is the one from before.
        let now = catalog(&[(1, "id"), (3, "other type")], &[(2, DROP)]);
        let case = Case {
            now: &now,
            delivered: &[(1, "id"), (2, "other type")],
            excluded: &[],
            generated: &[],
            is_fresh: true,
        };
        assert_eq!(case.numbers(DROP, &["id", "other type"]), Some(vec![1, 2]));
    }

    #[test]
    fn columns_that_came_and_went_meanwhile_are_told_in_their_order() {
        let now = catalog(&[(1, "id"), (5, "d")], &[(2, DROP), (3, 1002), (4, 1004)]);
        let case = Case {
            now: &now,
            delivered: &[(1, "id"), (2, "a")],
            excluded: &[],
            generated: &[],
            is_fresh: true,
        };
        assert_eq!(case.numbers(BEFORE, &["id", "a", "b"]), Some(vec![1, 2, 3]));
        assert_eq!(case.numbers(AFTER, &["id", "b"]), Some(vec![1, 3]));
        assert_eq!(case.numbers(1003, &["id", "x", "y"]), Some(vec![1, 4, 5]));
        assert_eq!(case.numbers(1005, &["id", "d"]), Some(vec![1, 5]));
    }

    #[test]
    fn names_and_transactions_that_contradict_each_other_are_not_guessed_between() {
        let now = catalog(&[(1, "id"), (3, "a")], &[(2, DROP)]);
        let case =
            |is_fresh, old| Case { now: &now, delivered: old, excluded: &[], generated: &[], is_fresh };
        let (same, other): (&[_], &[_]) = (&[(1, "id"), (2, "a")], &[(1, "id"), (2, "z")]);
        assert_eq!(case(true, same).numbers(BEFORE, &["id", "a"]), None);
        assert_eq!(case(false, same).numbers(BEFORE, &["id", "a"]), None);
        assert_eq!(case(false, same).numbers(AFTER, &["id", "a"]), Some(vec![1, 3]));
        // The drop may have waited for a transaction that began later.
        assert_eq!(case(true, same).numbers(AFTER, &["id", "a"]), None);
        assert_eq!(case(true, other).numbers(AFTER, &["id", "a"]), Some(vec![1, 3]));
        for is_fresh in [true, false] {
            assert_eq!(case(is_fresh, other).numbers(AFTER, &["id", "z"]), None);
        }
        // A transaction that ran for long, and came to the table after the change.
        assert_eq!(case(false, other).numbers(BEFORE, &["id", "a"]), Some(vec![1, 3]));
        assert_eq!(case(false, other).numbers(BEFORE, &["id", "z"]), Some(vec![1, 2]));
        // Or one that came to it before, and after the dropped one was renamed.
        let mut renamed = now.clone();
        renamed.columns[1].defined_by = AFTER;
        let case =
            |old| Case { now: &renamed, delivered: old, excluded: &[], generated: &[], is_fresh: false };
        assert_eq!(case(other).numbers(BEFORE, &["id", "a"]), None);
        assert_eq!(case(other).numbers(BEFORE, &["id", "z"]), Some(vec![1, 2]));
        // What was dropped was no integer.
        let mut now = now.clone();
        now.dropped[0].layout.length = 8;
        let case = Case { now: &now, delivered: same, excluded: &[], generated: &[], is_fresh: true };
        assert_eq!(case.numbers(AFTER, &["id", "a"]), Some(vec![1, 3]));
    }

    #[test]
    fn columns_before_those_in_doubt_are_certain() {
        let certain = |now: &CatalogTable, delivered: &[i32], excluded: &[&str], message: &[&str]| {
            let delivered = delivered.iter().copied().collect();
            let excluded: Vec<String> = excluded.iter().map(|&name| name.to_owned()).collect();
            let known = Known {
                catalog: now,
                before: None,
                marked: &MarkedColumns { delivered, ..MarkedColumns::default() },
                excluded_names: &excluded,
                is_whole: true,
                writer: Some(BEFORE),
                believes: false,
            };
            let columns = message.iter().map(|&name| RelationColumn {
                in_key: false,
                name,
                type_oid: 23,
                type_modifier: -1,
            });
            known.certain(&columns.collect::<Vec<_>>())
        };
        let now = catalog(&[(1, "id"), (3, "b"), (5, "c"), (6, "a")], &[(2, 10), (4, DROP)]);
        let message = ["id", "b", "a", "c"];
        assert_eq!(certain(&now, &[1, 3, 4, 5], &[], &message), [1, 3]);
        // 2 was dropped before the stream's last description, or after it.
        assert_eq!(certain(&now, &[1, 2, 3, 4, 5], &[], &message), [1]);
        // 3 may have come since, by a publication that left it out.
        assert_eq!(certain(&now, &[1, 4, 5], &[], &message), [1]);
        // Too few for what it must have.
        assert_eq!(certain(&now, &[1, 3, 4, 5], &[], &["id"]), [0; 0]);
        // 2 may have been excluded.
        assert_eq!(certain(&now, &[1, 3, 4, 5], &["secret"], &message), [1]);
        let now = catalog(&[(1, "id"), (2, "secret"), (3, "b"), (5, "a")], &[(4, DROP)]);
        assert_eq!(certain(&now, &[1, 3, 4], &["secret"], &["id", "secret", "b", "a"]), [1, 2, 3]);
        // It was not there, or had another name, which was not excluded.
        assert_eq!(certain(&now, &[1, 3, 4], &["secret"], &["id", "b", "a"]), [0; 0]);
        assert_eq!(certain(&now, &[1, 3, 4], &["secret"], &["id", "open", "b", "a"]), [0; 0]);
        assert_eq!(certain(&now, &[1, 2, 3, 4], &["secret"], &["id", "open", "b", "a"]), [1, 2, 3]);
        // It may have come after the stream's last description.
        assert_eq!(certain(&now, &[1], &["secret"], &["id", "secret", "b", "a"]), [1]);
    }

    #[test]
    fn a_column_added_and_replaced_meanwhile_by_one_of_another_type_is_told() {
        let now = catalog(&[(1, "id"), (3, "other type")], &[(2, DROP)]);
        // The description before had neither.
        let case =
            Case { now: &now, delivered: &[(1, "id")], excluded: &[], generated: &[], is_fresh: false };
        assert_eq!(case.numbers_of(BEFORE, &[("id", 23), ("other type", 23)]), Some(vec![1, 2]));
        assert_eq!(case.numbers_of(AFTER, &[("id", 23), ("other type", 25)]), Some(vec![1, 3]));
    }

    #[test]
    fn changes_of_one_transaction_are_told_in_the_order_of_its_commands() {
        // ADD a, a row, RENAME v TO w, a row, ADD b, a row, DROP a, a row.
        let mut now = catalog(&[(1, "id"), (2, "w"), (4, "b")], &[(3, DROP)]);
        let case = |now: &CatalogTable, message: &[&str]| {
            let delivered = &[(1, "id"), (2, "v")];
            Case { now, delivered, excluded: &[], generated: &[], is_fresh: true }.numbers(DROP, message)
        };
        for (column, command) in [(1, 4), (2, 6)] {
            now.columns[column] =
                CatalogColumn { defined_by: DROP, defined_at: Some(command), ..now.columns[column].clone() };
        }
        assert_eq!(case(&now, &["id", "v", "a"]), None, "nothing says when the drop was");
        now.dropped[0].dropped_at = Some(8);
        assert_eq!(case(&now, &["id", "v", "a"]), Some(vec![1, 2, 3]));
        assert_eq!(case(&now, &["id", "w", "a"]), Some(vec![1, 2, 3]));
        assert_eq!(case(&now, &["id", "w", "a", "b"]), Some(vec![1, 2, 3, 4]));
        assert_eq!(case(&now, &["id", "w", "b"]), Some(vec![1, 2, 4]));
        // What was renamed after the drop may have had any name.
        now.columns[2].defined_at = Some(10);
        assert_eq!(case(&now, &["id", "w", "a"]), None);
    }

    #[test]
    fn a_column_that_is_made_again_in_one_transaction_is_in_doubt_where_its_name_does_not_tell() {
        // DROP the last column at command 4, ADD one at 6.
        let case = |is_fresh, name: &'static str, delivered: &'static [(i32, &'static str)]| {
            let mut now = catalog(&[(1, "id"), (3, name)], &[(2, DROP)]);
            now.dropped[0].dropped_at = Some(4);
            now.columns[1] =
                CatalogColumn { defined_by: DROP, defined_at: Some(6), ..now.columns[1].clone() };
            Case { now: &now, delivered, excluded: &[], generated: &[], is_fresh }
                .numbers(DROP, &["id", name])
        };
        for is_fresh in [false, true] {
            assert_eq!(case(is_fresh, "c", &[(1, "id"), (2, "c")]), None);
            assert_eq!(case(is_fresh, "b", &[(1, "id"), (2, "c")]), Some(vec![1, 3]));
            // The dropped one was made in the transaction, too.
            assert_eq!(case(is_fresh, "c", &[(1, "id")]), None);
        }
    }

    #[test]
    fn excluded_columns_have_their_places_too() {
        let now = catalog(&[(1, "id"), (2, "secret"), (5, "c")], &[(3, 10), (4, DROP)]);
        let case = Case {
            now: &now,
            delivered: &[(1, "id"), (4, "a")],
            excluded: &["secret"],
            generated: &[],
            is_fresh: true,
        };
        assert_eq!(case.numbers(BEFORE, &["id", "secret", "a"]), Some(vec![1, 2, 4]));
        assert_eq!(case.numbers(AFTER, &["id", "secret", "b"]), Some(vec![1, 2, 5]));
    }

    #[test]
    fn a_generated_column_that_was_dropped_is_in_no_message_unless_it_may_have_become_a_stored_one() {
        let now = |name: &'static str| catalog(&[(1, "id"), (2, "a"), (4, name)], &[(3, DROP)]);
        let numbers = |is_fresh, now: &CatalogTable, writer, message: &[&str]| {
            let (delivered, generated) = (&[(1, "id"), (2, "a")], &[(3, "g")]);
            Case { now, delivered, excluded: &[], generated, is_fresh }.numbers(writer, message)
        };
        for (writer, is_fresh) in
            [BEFORE, DROP, AFTER].into_iter().flat_map(|writer| [(writer, true), (writer, false)])
        {
            assert_eq!(numbers(is_fresh, &now("z"), writer, &["id", "a"]), Some(vec![1, 2]));
            assert_eq!(numbers(is_fresh, &now("z"), writer, &["id", "a", "z"]), Some(vec![1, 2, 4]));
        }
        // Its place may be that of the column that has another name by now.
        assert_eq!(numbers(true, &now("y"), BEFORE, &["id", "a", "z"]), None);
        assert_eq!(numbers(true, &now("y"), AFTER, &["id", "a", "z"]), Some(vec![1, 2, 4]));
        // Another one has its name by now; the drop may have waited for a transaction that began later.
        for is_fresh in [true, false] {
            assert_eq!(numbers(is_fresh, &now("g"), BEFORE, &["id", "a"]), Some(vec![1, 2]));
            assert_eq!(numbers(is_fresh, &now("g"), BEFORE, &["id", "a", "g"]), None);
        }
        assert_eq!(numbers(true, &now("g"), AFTER, &["id", "a", "g"]), None);
        assert_eq!(numbers(false, &now("g"), AFTER, &["id", "a", "g"]), Some(vec![1, 2, 4]));
    }

    #[test]
    fn a_generated_column_that_may_have_become_a_stored_one_may_have_its_place_among_others() {
        let now = catalog(&[(1, "id"), (4, "z"), (5, "g")], &[(2, DROP), (3, DROP + 5)]);
        let numbers = |generated, writer, message: &[&str]| {
            let delivered = &[(1, "id"), (4, "z")];
            Case { now: &now, delivered, excluded: &[], generated, is_fresh: true }.numbers(writer, message)
        };
        // One of two, or both.
        let generated = &[(2, "f"), (3, "g")];
        for message in [&["id", "g", "z"][..], &["id", "f", "z"], &["id", "f", "g", "z"]] {
            assert_eq!(numbers(generated, BEFORE, message), None, "{message:?}");
        }
        assert_eq!(numbers(generated, BEFORE, &["id", "z"]), Some(vec![1, 4]));
        assert_eq!(numbers(generated, DROP + 9, &["id", "z", "g"]), Some(vec![1, 4, 5]));
    }

    #[test]
    fn a_name_that_was_not_noted_may_be_any() {
        // DROP the last column at command 4, ADD one at 6.
        let mut now = catalog(&[(1, "id"), (3, "c")], &[(2, DROP)]);
        now.dropped[0].dropped_at = Some(4);
        now.columns[1] = CatalogColumn { defined_by: DROP, defined_at: Some(6), ..now.columns[1].clone() };
        let numbers = |writer, name: &'static str| {
            let delivered = if name.is_empty() { [(1, ""), (2, "")] } else { [(1, "id"), (2, name)] };
            Case { now: &now, delivered: &delivered, excluded: &[], generated: &[], is_fresh: true }
                .numbers(writer, &["id", "c"])
        };
        for writer in [BEFORE, DROP, AFTER] {
            assert_eq!(numbers(writer, ""), None);
        }
        for writer in [DROP, AFTER] {
            assert_eq!(numbers(writer, "b"), Some(vec![1, 3]));
        }
    }

    #[test]
    fn transactions_are_compared_around_their_end() {
        assert!(compare(u32::MAX - 1, 5).is_lt());
        assert!(compare(5, u32::MAX - 1).is_gt());
    }
}
