//! Records as scripts see them: `r`.

use tarn_batch::{Cell, Op, Row, RowHeader};
use tarn_script::current::Which;
use tarn_script::transform::row_of;

use crate::lua::{Answer, Lua, Slot, Userdata};
use crate::members::{self, Members};
use crate::row;
use crate::session::Session;
use crate::values::big_integer;
use crate::values::moment::{self, Moment, MomentKind};

/// A record as Lua holds it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Handle {
    tag: u32,
    generation: u64,
}

// SAFETY: the tag is first, always this and no other type's.
#[expect(unsafe_code, reason = "a promise about the layout")]
unsafe impl Userdata for Handle {
    const TAG: u32 = 0x5245_4344;
}

impl Handle {
    /// Which record.
    pub fn generation(&self) -> u64 {
        self.generation
    }
}

/// What scripts may ask a record for.
pub const MEMBERS: &Members<Row<'static>> = &[
    ("row", |lua, record| push_row(lua, row_of(record.op()))),
    KIND,
    NEW,
    OLD,
    SOURCE,
    ("target", |lua, record| {
        let Session { bindings, current, .. } = lua.session();
        push_name(lua, record.op(), &bindings.get(current.binding()).target)
    }),
    UNCHANGED,
    COMMIT_TIME_OR_EPOCH,
    TRANSACTION,
    CHECKPOINT,
    PREFIX,
    CONTENT,
];

/// What of a record is encoded as JSON, in this order, where there is something.
pub const ENCODED: &Members<Row<'static>> = &[
    KIND,
    OLD,
    NEW,
    CHECKPOINT,
    COMMIT_TIME,
    TRANSACTION,
    SOURCE,
    ("unchanged_columns", push_unchanged_names),
    PREFIX,
    CONTENT,
];

type Member = (&'static str, fn(Lua, Row<'static>) -> Answer);

const KIND: Member = ("kind", |lua, record| {
    lua.push_str(record.op().name());
    Ok(1)
});
const NEW: Member = ("new", |lua, _| push_row(lua, Which::New));
const OLD: Member = ("old", |lua, _| push_row(lua, Which::Old));
const SOURCE: Member = ("source", |lua, record| {
    let Session { bindings, current, .. } = lua.session();
    push_name(lua, record.op(), &bindings.get(current.binding()).source)
});
const UNCHANGED: Member = ("unchanged_columns", push_unchanged);
/// What is encoded; a row of the snapshot has none.
const COMMIT_TIME: Member = ("commit_time", |lua, record| match record.header().commit_time_us {
    RowHeader::TIME_UNKNOWN => members::push_nil(lua),
    micros => push_time(lua, micros),
});
/// What scripts read. They ask for its parts without a test: for a row of the snapshot it is 1970.
const COMMIT_TIME_OR_EPOCH: Member = ("commit_time", |lua, record| match record.header().commit_time_us {
    RowHeader::TIME_UNKNOWN => push_time(lua, 0),
    micros => push_time(lua, micros),
});
const TRANSACTION: Member = ("transaction_id", |lua, record| {
    big_integer::push_unsigned(lua, record.header().transaction);
    Ok(1)
});
const CHECKPOINT: Member =
    ("checkpoint", |lua, record| members::push_integer(lua, record.version().commit.cast_signed()));
const PREFIX: Member = ("prefix", |lua, record| match record.log_message() {
    Ok(Some(message)) => {
        lua.push_str(message.prefix);
        Ok(1)
    }
    Ok(None) => members::push_nil(lua),
    Err(error) => Err(lua.fail(error)),
});
const CONTENT: Member = ("content", |lua, record| match record.log_message() {
    Ok(Some(message)) => {
        lua.push_bytes(message.content);
        Ok(1)
    }
    Ok(None) => members::push_nil(lua),
    Err(error) => Err(lua.fail(error)),
});

/// Makes the metatable.
pub fn register(lua: Lua) {
    lua.push_table(0, 1);
    lua.set_slot(Slot::Names);
    lua.push_str("row");
    lua.keep_name(-1);
    lua.session().row_name = lua.place_of(-1);
    lua.pop(1);
    lua.push_table(0, 4);
    lua.set_function(-1, "__index", index);
    lua.set_function(-1, "__newindex", |lua| {
        Err(lua.fail("a record has no fields to assign: assign to the columns of r.row"))
    });
    lua.set_function(-1, "__tostring", |lua| {
        lua.push_str("record");
        Ok(1)
    });
    lua.push_boolean(false);
    lua.set_field(-2, "__metatable");
    lua.set_slot(Slot::Record);
}

/// Pushes the current record.
#[inline]
pub fn push(lua: Lua, generation: u64) {
    lua.push_userdata(Handle { tag: Handle::TAG, generation }, Slot::Record);
}

/// The record, if the value is one.
#[inline]
pub fn handle(lua: Lua, index: i32) -> Option<Handle> {
    lua.userdata(index)
}

fn index(lua: Lua) -> Answer {
    let record = handle(lua, 1);
    match record.and_then(|record| lua.session().current.row(record.generation)) {
        // What nearly every script asks for first.
        Some(&row) if lua.place_of(2) == lua.session().row_name => push_row(lua, row_of(row.op())),
        Some(&row) => members::push(lua, row, MEMBERS),
        None => Err(lua.fail(row::STALE)),
    }
}

fn push_time(lua: Lua, micros: i64) -> Answer {
    moment::push(lua, Moment::new(MomentKind::TimestampTz, micros));
    Ok(1)
}

fn push_row(lua: Lua, which: Which) -> Answer {
    row::push(lua, which);
    Ok(1)
}

/// A message in the log belongs to no table.
fn push_name(lua: Lua, op: Op, name: &str) -> Answer {
    lua.push_str(if op == Op::Message { "" } else { name });
    Ok(1)
}

/// Calls `each` with the name of every column of an update that the source did not send and that was
/// not assigned.
fn for_unchanged(lua: Lua, mut each: impl FnMut(&str)) -> Result<(), crate::lua::Raise> {
    let Session { bindings, current, .. } = lua.session();
    for (at, column) in bindings.get(current.binding()).table.columns.iter().enumerate() {
        match current.cell(Which::New, at) {
            Ok(Cell::Unchanged) => each(&column.name),
            Ok(_) => {}
            Err(error) => return Err(lua.fail(error)),
        }
    }
    Ok(())
}

/// A table with `true` for each such column; `nil` for other records than updates.
fn push_unchanged(lua: Lua, record: Row<'static>) -> Answer {
    if record.op() != Op::Update {
        return members::push_nil(lua);
    }
    lua.push_table(0, 0);
    for_unchanged(lua, |name| {
        lua.push_boolean(true);
        lua.set_field(-2, name);
    })?;
    Ok(1)
}

/// A list of their names; `nil` where there are none.
fn push_unchanged_names(lua: Lua, record: Row<'static>) -> Answer {
    if record.op() != Op::Update {
        return members::push_nil(lua);
    }
    lua.push_table(0, 0);
    let mut count = 0;
    for_unchanged(lua, |name| {
        count += 1;
        lua.push_str(name);
        lua.set_item(-2, count);
    })?;
    if count == 0 {
        lua.pop(1);
        return members::push_nil(lua);
    }
    Ok(1)
}
