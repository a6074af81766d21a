//! A value that cannot be replicated.

use tarn_sdk::Failure;

use crate::mapped::Mapped;
use crate::value::ValueError;

/// The failure of one record: it names table, column and key, and no other value of the row.
pub(crate) fn unreadable(
    mapped: &Mapped,
    texts: &[Option<&[u8]>],
    column: usize,
    error: ValueError,
) -> Failure {
    let table = &mapped.table;
    let key: Vec<String> = mapped
        .key()
        .into_iter()
        .map(|key| {
            let text = texts.get(key).copied().flatten().map(String::from_utf8_lossy);
            format!("{} = {}", table.columns[key].name, text.as_deref().unwrap_or("?"))
        })
        .collect();
    let described = table
        .columns
        .get(column)
        .map_or_else(String::new, |column| format!("column {:?} of type {}", column.name, column.type_name));
    Failure::record("value_unreadable", format!("{described}, row with {}: {error}", key.join(", ")))
        .with_hint("exclude the column, or correct the value at the source")
        .with_table(table.qualified_name())
}
