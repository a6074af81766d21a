//! Rows as scripts see them: columns by name, decoded when they are touched.

use crate::assign::{self, Refusal};
use crate::config::ASSIGNED_BYTES_MAX;
use crate::current::{Current, Which};
use crate::lua::{Answer, Lua, Raise, Slot, Userdata};
use crate::read::push_cell;
use crate::session::Session;
use tarn_batch::Cell;

/// What a script is told that kept a row for longer than its call.
pub const STALE: &str =
    "this row belongs to an earlier record: keep what you need of it in variables or a table";

/// A row as Lua holds it: which one of which record.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Handle {
    tag: u32,
    which: Which,
    generation: u64,
}

// SAFETY: the tag is first, always this and no other type's.
#[expect(unsafe_code, reason = "a promise about the layout")]
unsafe impl Userdata for Handle {
    const TAG: u32 = 0x524f_5721;
}

impl Handle {
    /// Which row of the record.
    pub fn which(&self) -> Which {
        self.which
    }

    /// The record's generation.
    pub fn generation(&self) -> u64 {
        self.generation
    }
}

/// Makes the metatable.
pub fn register(lua: Lua) {
    lua.push_table(0, 8);
    lua.set_function(-1, "__index", index);
    lua.set_function(-1, "__newindex", new_index);
    lua.set_function(-1, "__len", length);
    lua.set_function(-1, "__pairs", pairs);
    lua.set_function(-1, "__tostring", to_string);
    lua.push_boolean(false);
    lua.set_field(-2, "__metatable");
    lua.set_slot(Slot::Row);
}

/// The row, if the value is one.
#[inline]
pub fn handle(lua: Lua, index: i32) -> Option<Handle> {
    lua.userdata(index)
}

/// Pushes a row of the current record, always the same value; `nil` when the record has no such row.
#[inline]
pub fn push(lua: Lua, which: Which) {
    let session = lua.session();
    if !session.current.has(which) {
        return lua.push_nil();
    }
    let generation = session.current.generation();
    let slot = match which {
        Which::New => Slot::NewRow,
        Which::Old => Slot::OldRow,
    };
    if session.rows_made[which as usize] == generation {
        return lua.get_slot(slot);
    }
    lua.push_userdata(Handle { tag: Handle::TAG, which, generation }, Slot::Row);
    lua.push_copy(-1);
    lua.set_slot(slot);
    lua.session().rows_made[which as usize] = generation;
}

/// The row at `index`, which must be one of the current record.
#[inline]
pub fn check(lua: Lua, index: i32) -> Result<Handle, Raise> {
    match handle(lua, index) {
        Some(handle) if lua.session().current.row(handle.generation).is_some() => Ok(handle),
        Some(_) => Err(lua.fail(STALE)),
        None => Err(lua.fail(format_args!("a row is needed here, not a {} value", lua.type_name(index)))),
    }
}

/// The column that the string at `index` names.
#[inline]
pub fn check_column(lua: Lua, index: i32) -> Result<usize, Raise> {
    let Session { bindings, current, .. } = lua.session();
    if let Some(column) = bindings.get(current.binding()).column_at(lua.place_of(index)) {
        return Ok(column);
    }
    look_up_column(lua, index)
}

fn look_up_column(lua: Lua, index: i32) -> Result<usize, Raise> {
    let Session { bindings, current, .. } = lua.session();
    let binding = bindings.get_mut(current.binding());
    let Some(name) = lua.bytes(index) else {
        return Err(lua.fail("a row is indexed by the names of its columns"));
    };
    if let Some(column) = binding.column(name) {
        if lua.keep_name(index) {
            let Session { bindings, current, .. } = lua.session();
            bindings.get_mut(current.binding()).note_place(lua.place_of(index), column);
        }
        return Ok(column);
    }
    let name = String::from_utf8_lossy(name);
    Err(lua.fail(format_args!("table {} has no column \"{name}\"", binding.source)))
}

/// Pushes a column of a row.
#[inline]
fn push_column(lua: Lua, which: Which, column: usize) -> Result<(), Raise> {
    let Session { bindings, current, .. } = lua.session();
    let binding = bindings.get(current.binding());
    let data_type = &binding.table.columns[column].data_type;
    let pushed = current.cell(which, column).and_then(|cell| push_cell(lua, data_type, cell));
    pushed.map_err(|error| lua.fail(format_args!("column {}: {error}", binding.table.columns[column].name)))
}

fn index(lua: Lua) -> Answer {
    let handle = check(lua, 1)?;
    let column = check_column(lua, 2)?;
    push_column(lua, handle.which, column)?;
    Ok(1)
}

fn new_index(lua: Lua) -> Answer {
    let handle = check(lua, 1)?;
    let column = check_column(lua, 2)?;
    let Session { bindings, current, .. } = lua.session();
    let binding = bindings.get(current.binding());
    set(lua, current, handle.which, column, &binding.table.columns).map_err(|refusal| {
        let described = binding.describe(&binding.table.columns[column]);
        lua.fail(format_args!("{described} of {} {refusal}", binding.source))
    })?;
    Ok(0)
}

/// Assigns the third argument.
fn set(
    lua: Lua,
    current: &mut Current,
    which: Which,
    column: usize,
    columns: &[tarn_batch::Column],
) -> Result<(), Refusal> {
    if lua.is_nil(3) {
        // A column that was not sent reads as nil: assigning that back changes nothing.
        if matches!(current.cell(which, column), Ok(Cell::Unchanged)) {
            return Ok(());
        }
        if !columns[column].nullable {
            return Err(Refusal::NotNull);
        }
        current.set_null(which, column, columns.len());
        return Ok(());
    }
    if current.assigned_bytes() > ASSIGNED_BYTES_MAX {
        return Err(Refusal::TooMuch);
    }
    current.set_value(which, column, columns.len(), |out| assign::write_column(lua, 3, &columns[column], out))
}

fn length(lua: Lua) -> Answer {
    check(lua, 1)?;
    let Session { bindings, current, .. } = lua.session();
    lua.push_integer(bindings.get(current.binding()).table.columns.len() as i64);
    Ok(1)
}

fn pairs(lua: Lua) -> Answer {
    check(lua, 1)?;
    lua.push_function(next);
    lua.push_copy(1);
    lua.push_nil();
    Ok(3)
}

/// The column after the one named, and its value.
fn next(lua: Lua) -> Answer {
    let handle = check(lua, 1)?;
    let column = if lua.is_nil(2) { 0 } else { check_column(lua, 2)? + 1 };
    let Session { bindings, current, .. } = lua.session();
    match bindings.get(current.binding()).table.columns.get(column) {
        Some(found) => lua.push_str(&found.name),
        None => {
            lua.push_nil();
            return Ok(1);
        }
    }
    push_column(lua, handle.which, column)?;
    Ok(2)
}

fn to_string(lua: Lua) -> Answer {
    check(lua, 1)?;
    let Session { bindings, current, text, .. } = lua.session();
    text.clear();
    text.push_str("row of ");
    text.push_str(&bindings.get(current.binding()).source);
    lua.push_str(text);
    Ok(1)
}
