//! Tables whose rows were written anew at the source.
//!
//! The server does so for some changes of columns (a type that is stored otherwise, `USING`, a default that is
//! another one in each row), and tells a stream nothing of the values that rows got by it. It also writes a table anew to
//! pack it, and then into the rows what its catalog alone had before of a column that was added with a default. The
//! catalog shows that it happened: the table has another file, and the definitions of columns are younger than the last
//! look. A file alone says nothing, for emptying or packing a table makes a new one, too. Nor does the definition of a
//! column whose default is an old one: packing touches it where the catalog alone had the default's value, which the
//! destination was told with the column. A change of its type would have made the default anew.

use crate::catalog::{CatalogColumn, CatalogTable, Earlier, Kind};
use crate::mark::Mark;

/// By what a table was written anew since it was marked, in a way that left values in its rows which no change tells of;
/// nothing where its rows are what the stream says of them. `horizon` is that of the marks; generated columns are in the
/// stream where they are `published`.
pub(crate) fn cause(
    table: &CatalogTable,
    mark: &Mark,
    horizon: u64,
    published: impl Fn(&CatalogColumn) -> bool,
) -> Option<String> {
    if table.file == mark.file || horizon == 0 {
        return None;
    }
    let is_young = |column: &CatalogColumn| is_younger(column.defined_by, horizon);
    let is_known = |column: &&CatalogColumn| mark.columns.may_be_there(column.attribute);
    let (known, new): (Vec<_>, Vec<_>) = table.columns.iter().partition(is_known);
    let names = |columns: &mut dyn Iterator<Item = &CatalogColumn>| {
        columns.map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let is_changed = |column: &&CatalogColumn| {
        is_young(column) && column.default_by.is_none_or(|default_by| is_younger(default_by, horizon))
    };
    let changed = names(&mut known.into_iter().filter(is_changed));
    // What older rows hold in a new column is in the catalog, unless the rows were written anew since. Of a partitioned
    // table its own entries do not change with that.
    let is_unsaid = |column: &&CatalogColumn| {
        let is_changed = is_young(column) || table.kind == Kind::Partitioned;
        let is_streamed = !column.generated || published(column);
        is_streamed && !matches!(column.earlier, Earlier::Value(_)) && is_changed
    };
    let added = names(&mut new.into_iter().filter(is_unsaid));
    match (changed.is_empty(), added.is_empty()) {
        (true, true) => None,
        (false, true) => Some(format!("a change of columns {changed}")),
        (true, false) => Some(format!("a change, with the added columns {added}")),
        (false, false) => Some(format!("a change of columns {changed}, with the added columns {added}")),
    }
}

/// Whether a definition was made by a transaction that had not ended for certain at the horizon. Of a
/// transaction's number the catalog has 32 bits: one that is two thousand million transactions old looks young.
fn is_younger(defined_by: u32, horizon: u64) -> bool {
    // The lower 32 bits.
    defined_by.wrapping_sub(horizon as u32) < 1 << 31
}

/// Whether a transaction that has ended had not ended for certain at the horizon, where every one that has begun is before
/// `next`. One that is two thousand million transactions old does not mislead it.
pub(crate) fn is_between(number: u32, horizon: u64, next: u64) -> bool {
    u64::from(number.wrapping_sub(horizon as u32)) < next.saturating_sub(horizon)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::Attributes;
    use crate::catalog::{Kind, fixture};
    use crate::mark::Marks;

    const HORIZON: u64 = 7 << 32 | 1000;

    /// Columns by name, number, transaction, and what older rows hold in them.
    fn table(file: u32, columns: &[(&str, i32, u32, Earlier)]) -> CatalogTable {
        let columns = columns.iter().map(|(name, attribute, defined_by, earlier)| CatalogColumn {
            defined_by: *defined_by,
            earlier: earlier.clone(),
            ..fixture::column(*attribute, name)
        });
        CatalogTable { file, attributes_made: 0, ..fixture::table(columns) }
    }

    fn told(table: &CatalogTable, delivered: &[i32]) -> Option<String> {
        let mut marks = Marks::new(HORIZON);
        let delivered: Attributes = delivered.iter().copied().collect();
        marks.add(&table.name, 1, 50, delivered);
        cause(table, marks.get(&table.name).expect("it is marked"), HORIZON, |column| {
            column.name == "published"
        })
    }

    #[test]
    fn columns_that_were_changed_with_the_file_are_told() {
        let changed = table(51, &[("id", 1, 999, Earlier::Null), ("a", 2, 1000, Earlier::Null)]);
        assert_eq!(told(&changed, &[1, 2]).as_deref(), Some("a change of columns a"));
    }

    #[test]
    fn added_columns_are_told_where_the_catalog_does_not_say_what_older_rows_hold() {
        let columns = [
            ("id", 1, 999, Earlier::Null),
            ("u", 3, 1001, Earlier::Unknown),
            // A default that was taken away again, after the rows had it.
            ("n", 4, 1001, Earlier::Null),
            ("c", 5, 1001, Earlier::Value("x".to_owned())),
        ];
        let told_of = told(&table(51, &columns), &[1]);
        assert_eq!(told_of.as_deref(), Some("a change, with the added columns u, n"));
        // The default came after the column: the file is the same.
        assert_eq!(told(&table(50, &columns), &[1]), None);
        // Before the stream first described it, only what is young may be missing.
        assert!(told(&table(51, &[("u", 3, 1001, Earlier::Unknown)]), &[]).is_some());
    }

    #[test]
    fn added_generated_columns_are_told_where_they_are_published() {
        for (name, is_told) in [("published", true), ("left_out", false)] {
            let mut added = table(51, &[("id", 1, 999, Earlier::Null), (name, 2, 1001, Earlier::Unknown)]);
            added.columns[1].generated = true;
            assert_eq!(told(&added, &[1]).is_some(), is_told, "{name}");
        }
    }

    #[test]
    fn columns_of_a_partitioned_table_are_told_whenever_they_were_added() {
        let columns = [("id", 1, 999, Earlier::Null), ("u", 3, 999, Earlier::Unknown)];
        let partitioned = CatalogTable { kind: Kind::Partitioned, ..table(51, &columns) };
        assert!(told(&partitioned, &[1]).is_some());
        assert_eq!(told(&partitioned, &[1, 3]), None);
    }

    #[test]
    fn a_table_that_was_emptied_or_packed_is_none_of_it() {
        let columns = [("id", 1, 999, Earlier::Null), ("u", 3, 998, Earlier::Unknown)];
        assert_eq!(told(&table(51, &columns), &[1, 3]), None);
        assert_eq!(told(&table(51, &columns), &[]), None);
        let marked_by_nobody = table(51, &[("id", 1, 1001, Earlier::Null)]);
        let mut marks = Marks::new(0);
        marks.add(&marked_by_nobody.name, 1, 50, [1].into_iter().collect());
        let mark = marks.get(&marked_by_nobody.name).expect("it is marked");
        assert_eq!(cause(&marked_by_nobody, mark, 0, |_| false), None);
    }

    #[test]
    fn a_column_whose_default_is_an_old_one_was_not_converted() {
        let packed = |default_by| {
            let mut packed = table(51, &[("id", 1, 999, Earlier::Null), ("c", 2, 1001, Earlier::Unknown)]);
            packed.columns[1].default_by = default_by;
            packed
        };
        assert_eq!(told(&packed(Some(998)), &[1, 2]), None);
        for default_by in [Some(1001), None] {
            assert_eq!(told(&packed(default_by), &[1, 2]).as_deref(), Some("a change of columns c"));
        }
        // The stream has not told the destination of it.
        assert_eq!(told(&packed(Some(998)), &[1]).as_deref(), Some("a change, with the added columns c"));
    }

    #[test]
    fn numbers_are_compared_around_their_end() {
        // B163.
        assert!(is_younger(3, (1 << 32) - 5));
        assert!(!is_younger(u32::MAX - 8, (1 << 32) - 5));
        assert!(is_younger(u32::MAX - 4, (1 << 32) - 5));
        let (horizon, next) = ((1 << 32) - 5, (1 << 32) + 3);
        for number in [u32::MAX - 4, u32::MAX, 0, 2] {
            assert!(is_between(number, horizon, next), "{number}");
        }
        // The last one is very old, and looks young.
        for number in [u32::MAX - 5, 3, 1 << 30] {
            assert!(!is_between(number, horizon, next), "{number}");
        }
    }
}
