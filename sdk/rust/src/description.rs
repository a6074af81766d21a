//! Tables as a source describes them to a destination.

use tarn_batch::{Batch, BatchWriter, Cell, Op, RowHeader, Table, Version};

use crate::Failure;

/// A table, and what rows hold in columns that were added to it after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The table.
    pub table: Table,
    /// Values of columns, at most one each. A column without one holds NULL in rows from before it, or what it
    /// holds in them is not known.
    pub fills: Vec<Fill>,
    /// Indices of columns that the source has delivered before, rising: rows from before hold values of their own in them.
    /// A destination without such a column has lost it.
    pub delivered: Vec<usize>,
}

/// What rows hold in a column that was added after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fill {
    /// The column's index in the table.
    pub column: usize,
    /// The value, in the form of the column's type.
    pub value: Vec<u8>,
}

impl From<Table> for Description {
    fn from(table: Table) -> Self {
        Self { table, fills: Vec::new(), delivered: Vec::new() }
    }
}

impl Description {
    /// The tables as a batch: a row for each of whose columns something is said, as wit/BATCH.md says under "Schemas".
    pub fn batch(descriptions: &[Self]) -> Vec<u8> {
        let header = RowHeader {
            op: Op::Insert,
            version: Version { commit: 0, ordinal: 0 },
            commit_time_us: RowHeader::TIME_UNKNOWN,
            transaction: 0,
        };
        let mut writer = BatchWriter::default();
        for description in descriptions {
            let table = writer.add_table(&description.table);
            let Self { fills, delivered, .. } = description;
            if fills.is_empty() && delivered.is_empty() {
                continue;
            }
            writer.begin_row(table, &header);
            for column in 0..description.table.columns.len() {
                match fills.iter().find(|fill| fill.column == column) {
                    Some(fill) => writer.value(&fill.value),
                    None if delivered.binary_search(&column).is_ok() => writer.null(),
                    None => writer.unchanged(),
                }
            }
            writer.end_row();
        }
        writer.finish()
    }

    /// The tables of such a batch.
    ///
    /// # Errors
    /// `batch_damaged`.
    pub fn of_batch(bytes: &[u8]) -> Result<Vec<Self>, Failure> {
        let batch = Batch::parse(bytes)?;
        let mut descriptions: Vec<Self> = batch.tables().iter().cloned().map(Self::from).collect();
        for row in batch.rows() {
            let row = row?;
            let Self { fills, delivered, .. } = &mut descriptions[usize::from(row.table_index().0)];
            for (column, cell) in row.after().enumerate() {
                match cell? {
                    Cell::Value(value) => fills.push(Fill { column, value: value.to_vec() }),
                    Cell::Null => delivered.push(column),
                    Cell::Unchanged => {}
                }
            }
        }
        Ok(descriptions)
    }
}

#[cfg(test)]
mod tests {
    use tarn_batch::{Column, Type};

    use super::*;

    fn table(name: &str) -> Table {
        let column = |name: &str, data_type| Column {
            name: name.to_owned(),
            data_type,
            type_name: String::new(),
            nullable: true,
            key: 0,
            attribute: 1,
        };
        let columns = vec![column("id", Type::Int8), column("a", Type::Text), column("b", Type::Text)];
        Table { id: 1, schema: "public".to_owned(), name: name.to_owned(), version: 1, columns }
    }

    #[test]
    fn tables_come_back_with_what_is_said_of_their_columns() {
        let fills = vec![Fill { column: 1, value: Vec::new() }, Fill { column: 2, value: b"x".to_vec() }];
        let delivered = |delivered| Description { delivered, ..table("v").into() };
        let described = vec![
            Description::from(table("t")),
            Description { fills, ..delivered(vec![0]) },
            delivered(vec![0, 2]),
            table("w").into(),
        ];
        let batch = Description::batch(&described);
        assert_eq!(Batch::parse(&batch).expect("a batch").row_count(), 2);
        assert_eq!(Description::of_batch(&batch), Ok(described));
        // What a plugin that knows of no fills writes.
        let plain = BatchWriter::schema([table("t")]);
        assert_eq!(Description::of_batch(&plain), Ok(vec![table("t").into()]));
        assert_eq!(Description::batch(&[table("t").into()]), plain);
    }
}
