//! Records as scripts see them: `r`.

use tarn_batch::{Cell, Op, Row, RowHeader};
use tarn_script::current::Which;
use tarn_script::moment::{Moment, MomentKind};
use tarn_script::transform::row_of;

use crate::js::{Answer, Js, Throw, Value, View};
use crate::row;
use crate::session::Session;
use crate::values::time;

/// A member of a record: its name, the name that scripts in Lua use where it differs, and what it is.
type Member = (&'static str, &'static str, fn(Js, Row<'static>) -> Answer);

const KIND: Member = ("kind", "kind", |js, record| js.string(record.op().name()));
const ROW: Member = ("row", "row", |js, record| row::object(js, row_of(record.op())));
const NEW: Member = ("new", "new", |js, _| row::object(js, Which::New));
const OLD: Member = ("old", "old", |js, _| row::object(js, Which::Old));
const SOURCE: Member = ("source", "source", |js, record| {
    let Session { bindings, current, .. } = js.session();
    name(js, record.op(), &bindings.get(current.binding()).source)
});
const TARGET: Member = ("target", "target", |js, record| {
    let Session { bindings, current, .. } = js.session();
    name(js, record.op(), &bindings.get(current.binding()).target)
});
const UNCHANGED: Member = ("unchangedColumns", "unchanged_columns", unchanged);
const COMMIT_TIME: Member =
    ("commitTime", "commit_time", |js, record| match record.header().commit_time_us {
        RowHeader::TIME_UNKNOWN => Ok(js.null()),
        micros => time::make(js, Moment::new(MomentKind::TimestampTz, micros)),
    });
const TRANSACTION: Member =
    ("transactionId", "transaction_id", |js, record| js.big_unsigned(record.header().transaction));
const CHECKPOINT: Member =
    ("checkpoint", "checkpoint", |js, record| js.big_unsigned(record.version().commit));
const PREFIX: Member = ("prefix", "prefix", |js, record| match record.log_message()? {
    Some(message) => js.string(message.prefix),
    None => Ok(js.null()),
});
const CONTENT: Member = ("content", "content", |js, record| match record.log_message()? {
    Some(message) => match std::str::from_utf8(message.content) {
        Ok(text) => js.string(text),
        Err(_) => js.bytes(message.content),
    },
    None => Ok(js.null()),
});

/// What scripts may ask a record for.
pub const MEMBERS: [Member; 12] =
    [KIND, ROW, NEW, OLD, SOURCE, TARGET, UNCHANGED, COMMIT_TIME, TRANSACTION, CHECKPOINT, PREFIX, CONTENT];

/// What of a record is encoded, in this order, where there is something: under the names that scripts in every
/// language have in common.
pub const ENCODED: [Member; 10] =
    [KIND, OLD, NEW, CHECKPOINT, COMMIT_TIME, TRANSACTION, SOURCE, UNCHANGED, PREFIX, CONTENT];

/// What a record inherits from.
pub fn prototype(js: Js) -> Answer {
    let prototype = js.object()?;
    macro_rules! members {
        ($($at:literal)*) => {$(
            let (name, other, _) = MEMBERS[$at];
            prototype.getter(name, |js, this| (MEMBERS[$at].2)(js, check(js, this)?))?;
            if other != name {
                prototype.getter(other, |js, this| (MEMBERS[$at].2)(js, check(js, this)?))?;
            }
        )*};
    }
    members!(0 1 2 3 4 5 6 7 8 9 10 11);
    Ok(prototype)
}

/// The number that a record's object holds.
fn number(generation: u64) -> usize {
    (generation as usize) << 1 | 1
}

/// The object of the current record.
#[inline]
pub fn object(js: Js, generation: u64) -> Answer {
    let session = js.session();
    if let Some(object) = &session.record
        // Nobody else holds it: the script cannot tell it from a new one.
        && object.references() == 1
    {
        object.set_number(number(generation));
        return Ok(object.clone());
    }
    let made = js.with_number(session.classes().record, number(generation))?;
    made.prevent_extensions()?;
    js.session().record = Some(made.clone());
    Ok(made)
}

/// Whether an object is a record.
pub fn is_record(js: Js, object: View) -> bool {
    js.number_in(object, js.session().classes().record).is_some()
}

/// Whether an object is the current record.
#[inline]
pub fn is_current(js: Js, object: View) -> bool {
    let Session { current, .. } = js.session();
    js.number_in(object, js.session().classes().record) == Some(number(current.generation()))
}

/// The record, which must be the current one.
#[inline]
pub fn check(js: Js, object: View) -> Answer<Row<'static>> {
    if !is_record(js, object) {
        return Err(Throw::of_type("a record is needed here"));
    }
    let current = &js.session().current;
    match current.row(current.generation()) {
        Some(row) if is_current(js, object) => Ok(*row),
        _ => Err(Throw::of_type("this record is an earlier one: keep what you need of it in variables")),
    }
}

/// A message in the log belongs to no table.
fn name(js: Js, op: Op, name: &str) -> Answer {
    js.string(if op == Op::Message { "" } else { name })
}

/// The names of the columns of an update that the source did not send and that were not assigned; `null` for
/// other records.
fn unchanged(js: Js, record: Row<'static>) -> Answer {
    if record.op() != Op::Update {
        return Ok(js.null());
    }
    let array: Value = js.array()?;
    let mut count = 0;
    let Session { bindings, current, .. } = js.session();
    for (at, column) in bindings.get(current.binding()).table.columns.iter().enumerate() {
        if current.cell(Which::New, at)? == Cell::Unchanged {
            array.item(count, js.string(&column.name)?)?;
            count += 1;
        }
    }
    Ok(array)
}
