//! A record through Lua as servers in Rust usually do it: native Lua by `mlua`, every cell of a row put into a
//! Lua table before the script runs, every cell taken out of it afterwards.
//!
//! The script is the only argument and a batch comes by standard input. Prints microseconds a record.

use std::error::Error;
use std::io::{Read as _, stdin};
use std::time::{Duration, Instant};

use mlua::{Function, Lua, Table, Value};
use tarn_batch::{Batch, BatchWriter, Cell, Row, TableIndex, Type};

/// How long the script is measured.
const MEASURED: Duration = Duration::from_secs(1);

#[expect(clippy::print_stdout, reason = "the figure is what the program is for")]
fn main() -> Result<(), Box<dyn Error>> {
    let source = std::env::args().nth(1).ok_or("the script is missing")?;
    let mut bytes = Vec::new();
    stdin().read_to_end(&mut bytes)?;
    let lua = Lua::new();
    provide_json(&lua)?;
    lua.load(source).exec()?;
    let on_record: Function = lua.globals().get("onRecord")?;
    let begun = Instant::now();
    let mut records = 0;
    while begun.elapsed() < MEASURED {
        records += apply(&lua, &on_record, &bytes)?;
    }
    println!("{}", begun.elapsed().as_secs_f64() * 1e6 / f64::from(records));
    Ok(())
}

/// `require "json"` with `encode`, by serde.
fn provide_json(lua: &Lua) -> mlua::Result<()> {
    let json = lua.create_table()?;
    let encode =
        lua.create_function(|_, value: Value| serde_json::to_string(&value).map_err(mlua::Error::external))?;
    json.set("encode", encode)?;
    lua.register_module("json", json)
}

/// One batch into another; returns how many records there were.
fn apply(lua: &Lua, on_record: &Function, bytes: &[u8]) -> Result<u32, Box<dyn Error>> {
    let batch = Batch::parse(bytes)?;
    let mut writer = BatchWriter::with_capacity(bytes.len());
    let indices: Vec<TableIndex> = batch.tables().iter().map(|table| writer.add_table(table)).collect();
    for row in batch.rows() {
        let row = row?;
        let table = batch.table(&row);
        let record = lua.create_table()?;
        record.set("kind", "insert")?;
        record.set("source", table.name.as_str())?;
        record.set("row", row_to_lua(lua, &row, table)?)?;
        let returned: Table = on_record.call(record)?;
        // Either the record or its row.
        let returned = returned.get::<Option<Table>>("row")?.unwrap_or(returned);
        writer.begin_row(indices[row.table_index().0 as usize], &row.header());
        for column in &table.columns {
            put(&mut writer, &returned.get(column.name.as_str())?)?;
        }
        writer.end_row();
    }
    std::hint::black_box(writer.finish());
    Ok(batch.row_count())
}

fn row_to_lua(lua: &Lua, row: &Row<'_>, table: &tarn_batch::Table) -> Result<Table, Box<dyn Error>> {
    let values = lua.create_table_with_capacity(0, table.columns.len())?;
    for (cell, column) in row.after().zip(&table.columns) {
        let value = match (cell?, &column.data_type) {
            (Cell::Value(bytes), Type::Int8) => Value::Integer(i64::from_le_bytes(bytes.try_into()?)),
            (Cell::Value(bytes), _) => Value::String(lua.create_string(bytes)?),
            (Cell::Null | Cell::Unchanged, _) => Value::Nil,
        };
        values.raw_set(column.name.as_str(), value)?;
    }
    Ok(values)
}

fn put(writer: &mut BatchWriter, value: &Value) -> Result<(), Box<dyn Error>> {
    match value {
        Value::Nil => writer.null(),
        Value::Integer(number) => writer.value(&number.to_le_bytes()),
        Value::String(text) => writer.value(&text.as_bytes()),
        other => return Err(format!("no form for a {}", other.type_name()).into()),
    }
    Ok(())
}
