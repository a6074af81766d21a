//! A script that is written with the SDK: text that is not part of the key becomes upper case, and a row without
//! any is rejected. It is what a build for a plain wasm target leaves, a core module.

use tarn_sdk::batch::{Batch, BatchWriter, Cell, DecodeError, Row, Table, Type};
use tarn_sdk::{Failure, Outcome, Rejection, Script, ScriptSettings, log};

struct Shouting;

impl Script for Shouting {
    fn describe() -> String {
        r#"{"entryPoints":["apply"]}"#.to_owned()
    }

    fn open(_settings: ScriptSettings) -> Result<Self, Failure> {
        Ok(Self)
    }

    fn apply(&mut self, batch: Vec<u8>) -> Result<Outcome, Failure> {
        let damaged = |error: DecodeError| Failure::permanent("batch_damaged", error.to_string());
        let batch = Batch::parse(&batch).map_err(damaged)?;
        let mut writer = BatchWriter::default();
        let tables: Vec<_> = batch.tables().iter().map(|table| writer.add_table(table)).collect();
        let mut rejected = Vec::new();
        for (at, row) in (0..).zip(batch.rows()) {
            let row = row.map_err(damaged)?;
            let (table, index) = (batch.table(&row), tables[usize::from(row.table_index().0)]);
            if !row.op().has_after() || row.before().is_some() {
                writer.append_row(&row, index);
                continue;
            }
            log::info(&format!("a row of {}", table.qualified_name()));
            writer.begin_row(index, &row.header());
            if shout(&row, table, &mut writer).map_err(damaged)? == 0 {
                writer.cancel_row();
                let message = "there is nothing to shout".to_owned();
                let table = table.qualified_name();
                rejected.push(Rejection { row: at, table, key: String::new(), line: 0, message });
            } else {
                writer.end_row();
            }
        }
        Ok(Outcome { rows: writer.rows(), batch: writer.finish(), dropped: 0, rejected })
    }
}

/// Writes the cells of a row, and returns how many of them were shouted.
fn shout(row: &Row<'_>, table: &Table, writer: &mut BatchWriter) -> Result<usize, DecodeError> {
    let mut shouted = 0;
    for (cell, column) in row.after().zip(&table.columns) {
        match cell? {
            Cell::Value(value) if column.data_type == Type::Text && column.key == 0 => {
                let text = std::str::from_utf8(value).map_err(|_| DecodeError::NotUtf8("text value"))?;
                writer.value(text.to_uppercase().as_bytes());
                shouted += 1;
            }
            cell => writer.cell(cell),
        }
    }
    Ok(shouted)
}

tarn_sdk::export_script!(Shouting);
