//! What is written is read back.
#![expect(clippy::unwrap_used, reason = "a test says what broke by panicking")]

use tarn_batch::{
    Batch, BatchWriter, Before, Cell, Column, DecodeError, Op, RowHeader, Table, TableIndex, Type, Version,
};

fn column(name: &str, data_type: Type, key: u16) -> Column {
    Column { name: name.into(), data_type, type_name: "text".into(), nullable: key == 0, key, attribute: 1 }
}

fn users() -> Table {
    let columns = vec![
        column("region", Type::Text, 2),
        column("id", Type::Int8, 1),
        column("price", Type::Numeric { precision: 10, scale: 2 }, 0),
        column("tags", Type::Text.array(), 0),
    ];
    Table { id: 16_384, schema: "public".into(), name: "Üsers \"x\"".into(), version: 3, columns }
}

fn header(op: Op, ordinal: u64) -> RowHeader {
    RowHeader {
        op,
        version: Version { commit: 0x0123_4567_89ab_cdef, ordinal },
        commit_time_us: -5,
        transaction: 77,
    }
}

fn cells<'a>(cells: impl Iterator<Item = Result<Cell<'a>, DecodeError>>) -> Vec<Cell<'a>> {
    cells.collect::<Result<_, _>>().unwrap()
}

fn write_all(writer: &mut BatchWriter, table: TableIndex) {
    writer.begin_row(table, &header(Op::Insert, 0));
    writer.value(b"eu");
    writer.value(&7_i64.to_le_bytes());
    writer.null();
    writer.value(&[0]);
    writer.end_row();

    writer.begin_row(table, &header(Op::Update, 1));
    writer.value(b"");
    writer.value(&8_i64.to_le_bytes());
    writer.value_with(|out| tarn_batch::value::write_numeric(out, "1.20")).unwrap();
    writer.unchanged();
    writer.begin_before(Before::Key);
    writer.value(b"eu");
    writer.value(&7_i64.to_le_bytes());
    writer.unchanged();
    writer.unchanged();
    writer.end_row();

    writer.begin_row(table, &header(Op::Delete, 2));
    writer.begin_before(Before::Full);
    for _ in 0..4 {
        writer.null();
    }
    writer.end_row();

    writer.begin_row(table, &header(Op::Truncate, 3));
    writer.end_row();
}

#[test]
fn every_kind_of_row_comes_back_as_written() {
    let mut writer = BatchWriter::with_capacity(64);
    let table = writer.add_table(users());
    assert!(writer.is_empty());
    write_all(&mut writer, table);
    assert_eq!(writer.rows(), 4);
    let size = writer.bytes();
    let bytes = writer.finish();
    assert_eq!(bytes.len(), size);

    let batch = Batch::parse(&bytes).unwrap();
    batch.verify().unwrap();
    assert_eq!(batch.tables(), [users()]);
    assert_eq!(batch.tables()[0].key_columns(), [1, 0]);
    let rows: Vec<_> = batch.rows().collect::<Result<_, _>>().unwrap();
    assert_eq!(
        rows.iter().map(|row| row.op()).collect::<Vec<_>>(),
        [Op::Insert, Op::Update, Op::Delete, Op::Truncate]
    );
    for (at, row) in rows.iter().enumerate() {
        assert_eq!(row.header(), header(row.op(), at as u64));
        assert_eq!(row.table_index(), table);
    }
    let seven = 7_i64.to_le_bytes();
    let eight = 8_i64.to_le_bytes();
    assert_eq!(
        cells(rows[0].after()),
        [Cell::Value(b"eu"), Cell::Value(&seven), Cell::Null, Cell::Value(&[0])]
    );
    assert!(rows[0].before().is_none());
    assert_eq!(
        cells(rows[1].after()),
        [Cell::Value(b""), Cell::Value(&eight), Cell::Value(b"1.20"), Cell::Unchanged]
    );
    let (kind, before) = rows[1].before().unwrap();
    assert_eq!(kind, Before::Key);
    assert_eq!(cells(before), [Cell::Value(b"eu"), Cell::Value(&seven), Cell::Unchanged, Cell::Unchanged]);
    assert_eq!(rows[2].after().count(), 0);
    let (kind, before) = rows[2].before().unwrap();
    assert_eq!((kind, cells(before)), (Before::Full, vec![Cell::Null; 4]));
    assert_eq!(rows[3].after().count(), 0);
    assert!(rows[3].before().is_none());
}

#[test]
fn a_row_taken_back_leaves_no_trace() {
    let mut writer = BatchWriter::default();
    let table = writer.add_table(users());
    writer.begin_row(table, &header(Op::Insert, 0));
    writer.value(b"eu");
    writer
        .value_with(|out| {
            out.extend_from_slice(b"half a value");
            Err(())
        })
        .unwrap_err();
    writer.cancel_row();
    assert_eq!(writer.finish(), BatchWriter::schema([users()]));
}

#[test]
fn rows_move_verbatim_to_another_batch() {
    let mut writer = BatchWriter::default();
    let table = writer.add_table(users());
    write_all(&mut writer, table);
    let bytes = writer.finish();
    let batch = Batch::parse(&bytes).unwrap();

    let mut copy = BatchWriter::default();
    copy.add_table(Table { name: "other".into(), columns: Vec::new(), ..users() });
    let table = copy.add_table(users());
    for row in batch.rows() {
        copy.append_row(&row.unwrap(), table);
    }
    let copied = copy.finish();
    let copied = Batch::parse(&copied).unwrap();
    copied.verify().unwrap();
    assert_eq!(copied.row_count(), 4);
    for (ours, theirs) in copied.rows().zip(batch.rows()) {
        let (ours, theirs) = (ours.unwrap(), theirs.unwrap());
        assert_eq!(ours.table_index(), table);
        assert_eq!(ours.header(), theirs.header());
        assert_eq!(cells(ours.after()), cells(theirs.after()));
    }
}

#[test]
fn versions_sort_as_their_numbers_do() {
    let early = Version { commit: 1, ordinal: u64::MAX };
    let late = Version { commit: 2, ordinal: 0 };
    assert!(early < late);
    assert!(early.to_u128() < late.to_u128());
    assert_eq!(late.to_u128(), 2 << 64);
}
