//! The table `peerdb`: what scripts for this family of servers call.

use tarn_batch::{Cell, Column, Type};

use crate::lua::{Answer, Kind, Lua, Slot};
use crate::read::push_cell;
use crate::session::Session;
use crate::values::moment::{Moment, MomentKind};
use crate::values::{big_integer, decimal, interval, moment, uuid};
use crate::{record, row, shape};

/// Types of PostgreSQL that are kinds of their own although their values are text.
const TEXT_KINDS: [&str; 8] =
    ["hstore", "geography", "geometry", "point", "cidr", "inet", "macaddr", "qchar"];

/// Makes the table and sets the global.
pub fn register(lua: Lua) {
    lua.push_table(0, 0);
    lua.push_table(0, 1);
    lua.push_str("v");
    lua.set_field(-2, "__mode");
    lua.set_metatable(-2);
    lua.set_slot(Slot::Orders);

    lua.push_globals();
    lua.push_table(0, 16);
    lua.set_function(-1, "RowTable", row_table);
    lua.set_function(-1, "RowColumns", row_columns);
    lua.set_function(-1, "RowColumnKind", row_column_kind);
    lua.set_function(-1, "Now", moment::now);
    lua.set_function(-1, "Time", moment::create);
    lua.set_function(-1, "UUID", uuid::create);
    lua.set_function(-1, "Decimal", decimal::create);
    lua.set_function(-1, "Interval", interval::create);
    lua.set_function(-1, "type", type_name);
    lua.set_function(-1, "tostring", to_string);
    moment::push(lua, Moment::new(MomentKind::TimestampTz, 0));
    lua.set_field(-2, "unix_epoch");
    lua.set_field(-2, "peerdb");
    lua.pop(1);
}

/// `peerdb.RowTable(row)`: a table of the columns that are not null. Encoders write it in the columns'
/// order, what a script adds after them.
fn row_table(lua: Lua) -> Answer {
    let handle = row::check(lua, 1)?;
    let Session { bindings, current, .. } = lua.session();
    let columns = &bindings.get(current.binding()).table.columns;
    lua.push_table(0, columns.len());
    for (at, column) in columns.iter().enumerate() {
        let cell = current.cell(handle.which(), at);
        if matches!(cell, Ok(Cell::Null | Cell::Unchanged)) {
            continue;
        }
        lua.push_str(&column.name);
        if let Err(error) = cell.and_then(|cell| push_cell(lua, &column.data_type, cell)) {
            return Err(lua.fail(format_args!("column {}: {error}", column.name)));
        }
        lua.raw_set(-3);
    }
    push_order(lua);
    lua.set_metatable(-2);
    Ok(1)
}

/// Pushes the metatable that keeps the order of the current table's columns, the same one each time.
fn push_order(lua: Lua) {
    let Session { bindings, current, .. } = lua.session();
    let serial = bindings.get(current.binding()).serial;
    lua.get_slot(Slot::Orders);
    if lua.get_item(-1, serial) == Kind::Nil {
        lua.pop(1);
        push_names(lua);
        shape::push_order_of_columns(lua);
        lua.push_copy(-1);
        lua.set_item(-3, serial);
    }
    lua.remove(-2);
}

/// Pushes a list of the current table's columns.
fn push_names(lua: Lua) {
    let Session { bindings, current, .. } = lua.session();
    let columns = &bindings.get(current.binding()).table.columns;
    lua.push_table(columns.len(), 0);
    for (item, column) in (1..).zip(columns) {
        lua.push_str(&column.name);
        lua.set_item(-2, item);
    }
}

/// `peerdb.RowColumns(row)`: the names of the columns, in order.
fn row_columns(lua: Lua) -> Answer {
    row::check(lua, 1)?;
    push_names(lua);
    Ok(1)
}

/// `peerdb.RowColumnKind(row, name)`: what type a column is of.
fn row_column_kind(lua: Lua) -> Answer {
    row::check(lua, 1)?;
    let column = row::check_column(lua, 2)?;
    let Session { bindings, current, text, .. } = lua.session();
    text.clear();
    push_kind(text, &bindings.get(current.binding()).table.columns[column]);
    lua.push_str(text);
    Ok(1)
}

fn push_kind(out: &mut String, column: &Column) {
    let mut data_type = &column.data_type;
    while let Type::Array(element) = data_type {
        out.push_str("array_");
        data_type = element;
    }
    out.push_str(match data_type {
        Type::Bool => "bool",
        Type::Int2 => "int16",
        Type::Int4 => "int32",
        Type::Int8 => "int64",
        Type::Float4 => "float32",
        Type::Float8 => "float64",
        Type::Numeric { .. } => "numeric",
        Type::Text | Type::Other => text_kind(&column.type_name),
        Type::Array(_) => "string",
        Type::Bytes => "bytes",
        Type::Date => "date",
        Type::Time => "time",
        Type::TimeTz => "timetz",
        Type::Timestamp => "timestamp",
        Type::TimestampTz => "timestamptz",
        Type::Interval => "interval",
        Type::Uuid => "uuid",
        // Also of jsonb: scripts ask for documents by this one name.
        Type::Json => "json",
        Type::Enum => "enum",
    });
}

/// The kind of a type whose values are text, by its name without modifiers, brackets and schema.
fn text_kind(type_name: &str) -> &'static str {
    let bare = type_name.split(['(', '[']).next().unwrap_or_default().trim_end();
    let bare = bare.rsplit('.').next().unwrap_or_default();
    let bare = if bare == "\"char\"" { "qchar" } else { bare };
    TEXT_KINDS.into_iter().find(|kind| *kind == bare).unwrap_or("string")
}

/// `peerdb.type(value)`: the name of the type of one of these values; `nil` for Lua's own.
fn type_name(lua: Lua) -> Answer {
    let name = if decimal::text(lua, 1).is_some() {
        decimal::TYPE_NAME
    } else if big_integer::text(lua, 1).is_some() {
        big_integer::TYPE_NAME
    } else if moment::get(lua, 1).is_some() {
        moment::TYPE_NAME
    } else if uuid::get(lua, 1).is_some() {
        uuid::TYPE_NAME
    } else if interval::get(lua, 1).is_some() {
        interval::TYPE_NAME
    } else if row::handle(lua, 1).is_some() {
        "row"
    } else if record::handle(lua, 1).is_some() {
        "record"
    } else {
        lua.push_nil();
        return Ok(1);
    };
    lua.push_str(name);
    Ok(1)
}

/// `peerdb.tostring(value)`: the text of one of these values; `nil` for Lua's own.
fn to_string(lua: Lua) -> Answer {
    if lua.kind(1) == Kind::Userdata {
        lua.text_of(1);
    } else {
        lua.push_nil();
    }
    Ok(1)
}
