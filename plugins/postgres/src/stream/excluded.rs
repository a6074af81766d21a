//! Columns that are left out by their names, and change these.

use tarn_batch::Table;
use tarn_sdk::Failure;

use crate::catalog::CatalogTable;
use crate::mark::Mark;
use crate::settings::MappedTable;

/// Refuses columns that were not delivered before where one that is left out is not there any more, and they may be the same
/// one under another name: nobody asked for its values. Its number tells, where the position has it.
///
/// # Errors
/// `excluded_column_gone`.
pub(super) fn require_there(
    mapping: &MappedTable,
    catalog: &CatalogTable,
    mark: Option<&Mark>,
    table: &Table,
) -> Result<(), Failure> {
    let Some(mark) = mark.filter(|mark| !mapping.exclude.is_empty() && !mark.delivered.is_empty()) else {
        return Ok(());
    };
    let is_there = |name: &String| catalog.columns.iter().any(|column| column.name == *name);
    let gone: Vec<&str> = mapping.exclude.iter().filter(|name| !is_there(name)).map(String::as_str).collect();
    let may_be_excluded = |number: i32| {
        !mark.delivered.contains(number) && (mark.excluded.is_empty() || mark.excluded.contains(number))
    };
    let new = table.columns.iter().filter(|column| may_be_excluded(column.attribute));
    let new: Vec<&str> = new.map(|column| column.name.as_str()).collect();
    if gone.is_empty() || new.is_empty() {
        return Ok(());
    }
    let (gone, new, table) = (gone.join(", "), new.join(", "), mapping.name.to_string());
    let message = match mark.excluded.is_empty() {
        true => format!(
            "{gone}, which is left out, is not there any more, and {new} is new: it may be the same column"
        ),
        false => format!("{gone}, which is left out, is called {new} by now"),
    };
    Err(Failure::permanent("excluded_column_gone", message)
        .with_hint(format!(
            "leave {new} out as well, by `tarn mirror edit … --exclude {table}:{new}`; or have it delivered, by `tarn mirror edit … \
             --forget-excluded {table}:{gone}`",
            new = new.replace(", ", ","),
            gone = gone.replace(", ", ",")
        ))
        .with_table(mapping.name.to_string()))
}

#[cfg(test)]
mod tests {
    use tarn_batch::{Column, Type};

    use super::*;
    use crate::catalog::fixture;
    use crate::mark::Marks;
    use crate::table_name::TableName;

    /// Whether columns by name and number are taken where `secret` is left out, which had one of these numbers, and 1 and 3 were
    /// delivered.
    fn takes(excluded: &[i32], columns: &[(&str, i32)]) -> bool {
        let mapping = MappedTable {
            index: 0,
            name: TableName::new("public", "t"),
            exclude: vec!["secret".to_owned()],
            loading: false,
            lacks_rows: false,
        };
        let catalog = fixture::table(columns.iter().map(|(name, number)| fixture::column(*number, name)));
        let replicated = columns.iter().filter(|(name, _)| *name != "secret").map(|(name, number)| Column {
            name: (*name).to_owned(),
            data_type: Type::Text,
            type_name: "text".to_owned(),
            nullable: true,
            key: 0,
            attribute: *number,
        });
        let (schema, name, columns) = ("public".to_owned(), "t".to_owned(), replicated.collect());
        let table = Table { id: 1, schema, name, version: 1, columns };
        let mut marks = Marks::new(1);
        marks.add(&mapping.name, 1, 1, [1, 3].into_iter().collect());
        let mark = marks.get_mut(&mapping.name).expect("it is marked");
        mark.exclude(excluded.iter().copied());
        require_there(&mapping, &catalog, Some(mark), &table).is_ok()
    }

    #[test]
    fn a_column_that_may_be_one_that_is_left_out_is_refused() {
        for excluded in [&[][..], &[2], &[2, 4]] {
            assert!(takes(excluded, &[("id", 1), ("secret", 2), ("a", 3)]));
            assert!(takes(excluded, &[("id", 1), ("secret", 2), ("a", 3), ("b", 4)]));
            assert!(takes(excluded, &[("id", 1), ("a", 3)]), "it was dropped");
            assert!(!takes(excluded, &[("id", 1), ("open", 2), ("a", 3)]));
            let says_nothing = !excluded.contains(&2);
            let is_other = !says_nothing && !excluded.contains(&4);
            assert_eq!(takes(excluded, &[("id", 1), ("a", 3), ("b", 4)]), is_other);
        }
    }
}
