//! Tables as encoders see them: arrays or objects, and an object's fields in order.

use std::cmp::Ordering;

use crate::lua::{Kind, Lua, Slot};

/// The field of a metatable that lists names in the order in which they are written.
const ORDER: &str = "__order";

/// The field of such a metatable that says that no name is there twice.
const ONCE: &str = "__once";

/// A table with items and fields at once: it is neither an array nor an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfit;

/// What a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A function of its metatable says what it is; the function is on top of the stack.
    Method,
    /// An array of so many items; missing ones are null.
    Array(i64),
    /// An object, possibly an empty one.
    Object,
}

/// Says what a table is: an array where it is marked as one or has items, an object otherwise.
pub fn of(lua: Lua, table: i32, method: &str) -> Result<Shape, Unfit> {
    let length = lua.raw_length(table) as i64;
    let mut marked = false;
    if lua.get_metatable(table) {
        if lua.get_field(-1, method) != Kind::Nil {
            lua.remove(-2);
            return Ok(Shape::Method);
        }
        lua.pop(1);
        lua.get_slot(Slot::JsonArray);
        marked = lua.same(-1, -2);
        lua.pop(2);
    }
    if length == 0 && !marked {
        return Ok(Shape::Object);
    }
    let length = if marked { length.max(stated_length(lua, table)) } else { length };
    let is_item = |lua: Lua| match lua.kind(-1) {
        Kind::Integer => lua.integer(-1).is_some_and(|item| (1..=length).contains(&item)),
        _ => marked && lua.bytes(-1) == Some(b"n"),
    };
    lua.push_nil();
    while lua.next(table) {
        lua.pop(1);
        if !is_item(lua) {
            lua.pop(1);
            return Err(Unfit);
        }
    }
    Ok(Shape::Array(length))
}

/// The length in the field `n`, as `table.pack` leaves it.
fn stated_length(lua: Lua, table: i32) -> i64 {
    let stated = if lua.get_field(table, "n") == Kind::Integer { lua.integer(-1) } else { None };
    lua.pop(1);
    stated.unwrap_or(0)
}

/// The name of a field.
#[derive(Debug, Clone, Copy)]
enum Name {
    /// Bytes in the arena.
    Text {
        start: usize,
        end: usize,
    },
    Integer(i64),
    /// A place in the list that the order is.
    Listed(i64),
}

#[derive(Debug, Clone, Copy)]
struct Field {
    name: Name,
    /// Its place in the order that the metatable asks for.
    rank: usize,
}

/// The fields of the objects that are being encoded, those of the innermost one last. Script code may
/// change a table while it is encoded, so the names are copies.
#[derive(Debug, Default)]
pub struct Arena {
    bytes: Vec<u8>,
    fields: Vec<Field>,
}

impl Arena {
    /// Forgets what an interrupted encoder left.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.fields.clear();
    }

    /// Where it ends now.
    pub fn mark(&self) -> (usize, usize) {
        (self.bytes.len(), self.fields.len())
    }

    /// Forgets what came after a mark.
    pub fn back_to(&mut self, (bytes, fields): (usize, usize)) {
        self.bytes.truncate(bytes);
        self.fields.truncate(fields);
    }

    fn compare(&self, one: Name, two: Name) -> Ordering {
        match (one, two) {
            (Name::Integer(one), Name::Integer(two)) => one.cmp(&two),
            (Name::Integer(_), _) => Ordering::Less,
            (_, Name::Integer(_)) => Ordering::Greater,
            // Listed names are in their order already.
            (Name::Listed(one), Name::Listed(two)) => one.cmp(&two),
            (Name::Listed(_), Name::Text { .. }) => Ordering::Less,
            (Name::Text { .. }, Name::Listed(_)) => Ordering::Greater,
            (Name::Text { start, end }, Name::Text { start: first, end: last }) => {
                self.bytes[start..end].cmp(&self.bytes[first..last])
            }
        }
    }

    fn sort(&mut self, first: usize) {
        let mut fields = std::mem::take(&mut self.fields);
        fields[first..].sort_unstable_by(|one, two| self.compare(one.name, two.name));
        self.fields = fields;
    }

    /// The field of a name among the sorted ones from `first` on.
    fn find(&self, first: usize, name: &[u8]) -> Option<usize> {
        let place = self.fields[first..].binary_search_by(|field| match field.name {
            Name::Integer(_) | Name::Listed(_) => Ordering::Less,
            Name::Text { start, end } => self.bytes[start..end].cmp(name),
        });
        place.ok().map(|place| first + place)
    }
}

/// The fields of one object: those that the metatable's `__order` lists, then the others sorted. Lua's
/// own order depends on how the table was filled.
#[derive(Debug)]
pub struct Fields {
    /// Where they begin in the arena.
    start: (usize, usize),
    count: usize,
    /// Where the list of their names is on the stack, if they are just those.
    list: Option<i32>,
}

impl Fields {
    /// Collects the fields of the table at `table`, an absolute place.
    pub fn of(lua: Lua, table: i32) -> Result<Self, Unfit> {
        let start = lua.session().arena.mark();
        if let Some(list) = listed(lua, table) {
            let count = lua.session().arena.mark().1 - start.1;
            return Ok(Self { start, count, list: Some(list) });
        }
        lua.push_nil();
        while lua.next(table) {
            lua.pop(1);
            let arena = &mut lua.session().arena;
            let name = match (lua.kind(-1), lua.bytes(-1)) {
                (_, Some(text)) => {
                    let start = arena.bytes.len();
                    arena.bytes.extend_from_slice(text);
                    Name::Text { start, end: arena.bytes.len() }
                }
                (Kind::Integer, _) => Name::Integer(lua.integer(-1).unwrap_or_default()),
                _ => {
                    lua.pop(1);
                    return Err(Unfit);
                }
            };
            arena.fields.push(Field { name, rank: usize::MAX });
        }
        let arena = &mut lua.session().arena;
        arena.sort(start.1);
        let fields = Self { start, count: arena.fields.len() - start.1, list: None };
        fields.apply_order(lua, table);
        Ok(fields)
    }

    fn apply_order(&self, lua: Lua, table: i32) {
        if !lua.get_metatable(table) {
            return;
        }
        if lua.get_field(-1, ORDER) == Kind::Table {
            let list = lua.top();
            for rank in 1..=lua.raw_length(list) {
                lua.get_item(list, rank as i64);
                let arena = &mut lua.session().arena;
                if let Some(place) = lua.bytes(-1).and_then(|name| arena.find(self.start.1, name)) {
                    arena.fields[place].rank = rank;
                }
                lua.pop(1);
            }
            // Stable: the others stay sorted.
            lua.session().arena.fields[self.start.1..].sort_by_key(|field| field.rank);
        }
        lua.pop(2);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Pushes the value of the field at a place, and gives its name to `write`, which runs no script
    /// code.
    pub fn push<T>(&self, lua: Lua, table: i32, place: usize, write: impl FnOnce(FieldName<'_>) -> T) -> T {
        let arena = &lua.session().arena;
        if let (Name::Listed(rank), Some(list)) = (arena.fields[self.start.1 + place].name, self.list) {
            lua.get_item(list, rank);
            lua.push_copy(-1);
            lua.raw_get(table);
            let written = write(FieldName::Text(lua.bytes(-2).unwrap_or_default()));
            lua.remove(-2);
            return written;
        }
        match arena.fields[self.start.1 + place].name {
            Name::Text { start, end } => {
                let name = &arena.bytes[start..end];
                lua.get_bytes_field(table, name);
                write(FieldName::Text(name))
            }
            Name::Integer(item) | Name::Listed(item) => {
                lua.get_item(table, item);
                write(FieldName::Integer(item))
            }
        }
    }

    /// Forgets the fields.
    pub fn end(self, lua: Lua) {
        lua.session().arena.back_to(self.start);
        if let Some(list) = self.list {
            lua.remove(list);
        }
    }
}

/// Collects the fields of a table that has no others than those of its order, where that names each once;
/// leaves the list of names on the stack, and says where.
fn listed(lua: Lua, table: i32) -> Option<i32> {
    let top = lua.top();
    let start = lua.session().arena.mark();
    if !lua.get_metatable(table) {
        return None;
    }
    let names_each_once = lua.get_field(-1, ONCE) != Kind::Nil;
    lua.pop(1);
    if !names_each_once || lua.get_field(-1, ORDER) != Kind::Table {
        lua.set_top(top);
        return None;
    }
    lua.remove(-2);
    let list = lua.top();
    for rank in 1..=lua.raw_length(list) as i64 {
        lua.get_item(list, rank);
        if lua.raw_get(table) != Kind::Nil {
            lua.session().arena.fields.push(Field { name: Name::Listed(rank), rank: 0 });
        }
        lua.pop(1);
    }
    let mut others = lua.session().arena.mark().1 - start.1;
    lua.push_nil();
    while lua.next(table) {
        lua.pop(1);
        let Some(rest) = others.checked_sub(1) else {
            // A script put something beside them.
            lua.session().arena.back_to(start);
            lua.set_top(top);
            return None;
        };
        others = rest;
    }
    Some(list)
}

/// A field's name while it is written.
#[derive(Debug, Clone, Copy)]
pub enum FieldName<'a> {
    /// Bytes.
    Text(&'a [u8]),
    /// A number.
    Integer(i64),
}

/// Pops a list of names and pushes a metatable for tables whose fields are to have that order.
pub fn push_order_of(lua: Lua) {
    lua.push_table(0, 1);
    lua.insert(-2);
    lua.set_field(-2, ORDER);
}

/// [`push_order_of`], for names that are there once each.
pub fn push_order_of_columns(lua: Lua) {
    push_order_of(lua);
    lua.push_boolean(true);
    lua.set_field(-2, ONCE);
}

/// Pops a list of names and makes it the order of the table below, with a metatable of its own.
pub fn set_order(lua: Lua) {
    push_order_of(lua);
    lua.set_metatable(-2);
}
