//! What rows hold in columns that were added after them.
//!
//! A default that is the same for all rows is not written into those that are there: the server keeps it in its
//! catalog and shows it for them, and the stream has nothing of it.

use tarn_batch::Table;
use tarn_sdk::{Fill, log};

use crate::attributes::Attributes;
use crate::catalog::{CatalogTable, Earlier};
use crate::value::Decoder;

/// The values of a table's columns that the catalog has; not of these ones.
pub(crate) fn fills(
    table: &Table,
    decoders: &[Decoder],
    catalog: &CatalogTable,
    but: &Attributes,
) -> Vec<Fill> {
    let mut fills = Vec::new();
    for (index, (column, decoder)) in table.columns.iter().zip(decoders).enumerate() {
        let known = catalog.columns.iter().find(|known| known.attribute == column.attribute);
        let Some(Earlier::Value(text)) = known.map(|known| &known.earlier) else { continue };
        if but.contains(column.attribute) {
            continue;
        }
        let mut value = Vec::new();
        match decoder.write(text.as_bytes(), &mut value) {
            Ok(()) => fills.push(Fill { column: index, value }),
            Err(error) => log::warn(&format!(
                "column {:?} of {}: what rows from before it hold cannot be replicated ({error}); they show NULL",
                column.name,
                table.qualified_name()
            )),
        }
    }
    fills
}
