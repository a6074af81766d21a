//! Any bytes are a batch or an error. A batch that verifies is copied row by row into the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarn_batch::text::write_text;
use tarn_batch::{Batch, BatchWriter, Cell};

fuzz_target!(|bytes: &[u8]| {
    let Ok(batch) = Batch::parse(bytes) else { return };
    let mut text = String::new();
    for row in batch.rows().flatten() {
        let columns = &batch.table(&row).columns;
        let images = [Some(row.after()), row.before().map(|(_, cells)| cells)];
        for (cell, column) in images.into_iter().flatten().flat_map(|cells| cells.zip(columns)) {
            if let Ok(Cell::Value(value)) = cell {
                text.clear();
                let _ = write_text(&column.data_type, value, &mut text);
            }
        }
    }
    if batch.verify().is_err() {
        return;
    }
    let mut writer = BatchWriter::default();
    let tables: Vec<_> = batch.tables().iter().map(|table| writer.add_table(table)).collect();
    for row in batch.rows() {
        let row = row.expect("a verified batch has whole rows");
        writer.append_row(&row, tables[usize::from(row.table_index().0)]);
    }
    assert_eq!(writer.finish(), bytes);
});
