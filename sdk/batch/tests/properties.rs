//! What holds for every batch, value and damaged byte. A failing case is printed with its input.
#![expect(clippy::unwrap_used, reason = "a test says what broke by panicking")]

#[path = "fixture/dump.rs"]
mod dump;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use tarn_batch::calendar::{Civil, DAY_US, join_micros, split_micros};
use tarn_batch::text::write_text;
use tarn_batch::value::{ArrayReader, ArrayWriter, is_canonical_numeric, write_numeric};
use tarn_batch::{
    Batch, BatchWriter, Before, Cell, Cells, Column, Headers, Op, Outgoing, RowHeader, Table, TableIndex,
    Type, Version, write_header,
};

/// A cell as a test writes and expects it.
#[derive(Debug, Clone, PartialEq)]
enum Written {
    Null,
    Unchanged,
    Value(Vec<u8>),
}

#[derive(Debug, Clone)]
struct WrittenRow {
    table: usize,
    header: RowHeader,
    after: Vec<Written>,
    before: Option<(Before, Vec<Written>)>,
}

fn scalar() -> impl Strategy<Value = Type> {
    prop_oneof![
        Just(Type::Bool),
        Just(Type::Int2),
        Just(Type::Int4),
        Just(Type::Int8),
        Just(Type::Float4),
        Just(Type::Float8),
        (any::<u16>(), any::<i16>()).prop_map(|(precision, scale)| Type::Numeric { precision, scale }),
        Just(Type::Text),
        Just(Type::Bytes),
        Just(Type::Date),
        Just(Type::Time),
        Just(Type::TimeTz),
        Just(Type::Timestamp),
        Just(Type::TimestampTz),
        Just(Type::Interval),
        Just(Type::Uuid),
        Just(Type::Json),
        Just(Type::Enum),
        Just(Type::Other),
    ]
}

fn data_type() -> impl Strategy<Value = Type> {
    (scalar(), 0..=3_u8).prop_map(|(scalar, depth)| (0..depth).fold(scalar, |data_type, _| data_type.array()))
}

fn column() -> impl Strategy<Value = Column> {
    (any::<String>(), data_type(), any::<String>(), any::<bool>(), any::<u16>(), any::<i32>()).prop_map(
        |(name, data_type, type_name, nullable, key, attribute)| Column {
            name,
            data_type,
            type_name,
            nullable,
            key,
            attribute,
        },
    )
}

fn table() -> impl Strategy<Value = Table> {
    (any::<u32>(), any::<String>(), any::<String>(), any::<u32>(), vec(column(), 0..6))
        .prop_map(|(id, schema, name, version, columns)| Table { id, schema, name, version, columns })
}

fn cell() -> impl Strategy<Value = Written> {
    prop_oneof![
        Just(Written::Null),
        Just(Written::Unchanged),
        vec(any::<u8>(), 0..20).prop_map(Written::Value)
    ]
}

fn row(tables: Vec<Table>) -> impl Strategy<Value = WrittenRow> {
    let ops = prop_oneof![Just(Op::Insert), Just(Op::Update), Just(Op::Delete), Just(Op::Truncate)];
    let kinds = prop_oneof![Just(Before::Key), Just(Before::Full)];
    (0..tables.len(), ops, kinds, any::<bool>(), any::<[u64; 3]>(), any::<i64>()).prop_flat_map(
        move |(table, op, kind, with_before, [commit, ordinal, transaction], commit_time_us)| {
            let columns = tables[table].columns.len();
            let header = RowHeader { op, version: Version { commit, ordinal }, commit_time_us, transaction };
            let has_before = op == Op::Delete || (with_before && op != Op::Truncate);
            let after = vec(cell(), if op.has_after() { columns } else { 0 });
            (after, vec(cell(), columns)).prop_map(move |(after, before)| WrittenRow {
                table,
                header,
                after,
                before: has_before.then_some((kind, before)),
            })
        },
    )
}

fn batch() -> impl Strategy<Value = (Vec<Table>, Vec<WrittenRow>)> {
    vec(table(), 1..4).prop_flat_map(|tables| (Just(tables.clone()), vec(row(tables), 0..8)))
}

fn write(tables: &[Table], rows: &[WrittenRow]) -> Vec<u8> {
    let mut writer = BatchWriter::with_capacity(0);
    let indexes: Vec<TableIndex> = tables.iter().map(|table| writer.add_table(table)).collect();
    for row in rows {
        writer.begin_row(indexes[row.table], &row.header);
        write_cells(&mut writer, &row.after);
        if let Some((kind, cells)) = &row.before {
            writer.begin_before(*kind);
            write_cells(&mut writer, cells);
        }
        writer.end_row();
    }
    assert_eq!(writer.rows() as usize, rows.len());
    let size = writer.bytes();
    let bytes = writer.finish();
    assert_eq!(bytes.len(), size);
    bytes
}

fn write_cells(writer: &mut BatchWriter, cells: &[Written]) {
    for cell in cells {
        match cell {
            Written::Null => writer.null(),
            Written::Unchanged => writer.unchanged(),
            Written::Value(value) => writer.value(value),
        }
    }
}

fn read_cells(cells: Cells<'_>) -> Vec<Written> {
    cells
        .map(|cell| match cell.unwrap() {
            Cell::Null => Written::Null,
            Cell::Unchanged => Written::Unchanged,
            Cell::Value(value) => Written::Value(value.to_vec()),
        })
        .collect()
}

/// Looks at everything that can be looked at; errors are welcome, panics are not.
fn touch(bytes: &[u8]) {
    let _ = dump::dump(bytes);
    let Ok(batch) = Batch::parse(bytes) else { return };
    let _ = batch.verify();
    for row in batch.rows().flatten() {
        let columns = &batch.table(&row).columns;
        let images = [Some(row.after()), row.before().map(|(_, cells)| cells)];
        for (cell, column) in images.into_iter().flatten().flat_map(|cells| cells.zip(columns)) {
            if let Ok(Cell::Value(value)) = cell {
                let _ = write_text(&column.data_type, value, &mut String::new());
            }
        }
        let _ = row.cell(columns.len());
    }
}

/// Headers: names, and values or none.
type WrittenHeaders = Vec<(String, Option<Vec<u8>>)>;

proptest! {
    #[test]
    fn a_message_is_read_as_it_was_written(
        topic in option::of(any::<String>()),
        [key, value] in [option::of(vec(any::<u8>(), 0..20)), option::of(vec(any::<u8>(), 0..20))],
        partition in any::<Option<i32>>(),
        written in vec((any::<String>(), option::of(vec(any::<u8>(), 0..20))), 0..4),
        record_key in option::of(any::<String>()),
        damage in any::<(prop::sample::Index, u8)>(),
    ) {
        let mut headers = Vec::new();
        for (name, value) in &written {
            write_header(&mut headers, name, value.as_deref());
        }
        let message = Outgoing {
            topic: topic.as_deref(),
            key: key.as_deref(),
            value: value.as_deref(),
            partition,
            headers: Headers::new(&headers),
            record_key: record_key.as_deref(),
        };
        let header = RowHeader { op: Op::Outgoing, version: Version::default(), commit_time_us: 1, transaction: 2 };
        let mut writer = BatchWriter::default();
        let table = writer.add_table(Table {
            id: 1, schema: "public".into(), name: "t".into(), version: 1, columns: Vec::new(),
        });
        writer.outgoing(table, &header, &message);
        let mut bytes = writer.finish();
        {
            let batch = Batch::parse(&bytes).unwrap();
            batch.verify().unwrap();
            let row = batch.rows().next().unwrap().unwrap();
            prop_assert_eq!(row.header(), header);
            let read = row.outgoing().unwrap().unwrap();
            prop_assert_eq!(read, message);
            let read: WrittenHeaders =
                read.headers.map(Result::unwrap).map(|(name, value)| (name.into(), value.map(Into::into))).collect();
            prop_assert_eq!(read, written);
        }
        let at = damage.0.index(bytes.len());
        bytes[at] ^= damage.1;
        if let Ok(batch) = Batch::parse(&bytes) {
            for row in batch.rows().flatten() {
                if let Ok(Some(message)) = row.outgoing() {
                    let _ = message.headers.into_iter().count();
                }
            }
        }
    }

    #[test]
    fn a_batch_is_read_as_it_was_written((tables, rows) in batch()) {
        let bytes = write(&tables, &rows);
        let batch = Batch::parse(&bytes).unwrap();
        batch.verify().unwrap();
        prop_assert_eq!(batch.tables(), &tables[..]);
        prop_assert_eq!(batch.row_count() as usize, rows.len());
        prop_assert_eq!(batch.rows().count(), rows.len());
        for (read, written) in batch.rows().zip(&rows) {
            let read = read.unwrap();
            prop_assert_eq!(usize::from(read.table_index().0), written.table);
            prop_assert_eq!(read.header(), written.header);
            prop_assert_eq!(read_cells(read.after()), &written.after[..]);
            let before = read.before().map(|(kind, cells)| (kind, read_cells(cells)));
            prop_assert_eq!(&before, &written.before);
            for at in 0..written.after.len() {
                let skipped = read.after().nth(at).unwrap().unwrap();
                prop_assert_eq!(read.cell(at).unwrap(), skipped);
            }
        }
    }

    #[test]
    fn cells_copied_in_runs_make_the_same_row((tables, rows) in batch(), cut in any::<prop::sample::Index>()) {
        let bytes = write(&tables, &rows);
        let batch = Batch::parse(&bytes).unwrap();
        let mut copy = BatchWriter::default();
        for table in batch.tables() {
            copy.add_table(table);
        }
        for row in batch.rows() {
            let row = row.unwrap();
            let copy_image = |copy: &mut BatchWriter, mut cells: Cells<'_>, count: usize| {
                let first = cut.index(count + 1);
                for count in [first, count - first] {
                    copy.raw_cells(cells.take_raw(count).unwrap(), count);
                }
                assert!(cells.next().is_none());
            };
            copy.begin_row(row.table_index(), &row.header());
            copy_image(&mut copy, row.after(), if row.op().has_after() { row.columns() } else { 0 });
            if let Some((kind, cells)) = row.before() {
                copy.begin_before(kind);
                copy_image(&mut copy, cells, row.columns());
            }
            copy.end_row();
        }
        prop_assert_eq!(copy.finish(), bytes);
    }

    #[test]
    fn rows_copied_verbatim_make_the_same_batch((tables, rows) in batch()) {
        let bytes = write(&tables, &rows);
        let batch = Batch::parse(&bytes).unwrap();
        let mut copy = BatchWriter::default();
        let indexes: Vec<TableIndex> = batch.tables().iter().map(|table| copy.add_table(table)).collect();
        for row in batch.rows() {
            let row = row.unwrap();
            copy.append_row(&row, indexes[usize::from(row.table_index().0)]);
        }
        prop_assert_eq!(copy.finish(), bytes);
    }

    #[test]
    fn damaged_batches_are_read_without_a_panic(
        (tables, rows) in batch(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = write(&tables, &rows);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        touch(&bytes);
    }

    #[test]
    fn arbitrary_bytes_are_read_without_a_panic(noise in vec(any::<u8>(), 0..200)) {
        touch(&noise);
        let mut bytes = b"TRNB\x01\0\0\0".to_vec();
        bytes.extend(noise);
        touch(&bytes);
    }

    #[test]
    fn arbitrary_values_are_said_without_a_panic(data_type in data_type(), value in vec(any::<u8>(), 0..40)) {
        let _ = write_text(&data_type, &value, &mut String::new());
    }

    #[test]
    fn arrays_are_read_as_they_were_written(
        dimensions in vec(1_u32..4, 0..4),
        pool in vec(option::of(vec(any::<u8>(), 0..5)), 64),
    ) {
        let count = if dimensions.is_empty() { 0 } else { dimensions.iter().product::<u32>() as usize };
        let elements = &pool[..count];
        let mut value = vec![7];
        let mut writer = ArrayWriter::new(&mut value, dimensions.len()).unwrap();
        for element in elements {
            match element {
                Some(bytes) => writer.value_with(|out| { out.extend_from_slice(bytes); Ok::<_, ()>(()) }).unwrap(),
                None => writer.null(),
            }
        }
        writer.finish(&dimensions).unwrap();
        let array = ArrayReader::new(&value[1..]).unwrap();
        prop_assert_eq!(array.dimensions().collect::<Vec<_>>(), dimensions);
        prop_assert_eq!(array.len(), count);
        let read: Vec<Option<&[u8]>> = array.elements().collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(read, elements.iter().map(Option::as_deref).collect::<Vec<_>>());
    }

    #[test]
    fn numerics_are_written_once_and_for_all(text in r"[+-]?0{0,3}[0-9]{0,30}(\.[0-9]{0,10})?") {
        let mut once = Vec::new();
        if write_numeric(&mut once, &text).is_ok() {
            prop_assert!(is_canonical_numeric(&once));
            let mut twice = Vec::new();
            write_numeric(&mut twice, std::str::from_utf8(&once).unwrap()).unwrap();
            prop_assert_eq!(once, twice);
        }
    }

    #[test]
    fn arbitrary_text_is_a_numeric_or_refused(text in any::<String>()) {
        let mut out = Vec::new();
        prop_assert_eq!(write_numeric(&mut out, &text).is_ok(), is_canonical_numeric(&out));
    }

    #[test]
    fn every_microsecond_has_one_date_and_time(micros in any::<i64>()) {
        let (date, clock) = split_micros(micros);
        prop_assert_eq!(join_micros(date, clock), Some(micros));
        prop_assert_eq!(Civil::new(date.year, date.month, date.day), Some(date));
        prop_assert_eq!(date.to_days(), micros.div_euclid(DAY_US));
    }

    #[test]
    fn floats_read_back_as_they_were(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        let mut text = String::new();
        write_text(&Type::Float8, &value.to_le_bytes(), &mut text).unwrap();
        let back: f64 = text.parse().unwrap();
        prop_assert!(back.to_bits() == bits || (value.is_nan() && back.is_nan()));
        let value = f32::from_bits(bits as u32);
        let mut text = String::new();
        write_text(&Type::Float4, &value.to_le_bytes(), &mut text).unwrap();
        let back: f32 = text.parse().unwrap();
        prop_assert!(back.to_bits() == bits as u32 || (value.is_nan() && back.is_nan()));
    }
}
