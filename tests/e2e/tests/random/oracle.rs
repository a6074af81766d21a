//! Whether both sides of a table are equal: every value of every row.
//!
//! Each side is asked for its values as texts that can be compared, by the type that the destination has:
//!
//! - numbers, booleans, texts and UUIDs as they are; a decimal with the digits of the destination's scale;
//! - floats by their bits (`0.1` is written otherwise by each), so that a NaN is a NaN and `-0` is not `0`;
//! - dates by their day and timestamps by their microsecond, counted from 1970 (each writes years before 1
//!   otherwise); bytes in hexadecimal;
//! - whatever the destination holds as text, which is documented (`plugins/clickhouse/src/column_type.rs`): as the
//!   text of the source under the session settings that the product reads with, of arrays without their bounds;
//! - texts of more than 200 bytes by length and MD5.
//!
//! Not compared: columns that left the source, which stay at the destination, and generated columns, which are
//! left out of it. A column that was added is there from the table's next row on, so that one is changed before.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tarn_e2e::Scene;
use tarn_harness::Row;

use super::program::Script;

/// Differing rows that a finding shows.
const SHOWN: usize = 5;

/// A column as both sides have it.
struct Compared {
    name: String,
    source: String,
    target: String,
    in_key: bool,
}

/// How a table differs; nothing where it does not.
pub fn difference(scene: &Scene, table: &str, script: Script) -> Result<(), String> {
    // What is left out is at the source only.
    let wanted = if script == Script::Skip { "WHERE note NOT LIKE '%3' OR note IS NULL" } else { "" };
    let empty = format!("SELECT count(*) FROM {table} {wanted}");
    if scene.postgres.try_query(&empty)? == [[Some("0".to_owned())]] {
        let count = scene.clickhouse.try_query(&format!("SELECT count() FROM {table} FINAL"))?;
        let is_empty = count == [[Some("0".to_owned())]];
        return if is_empty {
            Ok(())
        } else {
            Err(format!("{table} is empty, and the destination has {count:?}"))
        };
    }
    let columns = columns(scene, table, script)?;
    let settings =
        "SET datestyle = ISO; SET timezone = UTC; SET intervalstyle = postgres; SET bytea_output = hex;
         SET extra_float_digits = 3; SET lc_monetary = 'C';";
    let select = |side: &dyn Fn(&Compared) -> &String| {
        columns.iter().map(side).cloned().collect::<Vec<_>>().join(", ")
    };
    let source_sql = format!("{settings} SELECT {} FROM {table} {wanted}", select(&|column| &column.source));
    let target_sql = format!("SELECT {} FROM {table} FINAL", select(&|column| &column.target));
    let mut source = by_key(&columns, scene.postgres.try_query(&source_sql)?)?;
    let target = by_key(&columns, scene.clickhouse.try_query(&target_sql)?)?;
    let (source_rows, target_rows) = (source.len(), target.len());
    let (mut found, mut count) = (String::new(), 0_usize);
    let mut tell = |line: String| {
        count += 1;
        if count <= SHOWN {
            writeln!(found, "  {line}").expect("a text takes more");
        }
    };
    for (key, at_target) in &target {
        match source.remove(key) {
            None => tell(format!("only at the destination: {}", shown(&columns, at_target))),
            Some(at_source) if at_source == *at_target => {}
            Some(at_source) => {
                let differing = columns.iter().zip(at_source.iter().zip(at_target));
                let differing = differing.filter(|(_, (left, right))| left != right);
                let differing: Vec<_> = differing
                    .map(|(column, (left, right))| format!("{}: {left:?} against {right:?}", column.name))
                    .collect();
                tell(format!("{key:?} differs: {}", differing.join(", ")));
            }
        }
    }
    for row in source.values() {
        tell(format!("only at the source: {}", shown(&columns, row)));
    }
    if count == 0 {
        return Ok(());
    }
    Err(format!("{table}: {count} of {source_rows} rows differ ({target_rows} at the destination)\n{found}"))
}

fn shown(columns: &[Compared], row: &Row) -> String {
    let values = columns
        .iter()
        .zip(row)
        .filter(|(column, _)| column.in_key || ["n", "note"].contains(&column.name.as_str()));
    values.map(|(column, value)| format!("{} = {value:?}", column.name)).collect::<Vec<_>>().join(", ")
}

fn by_key(columns: &[Compared], rows: Vec<Row>) -> Result<BTreeMap<Row, Row>, String> {
    let mut found = BTreeMap::new();
    for row in rows {
        if row.len() != columns.len() {
            return Err(format!("a row has {} columns instead of {}: {row:?}", row.len(), columns.len()));
        }
        let key: Row = columns
            .iter()
            .zip(&row)
            .filter(|(column, _)| column.in_key)
            .map(|(_, value)| value.clone())
            .collect();
        if let Some(other) = found.insert(key, row) {
            return Err(format!("two rows have the key of {}", shown(columns, &other)));
        }
    }
    Ok(found)
}

fn columns(scene: &Scene, table: &str, script: Script) -> Result<Vec<Compared>, String> {
    let of_source = scene.postgres.try_query(&format!(
        "SELECT a.attname, format_type(CASE WHEN t.typtype = 'd' THEN b.base ELSE a.atttypid END, NULL)
         FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
         LEFT JOIN LATERAL (WITH RECURSIVE d AS (
             SELECT t.oid AS base, t.typbasetype AS next UNION ALL
             SELECT u.oid, u.typbasetype FROM d JOIN pg_type u ON u.oid = d.next WHERE d.next <> 0)
           SELECT base FROM d WHERE next = 0) b ON true
         WHERE a.attrelid = '{table}'::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
         ORDER BY a.attnum"
    ))?;
    let of_target = scene.clickhouse.try_query(&format!(
        "SELECT name, type, is_in_sorting_key FROM system.columns
         WHERE database = currentDatabase() AND table = '{table}'"
    ))?;
    let text = |row: &Row, place: usize| row[place].clone().unwrap_or_default();
    let target: BTreeMap<_, _> =
        of_target.iter().map(|row| (text(row, 0), (text(row, 1), text(row, 2) == "1"))).collect();
    let mut columns = Vec::new();
    for row in &of_source {
        let (name, source_type) = (text(row, 0), text(row, 1));
        let Some((target_type, in_key)) = target.get(&name) else {
            return Err(format!("{table}: the destination has no column {name} ({source_type})"));
        };
        let quoted = format!("\"{name}\"");
        let mut source = at_source(&quoted, &source_type, plain(target_type));
        let at_target = at_target(&quoted, &source_type, plain(target_type));
        if name == "note" && script == Script::Mark {
            source = "'m:' || coalesce(n::text, 'nil')".to_owned();
        }
        columns.push(Compared { name, source, target: at_target, in_key: *in_key });
    }
    Ok(columns)
}

/// A type without what says that NULL is among its values, or that they are few.
fn plain(target_type: &str) -> &str {
    for wrapper in ["Nullable(", "LowCardinality("] {
        if let Some(inner) = target_type.strip_prefix(wrapper).and_then(|rest| rest.strip_suffix(')')) {
            return plain(inner);
        }
    }
    target_type
}

fn element(target_type: &str) -> Option<&str> {
    target_type.strip_prefix("Array(").and_then(|rest| rest.strip_suffix(')')).map(plain)
}

/// The scale of `Decimal(precision, scale)`.
fn scale(target_type: &str) -> Option<&str> {
    let rest = target_type.strip_prefix("Decimal(")?.strip_suffix(')')?;
    rest.split_once(", ").map(|(_, scale)| scale)
}

fn at_source(value: &str, source_type: &str, target_type: &str) -> String {
    if let Some(element) = element(target_type) {
        let of_one = at_source("x", source_type.trim_end_matches("[]"), element);
        return format!(
            "(SELECT coalesce(string_agg(coalesce('v' || ({of_one}), 'n'), '|' ORDER BY place), '')
              FROM unnest({value}) WITH ORDINALITY AS e (x, place))"
        );
    }
    if let Some(scale) = scale(target_type) {
        return format!("round({value}::numeric, {scale})::text");
    }
    match target_type {
        "Bool" => format!("{value}::text"),
        "Float32" => format!("('x' || encode(float4send({value}), 'hex'))::bit(32)::int::text"),
        "Float64" => format!("('x' || encode(float8send({value}), 'hex'))::bit(64)::bigint::text"),
        "Date32" => format!("({value} - date '1970-01-01')::text"),
        "DateTime64(6, 'UTC')" => format!("(extract(epoch FROM {value}) * 1000000)::bigint::text"),
        "String" if source_type == "bytea" => short_at_source(&format!("encode({value}, 'hex')")),
        "String" if source_type.ends_with("[]") => {
            short_at_source(&format!("regexp_replace({}, '^(\\[[-0-9:]+\\])+=', '')", sent(value)))
        }
        "String" => short_at_source(&sent(value)),
        _ => sent(value),
    }
}

/// A value's text as the server sends it. A cast to `text` is another: it takes blanks from a `char` and adds what
/// is left out of an `inet`.
fn sent(value: &str) -> String {
    format!("CASE WHEN {value} IS DISTINCT FROM NULL THEN format('%s', {value}) END")
}

fn at_target(value: &str, source_type: &str, target_type: &str) -> String {
    if let Some(element) = element(target_type) {
        let of_one = at_target("assumeNotNull(x)", source_type.trim_end_matches("[]"), element);
        return format!(
            "arrayStringConcat(arrayMap(x -> if(x IS NULL, 'n', concat('v', {of_one})), {value}), '|')"
        );
    }
    if let Some(scale) = scale(target_type) {
        return format!("toDecimalString({value}, {scale})");
    }
    match target_type {
        "Float32" => format!("toString(reinterpretAsInt32({value}))"),
        "Float64" => format!("toString(reinterpretAsInt64({value}))"),
        "Date32" => format!("toString(toInt32({value}))"),
        "DateTime64(6, 'UTC')" => format!("toString(toUnixTimestamp64Micro({value}))"),
        "String" if source_type == "bytea" => short_at_target(&format!("lower(hex({value}))")),
        "String" => short_at_target(value),
        _ => format!("toString({value})"),
    }
}

fn short_at_source(text: &str) -> String {
    format!(
        "CASE WHEN octet_length({text}) > 200 THEN octet_length({text}) || ':' || md5({text}) ELSE {text} END"
    )
}

fn short_at_target(text: &str) -> String {
    format!(
        "if(length({text}) > 200, concat(toString(length({text})), ':', lower(hex(MD5(assumeNotNull({text}))))), {text})"
    )
}
