//! Columns that rows have other values in, or at all, though nothing was written anew.
//!
//! A generated column that is none any more keeps its values, and the stream and the load had none of them. A decimal that
//! lost its bound has another type at the destination, where rows from before have no value in it. A type may take the bytes of
//! another one and write them otherwise. The catalog does not say what a column was; so it is remembered.

use crate::catalog::{CatalogColumn, CatalogTable};
use crate::mark::Mark;
use crate::mark::written_forms::WrittenForms;

/// What became of columns since the table was marked.
pub(crate) fn causes(table: &CatalogTable, mark: &Mark) -> Vec<String> {
    let is_stored =
        |column: &&CatalogColumn| mark.columns.was_left_out(column.attribute) && !column.generated;
    let is_freed = |column: &&CatalogColumn| mark.bounded.contains(column.attribute) && column.is_unbounded();
    let told = |columns: &mut dyn Iterator<Item = &CatalogColumn>, what: &str| {
        let names: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("columns of {} {what}: {}", table.name, names.join(", ")))
    };
    let stored = told(&mut table.columns.iter().filter(is_stored), "are generated no longer");
    let freed = told(&mut table.columns.iter().filter(is_freed), "hold decimals of any size now");
    let mut written = written_otherwise(table, mark).filter(|column| column.key == 0);
    let written = told(&mut written, "have types now that write the values they hold otherwise");
    stored.into_iter().chain(freed).chain(written).collect()
}

/// Columns whose types were changed to ones that take the bytes of the old ones and write them otherwise.
pub(crate) fn written_otherwise<'t>(
    table: &'t CatalogTable,
    mark: &Mark,
) -> impl Iterator<Item = &'t CatalogColumn> {
    let before: Option<&WrittenForms> = mark.written.as_ref().filter(|_| table.file == mark.file);
    let marked = &mark.columns;
    let is_wanted = move |column: &&CatalogColumn| {
        marked.may_be_there(column.attribute) && !marked.excluded.contains(column.attribute)
    };
    let differs = move |column: &&CatalogColumn| before.is_some_and(|before| before.differ(column));
    table.columns.iter().filter(is_wanted).filter(differs)
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

    fn marked(before: [CatalogColumn; 2], delivered: &[i32]) -> Mark {
        let table = fixture::table(before);
        let mut marks = Marks::new(1);
        marks.add(&table.name, 1, 50, delivered.iter().copied().collect());
        let mark = marks.get_mut(&table.name).expect("it is marked");
        mark.see(&table);
        mark.clone()
    }

    fn told(before: [CatalogColumn; 2], after: [CatalogColumn; 2], delivered: &[i32]) -> Vec<String> {
        causes(&fixture::table(after), &marked(before, delivered))
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
    fn a_type_that_writes_what_it_holds_otherwise_is_told_of_a_column_that_was_there() {
        const INT4: u32 = 43;
        const OID: u32 = 1799;
        const TEXT: u32 = 47;
        let id = || fixture::column(1, "id");
        let column = |written_by| CatalogColumn { written_by, ..fixture::column(2, "v") };
        for (before, after, is_told) in [
            (INT4, OID, true),
            (OID, INT4, true),
            (OID, 2217, true),
            (20_000, 20_001, true),
            (OID, OID, false),
            (TEXT, 1047, false),
        ] {
            let told = |delivered: &[i32]| told([id(), column(before)], [id(), column(after)], delivered);
            assert_eq!(told(&[1, 2]).len(), usize::from(is_told), "{before} to {after}");
            assert_eq!(told(&[]).len(), usize::from(is_told), "{before} to {after}, while it loads");
            assert_eq!(told(&[1]), [""; 0], "{before} to {after}");
        }
        // One that was added was not written before.
        let added = fixture::table([id(), column(INT4), CatalogColumn { attribute: 3, ..column(OID) }]);
        assert_eq!(causes(&added, &marked([id(), column(INT4)], &[])), [""; 0]);
        // Rows that were written anew are told as such, and keys are not read again.
        let mark = marked([id(), column(INT4)], &[1, 2]);
        let written_anew = CatalogTable { file: 51, ..fixture::table([id(), column(OID)]) };
        assert_eq!(causes(&written_anew, &mark), [""; 0]);
        let in_key = fixture::table([id(), CatalogColumn { key: 1, ..column(OID) }]);
        assert_eq!(causes(&in_key, &mark), [""; 0]);
        assert_eq!(written_otherwise(&in_key, &mark).count(), 1);
        let mut unknown = mark;
        unknown.written = None;
        assert_eq!(causes(&fixture::table([id(), column(OID)]), &unknown), [""; 0]);
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
