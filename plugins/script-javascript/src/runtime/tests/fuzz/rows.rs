//! Random rows of a table with a column of every type.

use tarn_batch::value::{ArrayWriter, Interval, TimeTz, write_interval, write_time_tz};
use tarn_batch::{BatchWriter, Before, Op, RowHeader, Table, TableIndex, Type, Version};

use super::super::{column, table};
use super::random::Random;

/// The types of the columns `c0`, `c1`, …; the first is the key.
pub fn types() -> Vec<Type> {
    let numeric = |precision, scale| Type::Numeric { precision, scale };
    vec![
        Type::Int8,
        Type::Bool,
        Type::Int2,
        Type::Int4,
        Type::Int8,
        Type::Float4,
        Type::Float8,
        numeric(0, 0),
        numeric(12, 2),
        Type::Text,
        Type::Bytes,
        Type::Date,
        Type::Time,
        Type::TimeTz,
        Type::Timestamp,
        Type::TimestampTz,
        Type::Interval,
        Type::Uuid,
        Type::Json,
        Type::Enum,
        Type::Int4.array(),
        Type::Text.array(),
    ]
}

fn columns() -> Table {
    let columns = types()
        .into_iter()
        .enumerate()
        .map(|(at, data_type)| column(&format!("c{at}"), data_type, "its type", u16::from(at == 0)));
    table(columns.collect())
}

/// A few rows of every kind.
pub fn batch(random: &mut Random) -> Vec<u8> {
    let table = columns();
    let mut writer = BatchWriter::with_capacity(0);
    let index = writer.add_table(&table);
    for ordinal in 0..=random.below(4) {
        let version = Version { commit: random.number() >> 1, ordinal };
        let header = RowHeader {
            op: *random.one(&[Op::Insert, Op::Insert, Op::Update, Op::Delete]),
            version,
            commit_time_us: random.number().cast_signed() >> 12,
            transaction: random.number(),
        };
        write_row(&mut writer, index, &header, &table, random);
    }
    writer.finish()
}

fn write_row(
    writer: &mut BatchWriter,
    index: TableIndex,
    header: &RowHeader,
    table: &Table,
    random: &mut Random,
) {
    writer.begin_row(index, header);
    if header.op.has_after() {
        write_image(writer, table, header.op == Op::Update, random);
    }
    if header.op == Op::Delete || header.op == Op::Update && random.chance(2) {
        writer.begin_before(Before::Full);
        write_image(writer, table, false, random);
    }
    writer.end_row();
}

fn write_image(writer: &mut BatchWriter, table: &Table, may_be_unchanged: bool, random: &mut Random) {
    for column in &table.columns {
        if column.key == 0 && random.chance(6) {
            writer.null();
        } else if column.key == 0 && may_be_unchanged && random.chance(6) {
            writer.unchanged();
        } else {
            writer.value(&value(&column.data_type, random));
        }
    }
}

/// A number of any size, often a small or an extreme one.
fn integer(random: &mut Random) -> i64 {
    match random.below(4) {
        0 => random.below(10).cast_signed() - 5,
        1 => *random.one(&[i64::MIN, i64::MAX, 1 << 53, (1 << 53) + 1, -(1 << 53) - 1, 1 << 31]),
        _ => (random.number() >> random.below(64)).cast_signed(),
    }
}

fn digits(random: &mut Random, most: u64) -> String {
    let count = 1 + random.below(most);
    let digits: String = (0..count).map(|_| char::from(b'0' + random.below(10) as u8)).collect();
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() { "0".to_owned() } else { digits.to_owned() }
}

fn decimal(random: &mut Random, precision: u16) -> String {
    if precision == 0 && random.chance(8) {
        return (*random.one(&["NaN", "Infinity", "-Infinity"])).to_owned();
    }
    let whole = digits(random, if precision == 0 { 40 } else { 10 });
    let scale = if precision == 0 { random.below(20) } else { 2 };
    let fraction: String = (0..scale).map(|_| char::from(b'0' + random.below(10) as u8)).collect();
    let text = if scale == 0 { whole } else { format!("{whole}.{fraction}") };
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if random.chance(2) && !is_zero { format!("-{text}") } else { text }
}

fn text(random: &mut Random) -> String {
    let parts =
        ["", "a", "Zürich", "\"", "\\", "\n", "\u{1f600}", "\0", "5", "null", "é", "\u{2028}", "</b>"];
    (0..random.below(5)).map(|_| *random.one(&parts)).collect()
}

/// A random value in the form of a type.
fn value(data_type: &Type, random: &mut Random) -> Vec<u8> {
    match data_type {
        Type::Bool => vec![random.below(2) as u8],
        Type::Int2 => (integer(random) as i16).to_le_bytes().into(),
        Type::Int4 => (integer(random) as i32).to_le_bytes().into(),
        Type::Int8 => integer(random).to_le_bytes().into(),
        // PostgreSQL has one NaN; a processor may change the bits of others.
        Type::Float4 => {
            let value = f32::from_bits(random.number() as u32);
            if value.is_nan() { f32::NAN } else { value }.to_le_bytes().into()
        }
        Type::Float8 => {
            let value = f64::from_bits(random.number());
            if value.is_nan() { f64::NAN } else { value }.to_le_bytes().into()
        }
        Type::Numeric { precision, .. } => decimal(random, *precision).into_bytes(),
        Type::Text | Type::Enum | Type::Other => text(random).into_bytes(),
        Type::Bytes => (0..random.below(20)).map(|_| random.number() as u8).collect(),
        Type::Date => (random.number() as i32 % 1_000_000).to_le_bytes().into(),
        Type::Time => (random.below(86_400_000_001).cast_signed()).to_le_bytes().into(),
        Type::TimeTz => {
            let mut out = Vec::new();
            let offset = random.below(100_000) as i32 % 50_000;
            write_time_tz(&mut out, TimeTz { micros: random.below(86_400_000_001).cast_signed(), offset });
            out
        }
        Type::Timestamp | Type::TimestampTz => (random.number().cast_signed() >> 8).to_le_bytes().into(),
        Type::Interval => {
            let mut out = Vec::new();
            let (months, days) = (random.number() as i32 >> 8, random.number() as i32 >> 8);
            write_interval(&mut out, Interval { months, days, micros: random.number().cast_signed() >> 8 });
            out
        }
        Type::Uuid => (0..16).map(|_| random.number() as u8).collect(),
        Type::Json => document(random, 3).into_bytes(),
        Type::Array(element) => array(element, random),
    }
}

fn document(random: &mut Random, depth: u64) -> String {
    match random.below(if depth == 0 { 4 } else { 6 }) {
        0 => "null".to_owned(),
        1 => integer(random).to_string(),
        2 => format!("-{}.{}e{}", digits(random, 20), random.below(1_000), random.below(40)),
        3 => serde_json::Value::String(text(random)).to_string(),
        4 => {
            let items: Vec<_> = (0..random.below(4)).map(|_| document(random, depth - 1)).collect();
            format!("[{}]", items.join(", "))
        }
        _ => {
            let fields: Vec<_> = (0..random.below(4))
                .map(|at| format!("\"k{at}\" : {}", document(random, depth - 1)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
    }
}

fn array(element: &Type, random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    let length = random.below(4) as u32;
    let dimensions: &[u32] = if length == 0 { &[] } else { &[length] };
    let mut writer = ArrayWriter::new(&mut out, dimensions.len()).expect("few dimensions");
    for _ in 0..length {
        if random.chance(4) {
            writer.null();
        } else {
            writer.value(&value(element, random));
        }
    }
    writer.finish(dimensions).expect("the shape is right");
    out
}
