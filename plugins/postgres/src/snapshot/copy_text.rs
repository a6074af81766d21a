//! Rows in the text form of COPY.
//!
//! A row is a line, columns are separated by tabs, `\N` is NULL, and a backslash stands before what
//! would be mistaken for one of these. Most cells have no backslash and are decoded where they are.

use tarn_batch::{BatchWriter, RowHeader, TableIndex};
use tarn_sdk::Failure;

use crate::mapped::Mapped;
use crate::unreadable::unreadable;
use crate::value::ValueError;

/// Writes the first line of `lines` as a row; how many bytes it took.
pub(crate) fn write_row(
    lines: &[u8],
    mapped: &Mapped,
    table: TableIndex,
    header: &RowHeader,
    writer: &mut BatchWriter,
    unescaped: &mut Vec<u8>,
) -> Result<usize, Failure> {
    writer.begin_row(table, header);
    let mut at = 0;
    for (column, decoder) in mapped.decoders.iter().enumerate() {
        let cell = cell(&lines[at..]);
        let last = column + 1 == mapped.decoders.len();
        if cell.end != Some(if last { b'\n' } else { b'\t' }) {
            writer.cancel_row();
            return Err(damaged(mapped));
        }
        let text = &lines[at..at + cell.bytes];
        let written = if text == b"\\N" {
            writer.null();
            Ok(())
        } else if cell.has_escapes {
            unescaped.clear();
            unescape(text, unescaped).and_then(|()| writer.value_with(|out| decoder.write(unescaped, out)))
        } else {
            writer.value_with(|out| decoder.write(text, out))
        };
        if let Err(error) = written {
            writer.cancel_row();
            return Err(unreadable(mapped, &texts(lines), column, error));
        }
        at += cell.bytes + 1;
    }
    writer.end_row();
    Ok(at)
}

/// A cell at the start of some bytes.
struct CellText {
    bytes: usize,
    has_escapes: bool,
    /// What ends it.
    end: Option<u8>,
}

#[inline]
fn cell(bytes: &[u8]) -> CellText {
    let mut has_escapes = false;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\t' | b'\n' => return CellText { bytes: at, has_escapes, end: Some(*byte) },
            // What follows a backslash never ends a cell.
            b'\\' => {
                has_escapes = true;
                at += 2;
            }
            _ => at += 1,
        }
    }
    CellText { bytes: bytes.len(), has_escapes, end: None }
}

fn unescape(text: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        if *byte != b'\\' {
            out.push(*byte);
            continue;
        }
        out.push(match bytes.next() {
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'v') => 11,
            Some(other) => *other,
            None => return Err(ValueError::Malformed("cell of COPY")),
        });
    }
    Ok(())
}

/// The texts of the first line, for a message.
fn texts(lines: &[u8]) -> Vec<Option<&[u8]>> {
    let mut texts = Vec::new();
    let mut at = 0;
    loop {
        let cell = cell(&lines[at..]);
        texts.push(Some(&lines[at..at + cell.bytes]));
        if cell.end != Some(b'\t') {
            return texts;
        }
        at += cell.bytes + 1;
    }
}

fn damaged(mapped: &Mapped) -> Failure {
    Failure::permanent("copy_unreadable", "a row of COPY has other columns than were asked for")
        .with_table(mapped.table.qualified_name())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tarn_batch::{Batch, Cell, Column, Op, Table, Type, Version};

    use super::*;
    use crate::value::Decoder;

    fn mapped(types: &[Type]) -> Mapped {
        let columns = types.iter().enumerate().map(|(index, data_type)| Column {
            name: format!("c{index}"),
            data_type: data_type.clone(),
            type_name: "some type".to_owned(),
            nullable: true,
            key: u16::from(index == 0),
            attribute: 1,
        });
        let table = Table {
            id: 7,
            schema: "public".to_owned(),
            name: "t".to_owned(),
            version: 1,
            columns: columns.collect(),
        };
        Mapped { table, decoders: types.iter().map(Decoder::scalar).collect(), sent: None }
    }

    fn read(lines: &str, types: &[Type]) -> Result<Vec<Vec<Option<Vec<u8>>>>, Failure> {
        let mapped = mapped(types);
        let mut writer = BatchWriter::default();
        let table = writer.add_table(&mapped.table);
        let header = RowHeader {
            op: Op::Insert,
            version: Version { commit: 1, ordinal: 0 },
            commit_time_us: i64::MIN,
            transaction: 0,
        };
        let mut rest = lines.as_bytes();
        let mut unescaped = Vec::new();
        while !rest.is_empty() {
            let taken = write_row(rest, &mapped, table, &header, &mut writer, &mut unescaped)?;
            rest = &rest[taken..];
        }
        let batch = writer.finish();
        let batch = Batch::parse(&batch).expect("a batch");
        let rows = batch.rows().map(|row| {
            let row = row.expect("a row");
            row.after()
                .map(|cell| match cell.expect("a cell") {
                    Cell::Value(value) => Some(value.to_vec()),
                    _ => None,
                })
                .collect()
        });
        Ok(rows.collect())
    }

    fn some(text: &str) -> Option<Vec<u8>> {
        Some(text.as_bytes().to_vec())
    }

    #[test]
    fn null_empty_and_the_text_backslash_n_are_three_things() {
        // B043.
        let rows = read("\\N\t\t\\\\N\nN\t\\\\\tx\n", &[Type::Text, Type::Text, Type::Text]).expect("rows");
        assert_eq!(rows, [[None, some(""), some("\\N")], [some("N"), some("\\"), some("x")]]);
    }

    #[test]
    fn escapes_stand_for_what_they_name() {
        let rows = read("a\\tb\\nc\\\\d\\re\\bf\\fg\\v\\\n", &[Type::Text]);
        assert!(rows.is_err(), "a backslash before the end of the line takes the end away");
        let rows = read("a\\tb\\nc\\\\d\\re\\bf\\fg\\v\t名前\n", &[Type::Text, Type::Text]).expect("rows");
        assert_eq!(rows, [[some("a\tb\nc\\d\re\u{8}f\u{c}g\u{b}"), some("名前")]]);
    }

    #[test]
    fn values_are_decoded_after_their_escapes() {
        let rows = read("\\\\x00ff\n", &[Type::Bytes]).expect("rows");
        assert_eq!(rows, [[Some(vec![0, 255])]]);
    }

    #[test]
    fn a_line_with_other_columns_is_an_error() {
        for lines in ["a\n", "a\tb\tc\n", "a\tb", ""] {
            let outcome = read(lines, &[Type::Text, Type::Text]);
            assert!(outcome.is_err() || lines.is_empty(), "{lines:?}");
        }
    }

    #[test]
    fn a_value_that_does_not_parse_names_its_column_and_row_and_not_itself() {
        let failure = read("7\tsecret\n", &[Type::Int4, Type::Int4]).expect_err("no number");
        assert_eq!(failure.code, "value_unreadable");
        assert_eq!(failure.table, "public.t");
        assert!(
            failure.message.contains("\"c1\"") && failure.message.contains("c0 = 7"),
            "{}",
            failure.message
        );
        assert!(!failure.message.contains("secret"));
    }

    /// A cell as the server writes it.
    fn written(cell: Option<&str>) -> String {
        cell.map_or("\\N".to_owned(), |text| {
            let escapes = [
                ('\\', "\\\\"),
                ('\u{8}', "\\b"),
                ('\u{c}', "\\f"),
                ('\n', "\\n"),
                ('\r', "\\r"),
                ('\t', "\\t"),
                ('\u{b}', "\\v"),
            ];
            escapes.iter().fold(text.to_owned(), |text, (character, escape)| text.replace(*character, escape))
        })
    }

    proptest! {
        #[test]
        fn rows_of_any_texts_come_back(
            rows in prop::collection::vec((prop::option::of("(?s).*"), prop::option::of("[\\\\\t\nN]*")), 0..5),
        ) {
            let line = |row: &(Option<String>, Option<String>)| {
                format!("{}\t{}\n", written(row.0.as_deref()), written(row.1.as_deref()))
            };
            let lines: String = rows.iter().map(line).collect();
            let bytes = |text: &Option<String>| text.as_ref().map(|text| text.as_bytes().to_vec());
            let expected: Vec<Vec<Option<Vec<u8>>>> =
                rows.iter().map(|row| vec![bytes(&row.0), bytes(&row.1)]).collect();
            prop_assert_eq!(read(&lines, &[Type::Text, Type::Text]).expect("rows"), expected);
        }
    }
}
