//! What `onRecord` returns for a queue: a string, or a table that says where it goes.

use tarn_batch::{BatchWriter, Headers, Outgoing, RowHeader, TableIndex, write_header};
use tarn_script::transform::Sent;

use crate::lua::{Kind, Lua};
use crate::{record, row, values};

/// Fields of a message.
pub const FIELDS: [&str; 5] = ["topic", "key", "value", "headers", "partition"];

/// Why a value is no message. No value is in it: it is logged.
pub type Reason = String;

/// A message on the stack: everything it says stays there until the stack is cut.
pub struct Message {
    outgoing: Outgoing<'static>,
    /// Its headers as the batch has them.
    headers: Vec<u8>,
}

impl Message {
    /// Reads the value at `index`; none for `nil`. Leaves what it read on the stack.
    pub fn read(lua: Lua, index: i32) -> Result<Option<Self>, Reason> {
        match lua.kind(index) {
            Kind::Nil | Kind::None => Ok(None),
            Kind::String => {
                let outgoing = Outgoing { value: lua.bytes(index), ..Outgoing::default() };
                Ok(Some(Self { outgoing, headers: Vec::new() }))
            }
            Kind::Table if !lua.reserve(16) => Err("onRecord returned too many messages".to_owned()),
            Kind::Table => Self::read_table(lua, index).map(Some),
            _ => Err(refusal(lua, index)),
        }
    }

    fn read_table(lua: Lua, table: i32) -> Result<Self, Reason> {
        check_fields(lua, table)?;
        let topic = match field(lua, table, "topic")? {
            Some(topic) => Some(
                std::str::from_utf8(topic).map_err(|_| "the topic of a message is not UTF-8".to_owned())?,
            ),
            None => None,
        };
        let outgoing = Outgoing {
            topic,
            key: field(lua, table, "key")?,
            value: field(lua, table, "value")?,
            partition: partition(lua, table)?,
            ..Outgoing::default()
        };
        Ok(Self { outgoing, headers: headers(lua, table)? })
    }
}

impl Sent for Message {
    fn bytes(&self) -> usize {
        let Outgoing { topic, key, value, .. } = self.outgoing;
        let length = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
        length(topic.map(str::as_bytes)) + length(key) + length(value) + self.headers.len()
    }

    fn write(&self, writer: &mut BatchWriter, table: TableIndex, header: &RowHeader, key: Option<&str>) {
        let outgoing = Outgoing { headers: Headers::new(&self.headers), record_key: key, ..self.outgoing };
        writer.outgoing(table, header, &outgoing);
    }
}

/// A name that is no field is a mistake: what it holds would be lost.
fn check_fields(lua: Lua, table: i32) -> Result<(), Reason> {
    lua.push_nil();
    let mut is_empty = true;
    while lua.next(table) {
        is_empty = false;
        lua.pop(1);
        let name = lua.bytes(-1);
        if name.is_none_or(|name| !FIELDS.iter().any(|field| field.as_bytes() == name)) {
            let name = match name {
                Some(name) => format!("field \"{}\"", String::from_utf8_lossy(name)),
                None => format!("{} as a key", lua.type_name(-1)),
            };
            lua.pop(1);
            return Err(format!(
                "onRecord returned a table with a {name}: a message has {}",
                FIELDS.join(", ")
            ));
        }
    }
    // Not meant as an empty message, which would be a tombstone.
    if is_empty {
        return Err(format!(
            "onRecord returned a table without any field of a message, which has {}: nil drops a record, and a table \
             with a key alone is a tombstone",
            FIELDS.join(", ")
        ));
    }
    Ok(())
}

/// A field's bytes: a string, or what has exactly one text.
fn field(lua: Lua, table: i32, name: &str) -> Result<Option<&'static [u8]>, Reason> {
    lua.get_field(table, name);
    text(lua, lua.top())
        .map_err(|given| format!("the {name} of a message is a {given} value: it is a string"))
}

fn text(lua: Lua, index: i32) -> Result<Option<&'static [u8]>, &'static str> {
    match lua.kind(index) {
        Kind::Nil => Ok(None),
        Kind::String => Ok(lua.bytes(index)),
        Kind::Integer | Kind::Float => Ok(Some(lua.text_of(index))),
        Kind::Userdata if values::exact::text(lua, index).is_some() => Ok(Some(lua.text_of(index))),
        Kind::Userdata if values::uuid::get(lua, index).is_some() => Ok(Some(lua.text_of(index))),
        _ => Err(lua.type_name(index)),
    }
}

fn partition(lua: Lua, table: i32) -> Result<Option<i32>, Reason> {
    if lua.get_field(table, "partition") == Kind::Nil {
        return Ok(None);
    }
    let number = lua.integer(-1).and_then(|number| i32::try_from(number).ok()).filter(|&number| number >= 0);
    number.map(Some).ok_or_else(|| "the partition of a message is not a whole number from 0".to_owned())
}

fn headers(lua: Lua, table: i32) -> Result<Vec<u8>, Reason> {
    match lua.get_field(table, "headers") {
        Kind::Nil => return Ok(Vec::new()),
        Kind::Table => {}
        _ => {
            return Err(format!(
                "the headers of a message are a {} value: they are a table",
                lua.type_name(-1)
            ));
        }
    }
    let headers = lua.top();
    let mut found = Vec::new();
    lua.push_nil();
    while lua.next(headers) {
        let value = text(lua, lua.absolute(-1));
        let name = lua.bytes(headers + 1).and_then(|name| std::str::from_utf8(name).ok());
        match (name, value) {
            (Some(name), Ok(value)) => found.push((name, value.map(<[u8]>::to_vec))),
            (None, _) => return Err("a header of a message has a name that is no text".to_owned()),
            (Some(name), Err(given)) => {
                return Err(format!("the header \"{name}\" of a message is a {given} value: it is a string"));
            }
        }
        lua.set_top(headers + 1);
    }
    // Lua's own order depends on how the table was filled.
    found.sort_unstable();
    let mut bytes = Vec::new();
    for (name, value) in found {
        write_header(&mut bytes, name, value.as_deref());
    }
    Ok(bytes)
}

/// Why another value cannot go to a queue.
fn refusal(lua: Lua, index: i32) -> Reason {
    let given = if row::handle(lua, index).is_some() {
        "row"
    } else if record::handle(lua, index).is_some() {
        "record"
    } else {
        lua.type_name(index)
    };
    format!(
        "onRecord returned a {given}: for a queue it returns a string such as json.encode(r), a table with {}, or \
         nil",
        FIELDS.join(", ")
    )
}
