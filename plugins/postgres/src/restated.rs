//! Columns that rows have other values in, or at all, though nothing was written anew.
//!
//! A generated column that is none any more keeps its values, and the stream and the load had none of them. A decimal that
//! lost its bound has another type at the destination, where rows from before have no value in it. The catalog does not
//! say what a column was; so it is remembered.

use crate::catalog::{CatalogColumn, CatalogTable};
use crate::mark::Mark;

/// What became of columns since the table was marked.
pub(crate) fn causes(table: &CatalogTable, mark: &Mark) -> Vec<String> {
    let is_stored = |column: &&CatalogColumn| {
        let was_left_out =
            mark.generated.contains(column.attribute) && !mark.delivered.contains(column.attribute);
        was_left_out && !column.generated
    };
    let is_freed = |column: &&CatalogColumn| mark.bounded.contains(column.attribute) && column.is_unbounded();
    let told = |columns: &mut dyn Iterator<Item = &CatalogColumn>, what: &str| {
        let names: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("columns of {} {what}: {}", table.name, names.join(", ")))
    };
    let stored = told(&mut table.columns.iter().filter(is_stored), "are generated no longer");
    let freed = told(&mut table.columns.iter().filter(is_freed), "hold decimals of any size now");
    stored.into_iter().chain(freed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::fixture;
    use crate::mark::Marks;

    fn numeric(attribute: i32, digits: Option<i32>) -> CatalogColumn {
        let type_modifier = digits.map_or(-1, |digits| (digits << 16 | 2) + 4);
        CatalogColumn { type_oid: 1700, type_modifier, ..fixture::column(attribute, "n") }
    }

    fn told(before: [CatalogColumn; 2], after: [CatalogColumn; 2], delivered: &[i32]) -> Vec<String> {
        let table = fixture::table(before);
        let mut marks = Marks::new(1);
        marks.add(&table.name, 1, 50, delivered.iter().copied().collect());
        let mark = marks.get_mut(&table.name).expect("it is marked");
        mark.see(&table);
        causes(&fixture::table(after), mark)
    }

    #[test]
    fn a_column_that_is_generated_no_longer_is_told_where_it_was_left_out() {
        let id = || fixture::column(1, "id");
        let generated = || CatalogColumn { generated: true, ..fixture::column(2, "g") };
        let stored = || CatalogColumn { generated: false, ..generated() };
        assert_eq!(told([id(), generated()], [id(), stored()], &[1]).len(), 1);
        assert_eq!(told([id(), generated()], [id(), stored()], &[1, 2]), [""; 0]);
        assert_eq!(told([id(), generated()], [id(), generated()], &[1]), [""; 0]);
        assert_eq!(told([id(), stored()], [id(), stored()], &[1]), [""; 0]);
    }

    #[test]
    fn a_decimal_that_lost_its_bound_is_told() {
        let id = || fixture::column(1, "id");
        for (before, after, is_told) in [
            (Some(10), None, true),
            (Some(70), Some(80), true),
            (Some(10), Some(20), false),
            (None, None, false),
            (Some(80), None, false),
        ] {
            let causes = told([id(), numeric(2, before)], [id(), numeric(2, after)], &[1, 2]);
            assert_eq!(!causes.is_empty(), is_told, "{before:?} to {after:?}");
        }
    }
}
