//! Records as scripts see them: `r`.

use tarn_batch::{Cell, Op, RowHeader};

use crate::current::Which;
use crate::lua::{Answer, Lua, Raise, Slot, Userdata};
use crate::row;
use crate::session::Session;
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

/// Makes the metatable.
pub fn register(lua: Lua) {
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

/// The row that `r.row` is: the new one, or the old one of a delete.
#[inline]
pub fn row_of(op: Op) -> Which {
    if op.has_after() { Which::New } else { Which::Old }
}

fn index(lua: Lua) -> Answer {
    let record = handle(lua, 1);
    let Some(&row) = record.and_then(|record| lua.session().current.row(record.generation)) else {
        return Err(lua.fail(row::STALE));
    };
    match lua.bytes(2).unwrap_or_default() {
        b"row" => row::push(lua, row_of(row.op())),
        b"kind" => lua.push_str(match row.op() {
            Op::Insert => "insert",
            Op::Update => "update",
            Op::Delete => "delete",
            Op::Truncate => "truncate",
        }),
        b"old" => row::push(lua, Which::Old),
        b"new" => row::push(lua, Which::New),
        b"source" => {
            let Session { bindings, current, .. } = lua.session();
            lua.push_str(&bindings.get(current.binding()).source);
        }
        b"target" => {
            let Session { bindings, current, .. } = lua.session();
            lua.push_str(&bindings.get(current.binding()).target);
        }
        b"checkpoint" => lua.push_integer(row.version().commit.cast_signed()),
        b"transaction_id" => lua.push_integer(row.header().transaction.cast_signed()),
        b"commit_time" => match row.header().commit_time_us {
            RowHeader::TIME_UNKNOWN => lua.push_nil(),
            micros => moment::push(lua, Moment::new(MomentKind::TimestampTz, micros)),
        },
        b"unchanged_columns" => push_unchanged(lua, row.op())?,
        // Also `prefix` and `content`, which logical messages have.
        _ => lua.push_nil(),
    }
    Ok(1)
}

/// Pushes a table with `true` for each column of an update that the source did not send and that was
/// not assigned; `nil` for other records.
fn push_unchanged(lua: Lua, op: Op) -> Result<(), Raise> {
    if op != Op::Update {
        lua.push_nil();
        return Ok(());
    }
    lua.push_table(0, 0);
    let Session { bindings, current, .. } = lua.session();
    for (at, column) in bindings.get(current.binding()).table.columns.iter().enumerate() {
        match current.cell(Which::New, at) {
            Ok(Cell::Unchanged) => {
                lua.push_boolean(true);
                lua.set_field(-2, &column.name);
            }
            Ok(_) => {}
            Err(error) => return Err(lua.fail(error)),
        }
    }
    Ok(())
}
