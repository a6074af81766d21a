//! Partitions that come by themselves, as a publication without `publish_via_partition_root` has them.
//!
//! What the stream had last is remembered by the numbers of the partitioned table. A partition has numbers of its own, and
//! its messages have its columns in the order of these. So what is known of the table is said in the partition's numbers
//! before a message is looked at: what is there has the same name in both, and what is gone was dropped from both by the
//! same transaction. A column that the partition had and dropped before it was one is none of the table's.

use tarn_batch::{Column, Table};

use super::succession::compare;
use crate::attributes::Attributes;
use crate::catalog::{CatalogColumn, CatalogTable, Dropped};
use crate::mark::columns::MarkedColumns;
use crate::pgoutput::RelationColumn;

/// A partition with those columns that its table has or had, numbered anew without gaps.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) catalog: CatalogTable,
    /// What is marked of these.
    pub(super) marked: MarkedColumns,
    /// The partition as its message before described it.
    pub(super) before: Option<Table>,
    /// The table's number of each; 0 where that is not known of one that is gone.
    numbers: Vec<i32>,
    /// Transactions that dropped columns of which it is not known whether the stream had them.
    unclear: Vec<u32>,
}

/// What is known of a partitioned table, in its own numbers.
#[derive(Clone, Copy)]
pub(super) struct Root<'a> {
    pub(super) catalog: &'a CatalogTable,
    pub(super) marked: &'a MarkedColumns,
    /// The partition as its message before described it.
    pub(super) before: Option<&'a Table>,
}

impl Root<'_> {
    /// Whether a column was changed or dropped by a transaction that is not earlier than this one.
    pub(super) fn is_ahead_of(&self, writer: u32) -> bool {
        let dropped = self.catalog.dropped.iter().map(|dropped| dropped.dropped_by);
        let mut changes = self.catalog.columns.iter().map(|column| column.defined_by).chain(dropped);
        changes.any(|change| compare(change, writer).is_ge())
    }

    fn dropped_by(&self, transaction: u32) -> Vec<i32> {
        let dropped = self.catalog.dropped.iter().filter(|dropped| dropped.dropped_by == transaction);
        dropped.map(|dropped| dropped.attribute).collect()
    }
}

impl Leaf {
    /// A partition as the catalog has it; nothing where it has not the columns that its table has, for one of them has changed
    /// between the two looks.
    pub(super) fn new(leaf: &CatalogTable, root: Root<'_>) -> Option<Self> {
        let mut of_root: Vec<(i32, i32)> = Vec::with_capacity(leaf.columns.len());
        for column in &leaf.columns {
            let found = root.catalog.columns.iter().find(|found| found.name == column.name)?;
            of_root.push((column.attribute, found.attribute));
        }
        if of_root.len() != root.catalog.columns.len() {
            return None;
        }
        let there = of_root.len();
        for dropped in &leaf.dropped {
            let together = leaf.dropped.iter().filter(|other| other.dropped_by == dropped.dropped_by);
            match (root.dropped_by(dropped.dropped_by).as_slice(), together.count()) {
                ([], _) => {}
                ([number], 1) => of_root.push((dropped.attribute, *number)),
                _ => of_root.push((dropped.attribute, 0)),
            }
        }
        let is_there: Vec<i32> = of_root[..there].iter().map(|(own, _)| *own).collect();
        of_root.sort_unstable();
        let place = |own: i32| of_root.iter().position(|(known, _)| *known == own);
        let number = |own: i32| place(own).and_then(|at| i32::try_from(at + 1).ok()).unwrap_or(0);
        let own = |root: i32| {
            let at = of_root.iter().position(|(_, known)| *known == root)?;
            i32::try_from(at + 1).ok()
        };
        let known = |set: &Attributes| -> Attributes {
            let there = of_root.iter().filter(|(own, root)| is_there.contains(own) && set.contains(*root));
            there.map(|(own, _)| number(*own)).collect()
        };
        let mut new = Self {
            catalog: renumbered(leaf, root.catalog, number),
            marked: MarkedColumns {
                delivered: known(&root.marked.delivered),
                names: root.marked.names.renumbered(own),
                generated: known(&root.marked.generated),
                generated_names: root.marked.generated_names.renumbered(own),
                stored: known(&root.marked.stored),
                excluded: root.marked.excluded.renumbered(own),
            },
            before: root.before.map(|before| table_of(before, &of_root)),
            numbers: of_root.iter().map(|(_, root)| *root).collect(),
            unclear: Vec::new(),
        };
        new.note_dropped(root);
        Some(new)
    }

    /// Notes which of the columns that are gone the stream had. Those of which that is not known are taken for some of these.
    fn note_dropped(&mut self, root: Root<'_>) {
        let those_of = |dropped: &Dropped, is: &dyn Fn(i32) -> bool| {
            let numbers = root.dropped_by(dropped.dropped_by);
            let count = numbers.iter().filter(|number| is(**number)).count();
            (count != 0, count != 0 && count != numbers.len())
        };
        let (dropped, is_had) =
            (self.catalog.dropped.clone(), |number| root.marked.delivered.contains(number));
        let had = dropped.iter().filter(|dropped| those_of(dropped, &is_had).0);
        self.marked.delivered =
            self.marked.delivered.numbers().chain(had.map(|dropped| dropped.attribute)).collect();
        let is_generated = |number| root.marked.generated.contains(number);
        let generated = dropped.iter().filter(|dropped| those_of(dropped, &is_generated).0);
        self.marked.generated =
            self.marked.generated.numbers().chain(generated.map(|dropped| dropped.attribute)).collect();
        let (greatest, greatest_of_root) =
            (self.marked.delivered.greatest(), root.marked.delivered.greatest());
        let is_later = |number| number > greatest_of_root;
        let is_unclear = |dropped: &&Dropped| {
            let (is_any_later, is_partly_later) = those_of(dropped, &is_later);
            // One that came after the stream's last description has a place behind those, unless the partition had it before.
            let is_misplaced = is_any_later && dropped.attribute < greatest;
            let is_partly = those_of(dropped, &is_had).1 || those_of(dropped, &is_generated).1;
            is_misplaced || is_partly || is_partly_later
        };
        let unclear: Vec<&Dropped> = dropped.iter().filter(is_unclear).collect();
        self.unclear = unclear.iter().map(|dropped| dropped.dropped_by).collect();
        let unclear = unclear.iter().map(|dropped| dropped.attribute);
        self.marked.delivered = self.marked.delivered.numbers().chain(unclear).collect();
    }

    /// Whether a transaction's rows may have columns of which it is not known whether the stream had them.
    pub(super) fn is_unclear(&self, writer: Option<u32>) -> bool {
        let is_later = |change: &u32| writer.is_none_or(|writer| compare(*change, writer).is_ge());
        self.unclear.iter().any(is_later)
    }

    /// The table's numbers of the first columns of a message; nothing where one is not known.
    pub(super) fn of_root(
        &self,
        numbers: &[i32],
        columns: &[RelationColumn<'_>],
        before: Option<&Table>,
    ) -> Option<Vec<i32>> {
        let of_root = |(number, column): (&i32, &RelationColumn<'_>)| {
            let Some(place) = usize::try_from(*number).ok().and_then(|number| number.checked_sub(1)) else {
                return Some(0);
            };
            let known = self.numbers.get(place).copied().filter(|number| *number != 0);
            // Of several that are gone, the name tells that the partition's columns had before.
            let had = || before?.columns.iter().find(|had| had.name == column.name);
            let is_gone = |had: &&Column| had.attribute > 0 && !self.numbers.contains(&had.attribute);
            known.or_else(|| had().filter(is_gone).map(|had| had.attribute))
        };
        numbers.iter().zip(columns).map(of_root).collect()
    }
}

/// A partition's columns under other numbers, with the key that its table has. Those without one are left out.
fn renumbered(leaf: &CatalogTable, root: &CatalogTable, number: impl Fn(i32) -> i32) -> CatalogTable {
    let columns = leaf.columns.iter().map(|column| CatalogColumn {
        attribute: number(column.attribute),
        key: root.columns.iter().find(|found| found.name == column.name).map_or(0, |found| found.key),
        ..column.clone()
    });
    let columns: Vec<CatalogColumn> = columns.collect();
    let dropped =
        leaf.dropped.iter().map(|dropped| Dropped { attribute: number(dropped.attribute), ..*dropped });
    let dropped: Vec<Dropped> = dropped.filter(|dropped| dropped.attribute != 0).collect();
    CatalogTable {
        kind: root.kind,
        attributes_made: i32::try_from(columns.len() + dropped.len()).unwrap_or(i32::MAX),
        columns,
        dropped,
        name: root.name.clone(),
        ..*leaf
    }
}

/// A description with the partition's numbers instead of the table's: -1 where it has none, for one that is gone.
fn table_of(before: &Table, of_root: &[(i32, i32)]) -> Table {
    let number = |attribute: i32| match of_root.iter().position(|(_, root)| *root == attribute) {
        _ if attribute == 0 => 0,
        Some(at) => i32::try_from(at + 1).unwrap_or(-1),
        None => -1,
    };
    let columns = before.columns.iter();
    let columns = columns.map(|column| Column { attribute: number(column.attribute), ..column.clone() });
    Table { columns: columns.collect(), ..before.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::fixture;
    use crate::stream::numbers::Known;

    fn catalog(columns: &[(i32, &str)], dropped: &[(i32, u32)]) -> CatalogTable {
        let dropped = dropped.iter().map(|&(attribute, dropped_by)| fixture::dropped(attribute, dropped_by));
        let columns = columns.iter().map(|&(attribute, name)| fixture::column(attribute, name));
        CatalogTable { dropped: dropped.collect(), ..fixture::table(columns) }
    }

    /// The table's numbers of a message of a partition.
    fn numbers(
        leaf: &CatalogTable,
        root: &CatalogTable,
        delivered: &[i32],
        writer: u32,
        message: &[&str],
    ) -> Option<Vec<i32>> {
        let names = [(1, "id"), (2, "v"), (3, "a"), (4, "b")];
        let names = names.into_iter().filter(|(number, _)| delivered.contains(number)).collect();
        let delivered = delivered.iter().copied().collect();
        let marked = MarkedColumns { delivered, names, ..MarkedColumns::default() };
        let root = Root { catalog: root, marked: &marked, before: None };
        let leaf = Leaf::new(leaf, root).expect("they have the same columns");
        let known = Known {
            catalog: &leaf.catalog,
            before: None,
            marked: &leaf.marked,
            excluded_names: &[],
            is_whole: true,
            writer: Some(writer),
            believes: false,
        };
        let columns = message.iter().map(|&name| RelationColumn {
            in_key: false,
            name,
            type_oid: 23,
            type_modifier: -1,
        });
        let columns: Vec<_> = columns.collect();
        let told = known.numbers(&columns).filter(|_| !leaf.is_unclear(Some(writer)));
        told.and_then(|numbers| leaf.of_root(&numbers, &columns, None))
    }

    const BEFORE: u32 = 900;
    const DROP: u32 = 1000;
    const AFTER: u32 = 1001;

    #[test]
    fn columns_of_a_partition_have_the_numbers_of_its_table_also_those_that_are_gone() {
        // Its first column was dropped before it was a partition.
        let leaf = catalog(&[(2, "v"), (4, "id"), (5, "b")], &[(1, 10), (3, DROP)]);
        let root = catalog(&[(1, "id"), (2, "v"), (4, "b")], &[(3, DROP)]);
        let told = |writer, message: &[&str]| numbers(&leaf, &root, &[1, 2, 3], writer, message);
        assert_eq!(told(BEFORE, &["v", "a", "id"]), Some(vec![2, 3, 1]));
        assert_eq!(told(AFTER, &["v", "id", "b"]), Some(vec![2, 1, 4]));
        assert_eq!(told(AFTER, &["v", "id"]), Some(vec![2, 1]));
    }

    #[test]
    fn a_column_that_may_be_either_of_two_is_in_doubt_in_a_partition_too() {
        let root = catalog(&[(1, "id"), (2, "v"), (4, "a")], &[(3, DROP)]);
        let leaf = catalog(&[(1, "id"), (2, "v"), (4, "a")], &[(3, DROP)]);
        // The drop may have waited for a transaction that began later.
        for writer in [BEFORE, AFTER] {
            assert_eq!(numbers(&leaf, &root, &[1, 2, 3], writer, &["id", "v", "a"]), None);
        }
        // The order of this one's columns tells.
        let leaf = catalog(&[(2, "id"), (3, "v"), (4, "a")], &[(1, DROP)]);
        assert_eq!(numbers(&leaf, &root, &[1, 2, 3], BEFORE, &["a", "id", "v"]), Some(vec![3, 1, 2]));
    }

    #[test]
    fn of_several_that_one_transaction_dropped_none_is_taken_for_another() {
        let root = catalog(&[(1, "id"), (2, "v")], &[(3, DROP), (4, DROP)]);
        let leaf = catalog(&[(2, "v"), (4, "id")], &[(1, DROP), (3, DROP)]);
        assert_eq!(numbers(&leaf, &root, &[1, 2, 3, 4], BEFORE, &["b", "v", "a", "id"]), None);
        // The stream had one of them.
        assert_eq!(numbers(&leaf, &root, &[1, 2, 3], BEFORE, &["b", "v", "a", "id"]), None);
        assert_eq!(numbers(&leaf, &root, &[1, 2, 3], AFTER, &["v", "id"]), Some(vec![2, 1]));
    }

    #[test]
    fn a_column_that_came_and_went_before_others_of_a_partition_is_in_doubt() {
        // The partition had it before it was one, and the table got it then.
        let root = catalog(&[(1, "id"), (2, "v"), (4, "x")], &[(3, DROP)]);
        let leaf = catalog(&[(2, "id"), (3, "v"), (4, "x")], &[(1, DROP)]);
        assert_eq!(numbers(&leaf, &root, &[1, 2], BEFORE, &["x", "id", "v"]), None);
        assert_eq!(numbers(&leaf, &root, &[1, 2], AFTER, &["id", "v", "x"]), Some(vec![1, 2, 4]));
    }

    #[test]
    fn a_partition_that_has_not_its_tables_columns_is_looked_at_once_more() {
        let root = catalog(&[(1, "id"), (2, "v")], &[]);
        let root = Root { catalog: &root, marked: &MarkedColumns::default(), before: None };
        assert!(Leaf::new(&catalog(&[(1, "id")], &[]), root).is_none());
        assert!(Leaf::new(&catalog(&[(1, "id"), (2, "w")], &[]), root).is_none());
    }
}
