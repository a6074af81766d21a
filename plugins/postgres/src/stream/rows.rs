//! Rows of the stream into a batch.

use tarn_batch::{BatchWriter, Before, RowHeader};
use tarn_sdk::Failure;

use super::replicated::{Cell, Replicated};
use super::{Change, Outgoing};
use crate::pgoutput::{Datum, Old, Tuple};
use crate::stream::loading::Fetched;
use crate::unreadable::unreadable;
use crate::value::ValueError;

/// Writes a row, or says which column of which row cannot be written.
pub(super) fn write(
    out: &mut Outgoing,
    replicated: &mut Replicated,
    header: &RowHeader,
    change: &Change<'_>,
    fetched: &[Fetched],
) -> Result<(), Failure> {
    let table = replicated.index_in(out);
    out.writer.begin_row(table, header);
    let images = Images { replicated, writer: &mut out.writer };
    let written = images.write(change, fetched);
    match written {
        Ok(()) => out.writer.end_row(),
        Err(_) => out.writer.cancel_row(),
    }
    written
}

struct Images<'a> {
    replicated: &'a Replicated,
    writer: &'a mut BatchWriter,
}

impl Images<'_> {
    fn write(mut self, change: &Change<'_>, fetched: &[Fetched]) -> Result<(), Failure> {
        if let Some(new) = change.new {
            self.after(new, change.old, fetched)?;
        }
        match change.old {
            Old::None => Ok(()),
            Old::Key(old) => {
                self.writer.begin_before(Before::Key);
                self.before(old, Before::Key)
            }
            Old::Full(old) => {
                self.writer.begin_before(Before::Full);
                self.before(old, Before::Full)
            }
        }
    }

    fn after(&mut self, new: Tuple<'_>, old: Old<'_>, fetched: &[Fetched]) -> Result<(), Failure> {
        self.check(new)?;
        let mut column = 0;
        for (place, (datum, cell)) in new.data().zip(&self.replicated.cells).enumerate() {
            let datum = datum?;
            let Cell::Decoded { decoder, .. } = cell else { continue };
            let written = match datum {
                Datum::Text(text) => self.writer.value_with(|out| decoder.write(text, out)),
                Datum::Null => {
                    self.writer.null();
                    Ok(())
                }
                // B074, B079: the old row has the value where the server sent it.
                Datum::Unchanged => match (in_old(old, place)?, fetched_of(fetched, column)) {
                    (Some(text), _) | (None, Some(Some(text))) => {
                        self.writer.value_with(|out| decoder.write(text, out))
                    }
                    (None, Some(None)) => {
                        self.writer.null();
                        Ok(())
                    }
                    (None, None) => {
                        self.writer.unchanged();
                        Ok(())
                    }
                },
            };
            written.map_err(|error| self.unreadable(new, column, error))?;
            column += 1;
        }
        Ok(())
    }

    fn before(&mut self, old: Tuple<'_>, kind: Before) -> Result<(), Failure> {
        self.check(old)?;
        let mut column = 0;
        for (datum, cell) in old.data().zip(&self.replicated.cells) {
            let datum = datum?;
            let Cell::Decoded { decoder, in_key } = cell else { continue };
            if datum == Datum::Null && kind == Before::Key && *in_key {
                return Err(self.keyless());
            }
            let written = match datum {
                // B083: a value in a key is a part of it, whatever the flags said.
                Datum::Text(text) => self.writer.value_with(|out| decoder.write(text, out)),
                // B089: what is not in the key is not known to be NULL.
                Datum::Null if kind == Before::Full => {
                    self.writer.null();
                    Ok(())
                }
                Datum::Null | Datum::Unchanged => {
                    self.writer.unchanged();
                    Ok(())
                }
            };
            written.map_err(|error| self.unreadable(old, column, error))?;
            column += 1;
        }
        Ok(())
    }

    fn check(&self, tuple: Tuple<'_>) -> Result<(), Failure> {
        if tuple.len() == self.replicated.cells.len() {
            return Ok(());
        }
        let message = format!(
            "a row has {} columns, and its relation was described with {}",
            tuple.len(),
            self.replicated.cells.len()
        );
        Err(Failure::permanent("stream_unreadable", message)
            .with_table(self.replicated.table().qualified_name()))
    }

    /// The server logged the row by other columns than the table's key, as it does for a partition of another identity.
    fn keyless(&self) -> Failure {
        let message = "a change has the key of a row without a value: the replica identity of the table, or of the partition \
                       that the row was in, is another one than its key";
        Failure::permanent("partition_identity", message)
            .with_hint(
                "give each partition the replica identity of its table by ALTER TABLE … REPLICA IDENTITY (USING INDEX …, \
                 DEFAULT, or FULL), then resync the mirror",
            )
            .with_table(self.replicated.table().qualified_name())
    }

    fn unreadable(&self, tuple: Tuple<'_>, column: usize, error: ValueError) -> Failure {
        let decoded = |cell: &Cell| matches!(cell, Cell::Decoded { .. });
        let data = tuple.data().zip(&self.replicated.cells).filter(|(_, cell)| decoded(cell));
        let texts: Vec<Option<&[u8]>> = data
            .map(|(datum, _)| match datum {
                Ok(Datum::Text(text)) => Some(text),
                _ => None,
            })
            .collect();
        unreadable(&self.replicated.mapped, &texts, column, error)
    }
}

/// The text of a column in the old row, where that has it.
fn in_old(old: Old<'_>, place: usize) -> Result<Option<&[u8]>, Failure> {
    let (Old::Key(tuple) | Old::Full(tuple)) = old else { return Ok(None) };
    Ok(match tuple.data().nth(place).transpose()? {
        Some(Datum::Text(text)) => Some(text),
        _ => None,
    })
}

fn fetched_of(fetched: &[Fetched], column: usize) -> Option<Option<&[u8]>> {
    let found = fetched.iter().find(|fetched| fetched.column == column)?;
    Some(found.text.as_deref().map(str::as_bytes))
}

#[cfg(test)]
mod tests {
    use tarn_batch::{Batch, BatchWriter, Cell as Value, Column, Op, Table, Type, Version};
    use tarn_sdk::Limits;

    use super::*;
    use crate::mapped::Mapped;
    use crate::pgoutput::{Message, message};
    use crate::settings::MappedTable;
    use crate::table_name::TableName;
    use crate::value::Decoder;

    #[test]
    fn a_value_of_an_old_key_is_a_part_of_it_whatever_the_columns_are_said_to_be() {
        // B083: none of them is flagged as one of the key.
        let column = |name: &str, attribute| Column {
            name: name.to_owned(),
            data_type: Type::Text,
            type_name: "text".to_owned(),
            nullable: true,
            key: 0,
            attribute,
        };
        let columns = vec![column("id", 1), column("note", 2)];
        let (schema, name) = ("public".to_owned(), "t".to_owned());
        let table = Table { id: 7, schema, name, version: 1, columns };
        let mapped = Mapped { table, decoders: vec![Decoder::Text; 2], sent: None };
        let cell = || Cell::Decoded { decoder: Decoder::Text, in_key: false };
        let (name, exclude) = (TableName::new("public", "t"), Vec::new());
        let mapping = MappedTable { index: 0, name, exclude, loading: false, lacks_rows: false };
        let mut replicated = Replicated::new(7, mapped, vec![cell(), cell()], &mapping);
        let limits = Limits { rows_max: 9, bytes_max: 9, wait_ms: 0 };
        let (writer, schema) = (BatchWriter::with_capacity(64), Vec::new());
        let mut out = Outgoing { generation: 1, writer, schema, log: None, limits };
        let Ok(Message::Delete { old, .. }) = message(b"D\0\0\0\x07K\0\x02t\0\0\0\x02k1n") else {
            panic!("a delete")
        };
        let version = Version { commit: 1, ordinal: 0 };
        let header = RowHeader { op: Op::Delete, version, commit_time_us: 1, transaction: 1 };
        let change = Change { op: Op::Delete, new: None, old };
        write(&mut out, &mut replicated, &header, &change, &[]).expect("it is written");
        let bytes = out.writer.finish();
        let batch = Batch::parse(&bytes).expect("a batch");
        let row = batch.rows().next().expect("one row").expect("a row");
        let (kind, cells) = row.before().expect("an old row");
        let cells: Vec<_> = cells.collect::<Result<_, _>>().expect("cells");
        assert_eq!((kind, cells), (Before::Key, vec![Value::Value(&b"k1"[..]), Value::Unchanged]));
    }
}
