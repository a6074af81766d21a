//! What earlier versions wrote is read for ever: checked-in batches, what they say, and how they are
//! written. A file here never changes; a new version of the format adds files.
#![expect(clippy::unwrap_used, reason = "a test says what broke by panicking")]

#[path = "fixture/dump.rs"]
mod dump;

use std::fs;
use std::path::{Path, PathBuf};

use tarn_batch::value::{
    ArrayWriter, DATE_INFINITY, DATE_NEGATIVE_INFINITY, Interval, TIMESTAMP_INFINITY,
    TIMESTAMP_NEGATIVE_INFINITY, TimeTz, write_interval, write_numeric, write_time_tz,
};
use tarn_batch::{
    Batch, BatchWriter, Before, Column, DecodeError, Headers, LogMessage, Op, Outgoing, RowHeader, Table,
    TableIndex, Type, Version, write_header,
};

fn column(name: &str, data_type: Type, type_name: &str, key: u16, attribute: i32) -> Column {
    Column { name: name.into(), data_type, type_name: type_name.into(), nullable: key == 0, key, attribute }
}

fn users(version: u32) -> Table {
    let mut columns = vec![
        column("id", Type::Int8, "bigint", 1, 1),
        column("name", Type::Text, "character varying(20)", 0, 2),
    ];
    if version > 1 {
        columns.push(column("größe", Type::Numeric { precision: 10, scale: 2 }, "numeric(10,2)", 0, 4));
    }
    Table { id: 16_385, schema: "public".into(), name: "users".into(), version, columns }
}

fn header(op: Op, ordinal: u64) -> RowHeader {
    let version = Version { commit: 0x16_B374_D848, ordinal };
    RowHeader { op, version, commit_time_us: 1_700_000_000_000_000, transaction: 731 }
}

/// The example of `wit/BATCH.md`.
fn worked_example() -> Vec<u8> {
    let mut writer = BatchWriter::default();
    let table = writer.add_table(users(1));
    writer.begin_row(table, &header(Op::Insert, 0));
    writer.value(&7_i64.to_le_bytes());
    writer.value("Zoë".as_bytes());
    writer.end_row();
    writer.begin_row(table, &header(Op::Delete, 1));
    writer.begin_before(Before::Key);
    writer.value(&7_i64.to_le_bytes());
    writer.unchanged();
    writer.end_row();
    writer.finish()
}

fn every_row_kind() -> Vec<u8> {
    let mut writer = BatchWriter::default();
    let old = writer.add_table(users(1));
    let new = writer.add_table(users(2));
    let bare = writer.add_table(Table {
        id: 16_390,
        schema: "Ünï \"q\"".into(),
        name: "no.columns".into(),
        version: 0,
        columns: Vec::new(),
    });
    let unknown = RowHeader {
        op: Op::Insert,
        version: Version { commit: u64::MAX, ordinal: u64::MAX },
        commit_time_us: RowHeader::TIME_UNKNOWN,
        transaction: 0,
    };
    writer.begin_row(old, &unknown);
    writer.value(&i64::MIN.to_le_bytes());
    writer.value(b"");
    writer.end_row();

    writer.begin_row(new, &header(Op::Update, 0));
    write_user(&mut writer, 2, None, Some("1.50"));
    writer.end_row();

    writer.begin_row(new, &header(Op::Update, 1));
    writer.value(&3_i64.to_le_bytes());
    writer.unchanged();
    writer.null();
    writer.begin_before(Before::Key);
    writer.value(&2_i64.to_le_bytes());
    writer.unchanged();
    writer.unchanged();
    writer.end_row();

    writer.begin_row(new, &header(Op::Update, 2));
    write_user(&mut writer, 3, Some("after"), Some("0.00"));
    writer.begin_before(Before::Full);
    write_user(&mut writer, 3, Some("before"), None);
    writer.end_row();

    writer.begin_row(new, &header(Op::Delete, 3));
    writer.begin_before(Before::Full);
    write_user(&mut writer, 3, Some("after"), Some("-12345678.90"));
    writer.end_row();

    writer.begin_row(bare, &header(Op::Insert, 4));
    writer.end_row();
    writer.begin_row(bare, &header(Op::Truncate, 5));
    writer.end_row();
    writer.finish()
}

fn write_user(writer: &mut BatchWriter, id: i64, name: Option<&str>, size: Option<&str>) {
    writer.value(&id.to_le_bytes());
    match name {
        Some(name) => writer.value(name.as_bytes()),
        None => writer.null(),
    }
    match size {
        Some(size) => writer.value_with(|out| write_numeric(out, size)).unwrap(),
        None => writer.null(),
    }
}

/// A type, its name, a usual value and an extreme one.
type Sample = (Type, &'static str, Vec<u8>, Vec<u8>);

fn samples() -> Vec<Sample> {
    let numeric = Type::Numeric { precision: 0, scale: 0 };
    vec![
        (Type::Bool, "boolean", vec![1], vec![0]),
        (Type::Int2, "smallint", 258_i16.to_le_bytes().into(), i16::MIN.to_le_bytes().into()),
        (Type::Int4, "integer", (-5_i32).to_le_bytes().into(), i32::MAX.to_le_bytes().into()),
        (Type::Int8, "bigint", 9_007_199_254_740_993_i64.to_le_bytes().into(), i64::MAX.to_le_bytes().into()),
        (Type::Float4, "real", 0.1_f32.to_le_bytes().into(), f32::NEG_INFINITY.to_le_bytes().into()),
        (Type::Float8, "double precision", 1e-7_f64.to_le_bytes().into(), f64::MAX.to_le_bytes().into()),
        (numeric.clone(), "numeric", b"67806780999999999997777.0012000".into(), b"NaN".into()),
        (Type::Numeric { precision: 3, scale: -2 }, "numeric(3,-2)", b"-12300".into(), b"-Infinity".into()),
        (Type::Text, "text", "a\\\"ß\u{1F41F}".into(), b"".into()),
        (Type::Bytes, "bytea", vec![0, 255, b'\\'], Vec::new()),
        (Type::Date, "date", 19_675_i32.to_le_bytes().into(), DATE_NEGATIVE_INFINITY.to_le_bytes().into()),
        (Type::Time, "time(6)", 1_i64.to_le_bytes().into(), 86_400_000_000_i64.to_le_bytes().into()),
        (Type::TimeTz, "timetz(6)", time_tz(43_200_000_000, 19_800), time_tz(86_400_000_000, -1)),
        (
            Type::Timestamp,
            "timestamp",
            (-62_169_984_000_000_000_i64).to_le_bytes().into(),
            TIMESTAMP_INFINITY.to_le_bytes().into(),
        ),
        (
            Type::TimestampTz,
            "timestamptz",
            1_700_000_000_123_456_i64.to_le_bytes().into(),
            TIMESTAMP_NEGATIVE_INFINITY.to_le_bytes().into(),
        ),
        (Type::Interval, "interval", interval(-13, 3, 456), interval(i32::MIN, i32::MIN, i64::MIN)),
        (Type::Uuid, "uuid", (0..16).collect(), vec![255; 16]),
        (Type::Json, "jsonb", br#"{"id": 9007199254740993}"#.into(), b"null".into()),
        (Type::Enum, "mood", "très bien".into(), b"null".into()),
        (Type::Other, "box", b"(3,4),(1,2)".into(), b"".into()),
        (
            Type::Int4.array(),
            "integer[]",
            array(&[3], &[Some(&1_i32.to_le_bytes()), None, Some(&3_i32.to_le_bytes())]),
            vec![0],
        ),
        (
            Type::Text.array(),
            "text[]",
            array(&[2, 1], &[None, Some(b"NULL")]),
            array(&[1, 2, 2], &[Some(b""), Some(b"a b"), Some(br#"{"\}"#), Some(b"x")]),
        ),
        (
            Type::Date.array(),
            "date[]",
            array(&[1], &[Some(&DATE_INFINITY.to_le_bytes())]),
            array(&[1], &[None]),
        ),
    ]
}

fn time_tz(micros: i64, offset: i32) -> Vec<u8> {
    let mut out = Vec::new();
    write_time_tz(&mut out, TimeTz { micros, offset });
    out
}

fn interval(months: i32, days: i32, micros: i64) -> Vec<u8> {
    let mut out = Vec::new();
    write_interval(&mut out, Interval { months, days, micros });
    out
}

fn array(dimensions: &[u32], elements: &[Option<&[u8]>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = ArrayWriter::new(&mut out, dimensions.len()).unwrap();
    for element in elements {
        match element {
            Some(value) => writer.value(value),
            None => writer.null(),
        }
    }
    writer.finish(dimensions).unwrap();
    out
}

fn every_type() -> Vec<u8> {
    let samples = samples();
    let columns = samples
        .iter()
        .enumerate()
        .map(|(at, (data_type, name, ..))| {
            column(&format!("c{at}"), data_type.clone(), name, 0, at as i32 + 1)
        })
        .collect();
    let mut writer = BatchWriter::default();
    let table =
        writer.add_table(Table { id: 1, schema: "public".into(), name: "types".into(), version: 0, columns });
    let rows: [fn(&Sample) -> &Vec<u8>; 2] = [|sample| &sample.2, |sample| &sample.3];
    for (ordinal, value) in rows.into_iter().enumerate() {
        writer.begin_row(table, &header(Op::Insert, ordinal as u64));
        samples.iter().for_each(|sample| writer.value(value(sample)));
        writer.end_row();
    }
    writer.finish()
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// Bytes from hexadecimal text; spaces, line ends and what follows a `#` are for people.
fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .lines()
        .flat_map(|line| line.split('#').next().unwrap_or_default().chars())
        .filter(|character| !character.is_whitespace())
        .map(|character| character.to_digit(16).unwrap() as u8)
        .collect();
    assert!(digits.len().is_multiple_of(2), "half a byte is left");
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn to_hex(bytes: &[u8]) -> String {
    let lines: Vec<String> = bytes
        .chunks(32)
        .map(|line| line.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "))
        .collect();
    lines.join("\n") + "\n"
}

/// The batch in a file must say what the text beside it says, and must be what the writer writes.
fn check(name: &str, written: &[u8]) {
    let stored = fs::read_to_string(path(&format!("{name}.hex"))).unwrap_or_default();
    let meaning = fs::read_to_string(path(&format!("{name}.txt"))).unwrap_or_default();
    let bytes = from_hex(&stored);
    assert_eq!(dump::dump(&bytes).unwrap_or_default(), meaning, "{name} is read differently");
    assert!(written == bytes, "{name} is written differently:\n{}", to_hex(written));
}

#[test]
fn the_worked_example_is_read_and_written_alike() {
    check("v1-worked-example", &worked_example());
}

#[test]
fn every_kind_of_row_is_read_and_written_alike() {
    check("v1-row-kinds", &every_row_kind());
}

#[test]
fn every_type_is_read_and_written_alike() {
    check("v1-types", &every_type());
}

#[test]
fn tables_without_rows_are_read_and_written_alike() {
    check("v1-schema", &BatchWriter::schema([users(1), users(2)]));
    check("v1-empty", &BatchWriter::default().finish());
}

#[test]
fn the_documented_example_is_the_worked_one() {
    let document =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit/BATCH.md")).unwrap();
    let (_, example) = document.split_once("```hex\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    assert_eq!(from_hex(example), worked_example());
}

#[test]
fn a_later_version_is_refused_by_its_number() {
    let mut bytes = worked_example();
    bytes[4] = 3;
    assert_eq!(dump::dump(&bytes), Err(DecodeError::UnknownVersion(3)));
    bytes[0] = b'X';
    assert_eq!(dump::dump(&bytes), Err(DecodeError::NotABatch));
}

#[test]
fn operations_of_no_version_or_a_later_one_are_refused_by_their_number() {
    for (version, op) in [(1, 0), (1, 5), (1, 6), (1, 7), (1, 255), (2, 0), (2, 8), (2, 255)] {
        let mut bytes = worked_example();
        bytes[4] = version;
        bytes[20] = op;
        assert_eq!(dump::dump(&bytes), Err(DecodeError::UnknownOp(op)));
    }
}

/// A message in the log, new columns, and messages to a queue: whole, and as bare as can be.
fn messages() -> Vec<u8> {
    let mut writer = BatchWriter::default();
    let nowhere = writer.add_table(Table {
        id: 0,
        schema: String::new(),
        name: String::new(),
        version: 0,
        columns: Vec::new(),
    });
    let users = writer.add_table(users(2));
    let message = LogMessage { prefix: "audit", content: b"\0\xff" };
    writer.log_message(nowhere, &header(Op::Message, 0), &message);
    writer.begin_row(users, &header(Op::Relation, 1));
    writer.end_row();
    let mut headers = Vec::new();
    write_header(&mut headers, "trace", Some(b"a1"));
    write_header(&mut headers, "größe", None);
    let whole = Outgoing {
        topic: Some("users"),
        key: Some(b"7"),
        value: Some("{\"name\":\"Zoë\"}".as_bytes()),
        partition: Some(-1),
        headers: Headers::new(&headers),
        record_key: Some("id=7"),
    };
    writer.outgoing(users, &header(Op::Outgoing, 2), &whole);
    writer.outgoing(users, &header(Op::Outgoing, 2), &Outgoing::default());
    writer.begin_row(users, &header(Op::Delete, 3));
    writer.begin_before(Before::Key);
    writer.value(&7_i64.to_le_bytes());
    writer.unchanged();
    writer.unchanged();
    writer.end_row();
    writer.finish()
}

#[test]
fn messages_are_read_and_written_alike() {
    check("v2-messages", &messages());
}

#[test]
fn a_batch_has_the_version_that_its_rows_need() {
    let bytes = messages();
    let batch = Batch::parse(&bytes).unwrap();
    let mut rows = BatchWriter::default();
    let mut all = BatchWriter::default();
    for table in batch.tables() {
        rows.add_table(table);
        all.add_table(table);
    }
    for row in batch.rows().map(Result::unwrap) {
        all.append_row(&row, row.table_index());
        if row.op() == Op::Delete {
            rows.append_row(&row, row.table_index());
        }
    }
    assert_eq!(all.finish(), bytes);
    assert_eq!(rows.finish()[4..6], [1, 0]);
}

#[test]
fn a_damaged_message_is_an_error() {
    let read = |bytes: &[u8]| {
        let batch = Batch::parse(bytes)?;
        for row in batch.rows() {
            let row = row?;
            row.log_message()?;
            if let Some(message) = row.outgoing()? {
                message.headers.into_iter().try_for_each(|header| header.map(drop))?;
            }
        }
        Ok::<_, DecodeError>(())
    };
    let bytes = messages();
    assert_eq!(read(&bytes), Ok(()));
    for at in 0..bytes.len() {
        for value in [0, 0xff, bytes[at] ^ 1] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            // Whatever it says, it ends.
            let _ = read(&damaged);
        }
    }
    let at = bytes.windows(5).position(|window| window == b"audit").unwrap();
    let mut damaged = bytes.clone();
    damaged[at] = 0xff;
    assert_eq!(read(&damaged), Err(DecodeError::NotUtf8("prefix of a log message")));
    damaged[at - 4..at].copy_from_slice(&0xffff_fffe_u32.to_le_bytes());
    assert_eq!(read(&damaged), Err(DecodeError::Invalid("unchanged cell of a message")));
    let at = bytes.windows(5).position(|window| window == b"trace").unwrap();
    let mut damaged = bytes;
    damaged[at - 4] = 200;
    assert_eq!(read(&damaged), Err(DecodeError::Truncated("header of a message")));
}

#[test]
fn a_row_of_a_table_that_is_not_there_is_refused() {
    let mut bytes = worked_example();
    bytes[22..24].copy_from_slice(&TableIndex(1).0.to_le_bytes());
    assert_eq!(dump::dump(&bytes), Err(DecodeError::Invalid("table index of a row")));
}

#[test]
fn every_cut_is_noticed() {
    let bytes = every_row_kind();
    for length in 0..bytes.len() {
        assert!(dump::dump(&bytes[..length]).is_err(), "cut after {length} bytes");
    }
    let mut longer = bytes;
    longer.push(0);
    assert_eq!(dump::dump(&longer), Err(DecodeError::Trailing("the table section")));
}
