//! What scripts find beside the language: `tarn` and `console`.

use tarn_batch::text::write_text;
use tarn_batch::{Cell, Column, Type};
use tarn_script::added::declare;
use tarn_script::uuid;

use crate::assign;
use crate::console;
use crate::js::{Answer, Js, Kind, Throw, Value, View, argument};
use crate::mark;
use crate::record;
use crate::row::{self, Columns};
use crate::session::{Classes, Hooks, Phase, Session};
use crate::values::{decimal, interval, time};
use crate::{json, msgpack};

/// What is easier said in the language itself.
const PRELUDE: &str = include_str!("prelude.js");

/// Makes the classes and the global objects.
pub fn open(js: Js) -> Answer<()> {
    js.session().classes = Some(Classes {
        record: js.class_of_numbers(c"Record")?,
        row: js.class_of_exotics::<Columns>(c"Row")?,
        decimal: js.class_of_data(c"Decimal")?,
        time: js.class_of_data(c"Time")?,
        interval: js.class_of_data(c"Interval")?,
        mark: js.class_of_data(c"Mark")?,
    });
    js.session().hooks = Some(Hooks {
        to_json: js.atom("toJSON")?,
        to_msgpack: js.atom("toMsgpack")?,
        value: js.atom("value")?,
        big_int: js.global().get("BigInt")?,
        is_array: js.global().get("Array")?.get("isArray")?,
        boxes: boxes(js)?,
    });
    let classes = js.session().classes();
    let rows = js.object()?;
    let records = record::prototype(js)?;
    js.set_prototype(classes.row, rows.clone());
    js.set_prototype(classes.record, records.clone());
    let marks = mark::prototype(js)?;
    js.set_prototype(classes.mark, marks.clone());
    let tarn = js.object()?;
    tarn.hidden("Decimal", decimal::constructor(js)?)?;
    tarn.hidden("Time", time::constructor(js)?)?;
    tarn.hidden("Interval", interval::constructor(js)?)?;
    tarn.hidden("json", json::library(js)?)?;
    tarn.hidden("msgpack", msgpack::library(js)?)?;
    tarn.method("column", 3, declare_column)?;
    tarn.method("kind", 2, kind)?;
    tarn.method("text", 2, text)?;
    tarn.method("uuid", 0, |js, _, _| {
        let Session { bindings, current, .. } = js.session();
        let Some(bytes) = uuid::derive(current, bindings) else {
            return Err(Throw::of_type("there is no record to derive a UUID from while a script is loaded"));
        };
        let mut text = String::with_capacity(36);
        uuid::write_text(&bytes, &mut text);
        js.string(&text)
    })?;
    tarn.method("encodeText", 1, |js, _, given| {
        let value = argument(given, 0);
        if value.kind() != Kind::String {
            let given = assign::described(js, value);
            return Err(Throw::of_type(format_args!("tarn.encodeText takes a string, not {given}")));
        }
        let text = js.text(value)?;
        match text.as_str() {
            Some(text) => js.bytes(text.as_bytes()),
            None => Err(Throw::of_type("a string with half a pair of surrogates is no text")),
        }
    })?;
    tarn.method("decodeText", 1, |js, _, given| match js.bytes_of(argument(given, 0)) {
        Some(bytes) => js.utf8(bytes),
        None => {
            let given = assign::described(js, argument(given, 0));
            Err(Throw::of_type(format_args!("tarn.decodeText takes a Uint8Array, not {given}")))
        }
    })?;
    let global = js.global();
    global.hidden("tarn", tarn.clone())?;
    global.hidden("console", console::library(js)?)?;
    let now = js.function("now", 0, |js, _, _| Ok(js.number((time::now_us(js)? / 1_000) as f64)))?;
    let prelude = js.run("<tarn>", PRELUDE)?;
    js.call(*prelude, View::UNDEFINED, &[*global, *tarn, *rows, *records, *marks, *now])?;
    Ok(())
}

/// The classes of objects around one value (`new Number(5)`), with the method that says which.
fn boxes(js: Js) -> Answer<Vec<(u32, Value)>> {
    let object = js.global().get("Object")?;
    let values = [
        ("Boolean", js.boolean(true)),
        ("Number", js.integer(0)),
        ("String", js.string("")?),
        ("BigInt", js.big_int(0)?),
    ];
    let class = |(name, value): (&str, Value)| {
        let made = js.call(*object, View::UNDEFINED, &[*value])?;
        let method = js.global().get(name)?.get("prototype")?.get("valueOf")?;
        Ok((js.class_number(*made), method))
    };
    values.into_iter().map(class).collect()
}

/// `tarn.column(table, name, type)`.
fn declare_column(js: Js, _: View, given: &[View]) -> Answer {
    if js.session().phase == Phase::Running {
        return Err(Throw::of_type("tarn.column declares a column where a script begins, not in a function"));
    }
    let text = |at| {
        let value = argument(given, at);
        let text = if value.kind() == Kind::String { js.text(value)?.to_text() } else { String::new() };
        if text.is_empty() {
            return Err(Throw::of_type(
                "tarn.column takes the name of a table, that of the column, and its type, as text",
            ));
        }
        Ok(text)
    };
    let (table, name, type_name) = (text(0)?, text(1)?, text(2)?);
    declare(&mut js.session().added, table, name, type_name).map_err(Throw::of_type)?;
    Ok(js.undefined())
}

/// `tarn.kind(row, name)`: what type a column is of, as PostgreSQL names it.
fn kind(js: Js, _: View, given: &[View]) -> Answer {
    row::check(js, argument(given, 0))?;
    let column = row::check_column(js, argument(given, 1))?;
    let name = row::column_named(js, column, |column: &Column| column.type_name.clone());
    js.string(&name)
}

/// `tarn.text(row, name)`: what a column holds, as text to the last digit; `null` for null, `undefined` for what
/// was not sent.
fn text(js: Js, _: View, given: &[View]) -> Answer {
    let which = row::check(js, argument(given, 0))?;
    let column = row::check_column(js, argument(given, 1))?;
    if !js.session().live.is_empty() {
        row::assign_changed(js)?;
    }
    let Session { bindings, current, .. } = js.session();
    let Column { data_type, name, .. } = &bindings.get(current.binding()).table.columns[column];
    let damaged = |error| Throw::of_type(format_args!("column {name}: {error}"));
    match current.cell(which, column).map_err(damaged)? {
        Cell::Null => Ok(js.null()),
        Cell::Unchanged => Ok(js.undefined()),
        Cell::Value(bytes) if *data_type == Type::Json => js.utf8(bytes),
        Cell::Value(bytes) => {
            let mut text = String::new();
            write_text(data_type, bytes, &mut text).map_err(damaged)?;
            js.string(&text)
        }
    }
}
