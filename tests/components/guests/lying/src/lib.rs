//! A script that lies about what it made of a batch, in the way that the name of its first target says.

use tarn_sdk::batch::{Batch, BatchWriter, DecodeError, Row};
use tarn_sdk::{Failure, Outcome, Rejection, Script, ScriptSettings};

struct Lying {
    lie: String,
}

impl Script for Lying {
    fn describe() -> String {
        r#"{"entryPoints":["apply"]}"#.to_owned()
    }

    fn open(settings: ScriptSettings) -> Result<Self, Failure> {
        // `lie_<what>_<number>`
        let target = settings.tables.first().map(|table| table.destination.clone()).unwrap_or_default();
        Ok(Self { lie: target.split('_').nth(1).unwrap_or_default().to_owned() })
    }

    fn apply(&mut self, batch: Vec<u8>) -> Result<Outcome, Failure> {
        let damaged = |error: DecodeError| Failure::permanent("batch_damaged", error.to_string());
        let given = Batch::parse(&batch).map_err(damaged)?;
        let rows: Vec<_> = given.rows().collect::<Result<_, _>>().map_err(damaged)?;
        let count = given.row_count();
        let all = |batch: Vec<u8>| Outcome { rows: count, batch, dropped: 0, rejected: Vec::new() };
        Ok(match self.lie.as_str() {
            "short" => all(batch[..batch.len() - 10].to_vec()),
            "garbage" => all((0..10_000_u32).flat_map(u32::to_le_bytes).collect()),
            "count" => Outcome { rows: count + 1, ..all(batch) },
            "places" => all(written(&given, rows.iter().map(|row| (row, row.version().ordinal + 1_000_000)))),
            "backwards" => all(written(&given, rows.iter().rev().map(|row| (row, row.version().ordinal)))),
            // Rows of tables that are not there.
            "tables" => {
                let mut batch = batch.clone();
                batch[16 + 6..16 + 8].copy_from_slice(&u16::MAX.to_le_bytes());
                all(batch)
            }
            "rejections" => rejecting(0..count),
            "strangers" => rejecting(count..count + 1_000),
            _ => all(batch),
        })
    }
}

fn written<'r, 'b: 'r>(given: &Batch<'_>, rows: impl Iterator<Item = (&'r Row<'b>, u64)>) -> Vec<u8> {
    let mut writer = BatchWriter::default();
    for table in given.tables() {
        writer.add_table(table);
    }
    for (row, ordinal) in rows {
        writer.append_row_at(row, row.table_index(), ordinal);
    }
    writer.finish()
}

fn rejecting(rows: std::ops::Range<u32>) -> Outcome {
    let rejected = rows.map(|row| Rejection {
        row,
        table: "no.such".to_owned(),
        key: "none".to_owned(),
        line: u32::MAX,
        message: "\u{1f}\u{1f}\u{1f}".repeat(100),
    });
    Outcome { rows: 0, batch: Vec::new(), dropped: u32::MAX, rejected: rejected.collect() }
}

tarn_sdk::export_script!(Lying);
