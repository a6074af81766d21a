//! Keys of rows: as text for both stores, with names for people.

use std::collections::HashSet;

use tarn_batch::text::write_text;
use tarn_batch::{Batch, Cell, DecodeError, Row, Table};
use tarn_model::KeyValue;

/// The texts of a row's key, in the key's order.
pub(super) fn key_texts(table: &Table, row: &Row<'_>) -> Result<Vec<String>, DecodeError> {
    let text = |column: usize| {
        let mut text = String::new();
        match row.cell(column)? {
            Cell::Value(value) => write_text(&table.columns[column].data_type, value, &mut text)?,
            Cell::Null | Cell::Unchanged => return Err(DecodeError::Invalid("key of a row")),
        }
        Ok(text)
    };
    table.key_columns().into_iter().map(text).collect()
}

/// A key with the names of its columns.
pub(super) fn named(table: &Table, key: &[String]) -> Vec<KeyValue> {
    let columns = table.key_columns();
    let column = |at: usize| columns.get(at).map_or(String::new(), |at| table.columns[*at].name.clone());
    let named = key.iter().enumerate();
    named.map(|(at, value)| KeyValue { column: column(at), value: value.clone() }).collect()
}

/// Whether rows came out of a script under keys that went into it.
pub(super) fn kept(before: &Batch<'_>, after: &Batch<'_>) -> Result<bool, DecodeError> {
    let before: HashSet<Vec<&[u8]>> =
        before.rows().map(|row| cells(before, &row?)).collect::<Result<_, _>>()?;
    for row in after.rows() {
        if !before.contains(&cells(after, &row?)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The key's columns as the batch has them.
fn cells<'a>(batch: &Batch<'_>, row: &Row<'a>) -> Result<Vec<&'a [u8]>, DecodeError> {
    let columns = batch.table(row).key_columns().into_iter();
    columns.map(|column| row.cell(column)?.value().ok_or(DecodeError::Invalid("key of a row"))).collect()
}

#[cfg(test)]
mod tests {
    use tarn_batch::{BatchWriter, Column, Op, RowHeader, Type, Version};

    use super::*;

    fn table() -> Table {
        let column = |name: &str, data_type, key| Column {
            name: name.to_owned(),
            data_type,
            type_name: String::new(),
            nullable: false,
            key,
            attribute: 1,
        };
        let columns =
            vec![column("n", Type::Int4, 2), column("v", Type::Text, 0), column("t", Type::Text, 1)];
        Table { id: 1, schema: "public".to_owned(), name: "t".to_owned(), version: 1, columns }
    }

    fn batch(rows: &[(i32, &str, &str)]) -> Vec<u8> {
        let mut writer = BatchWriter::default();
        let index = writer.add_table(table());
        let version = Version { commit: 1, ordinal: 0 };
        let header = RowHeader { op: Op::Insert, version, commit_time_us: 0, transaction: 0 };
        for (n, v, t) in rows {
            writer.begin_row(index, &header);
            writer.value(&n.to_le_bytes());
            writer.value(v.as_bytes());
            writer.value(t.as_bytes());
            writer.end_row();
        }
        writer.finish()
    }

    #[test]
    fn a_key_is_told_in_its_own_order_with_its_names() {
        let bytes = batch(&[(7, "v", "x")]);
        let batch = Batch::parse(&bytes).expect("a batch");
        let row = batch.rows().next().expect("a row").expect("whole");
        let key = key_texts(&table(), &row).expect("a key");
        assert_eq!(key, ["x", "7"]);
        let named: Vec<_> =
            named(&table(), &key).into_iter().map(|KeyValue { column, value }| (column, value)).collect();
        assert_eq!(named, [("t".to_owned(), "x".to_owned()), ("n".to_owned(), "7".to_owned())]);
    }

    #[test]
    fn a_changed_key_is_noticed_and_other_changes_are_not() {
        let before = batch(&[(1, "v", "x"), (2, "v", "x")]);
        let kept = |after: &[(i32, &str, &str)]| {
            let after = batch(after);
            kept(&Batch::parse(&before).expect("a batch"), &Batch::parse(&after).expect("a batch"))
        };
        assert_eq!(kept(&[(2, "other", "x")]), Ok(true));
        assert_eq!(kept(&[]), Ok(true));
        assert_eq!(kept(&[(1, "v", "x"), (2, "v", "y")]), Ok(false));
    }
}
