//! From MessagePack to values.

use tarn_script::msgpack::{TIMESTAMP, read_timestamp};

use crate::config::JSON_DEPTH_MAX;
use crate::lua::{Answer, Kind, Lua, Raise, Slot};
use crate::values::big_integer;
use crate::values::moment::{self, Moment, MomentKind};
use crate::wrapper::{self, Mark};

/// `msgpack.decode(bytes)`: arrays and maps as tables (an array with nils has its length in `n`), integers
/// beyond 64 bits with a sign as big integers, timestamps as times, other extensions with `type` and
/// `data`.
pub(super) fn decode(lua: Lua) -> Answer {
    let Some(bytes) = lua.bytes(1) else {
        let given = lua.type_name(1);
        return Err(lua.fail(format_args!("msgpack.decode takes a string, not a {given} value")));
    };
    let mut reader = Reader { lua, bytes, at: 0 };
    reader.value(JSON_DEPTH_MAX)?;
    if reader.at < bytes.len() {
        return Err(reader.unexpected());
    }
    Ok(1)
}

struct Reader<'a> {
    lua: Lua,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    #[cold]
    fn unexpected(&self) -> Raise {
        self.lua.fail(format_args!("this is not MessagePack at byte {}", self.at + 1))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Raise> {
        let taken = self.bytes[self.at..].get(..count);
        let taken = taken.ok_or_else(|| self.lua.fail("this is not MessagePack: it ends too early"))?;
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Raise> {
        let bytes = self.take(N)?;
        Ok(bytes.try_into().unwrap_or([0; N]))
    }

    /// A length of one, two or four bytes.
    fn length(&mut self, width: u8) -> Result<usize, Raise> {
        Ok(match width {
            0 => self.array::<1>()?[0].into(),
            1 => u16::from_be_bytes(self.array()?).into(),
            _ => u32::from_be_bytes(self.array()?) as usize,
        })
    }

    fn value(&mut self, depth: usize) -> Result<(), Raise> {
        let lua = self.lua;
        let marker = self.array::<1>()?[0];
        match marker {
            0x00..=0x7f => lua.push_integer(marker.into()),
            0xe0..=0xff => lua.push_integer(marker.cast_signed().into()),
            0x80..=0x8f => self.map(usize::from(marker & 0x0f), depth)?,
            0x90..=0x9f => self.items(usize::from(marker & 0x0f), depth)?,
            0xa0..=0xbf => self.string(usize::from(marker & 0x1f))?,
            0xc0 => lua.push_nil(),
            0xc2 | 0xc3 => lua.push_boolean(marker == 0xc3),
            0xc4..=0xc6 => {
                let length = self.length(marker - 0xc4)?;
                self.string(length)?;
            }
            0xc7..=0xc9 => {
                let length = self.length(marker - 0xc7)?;
                self.extension(length)?;
            }
            0xca => lua.push_number(f32::from_be_bytes(self.array()?).into()),
            0xcb => lua.push_number(f64::from_be_bytes(self.array()?)),
            0xcc => lua.push_integer(self.array::<1>()?[0].into()),
            0xcd => lua.push_integer(u16::from_be_bytes(self.array()?).into()),
            0xce => lua.push_integer(u32::from_be_bytes(self.array()?).into()),
            0xcf => big_integer::push_unsigned(lua, u64::from_be_bytes(self.array()?)),
            0xd0 => lua.push_integer(i8::from_be_bytes(self.array()?).into()),
            0xd1 => lua.push_integer(i16::from_be_bytes(self.array()?).into()),
            0xd2 => lua.push_integer(i32::from_be_bytes(self.array()?).into()),
            0xd3 => lua.push_integer(i64::from_be_bytes(self.array()?)),
            0xd4..=0xd8 => self.extension(1 << (marker - 0xd4))?,
            0xd9..=0xdb => {
                let length = self.length(marker - 0xd9)?;
                self.string(length)?;
            }
            0xdc | 0xdd => {
                let length = self.length(marker - 0xdc + 1)?;
                self.items(length, depth)?;
            }
            0xde | 0xdf => {
                let length = self.length(marker - 0xde + 1)?;
                self.map(length, depth)?;
            }
            0xc1 => {
                self.at -= 1;
                return Err(self.unexpected());
            }
        }
        Ok(())
    }

    fn string(&mut self, length: usize) -> Result<(), Raise> {
        let bytes = self.take(length)?;
        self.lua.push_bytes(bytes);
        Ok(())
    }

    /// A table with room for what the bytes that are left can hold at most.
    fn begin(&self, length: usize, depth: usize) -> Result<usize, Raise> {
        if depth == 0 || !self.lua.reserve(8) {
            return Err(self.lua.fail("this MessagePack is nested too deeply"));
        }
        Ok(length.min(self.bytes.len() - self.at))
    }

    fn items(&mut self, length: usize, depth: usize) -> Result<(), Raise> {
        let lua = self.lua;
        let room = self.begin(length, depth)?;
        lua.push_table(room, 0);
        lua.get_slot(Slot::JsonArray);
        lua.set_metatable(-2);
        let mut nils = false;
        for item in 1..=length as i64 {
            self.value(depth - 1)?;
            nils |= lua.is_nil(-1);
            lua.set_item(-2, item);
        }
        if nils {
            lua.push_integer(length as i64);
            lua.set_field(-2, "n");
        }
        Ok(())
    }

    fn map(&mut self, length: usize, depth: usize) -> Result<(), Raise> {
        let lua = self.lua;
        let room = self.begin(length, depth)?;
        lua.push_table(0, room);
        for _ in 0..length {
            self.value(depth - 1)?;
            let is_key = match lua.kind(-1) {
                Kind::Nil => false,
                Kind::Float => lua.number(-1).is_some_and(|number| !number.is_nan()),
                _ => true,
            };
            if !is_key {
                return Err(lua.fail("this MessagePack has a map with nil or NaN as a key"));
            }
            self.value(depth - 1)?;
            lua.raw_set(-3);
        }
        Ok(())
    }

    fn extension(&mut self, length: usize) -> Result<(), Raise> {
        let kind = self.array::<1>()?[0].cast_signed();
        let data = self.take(length)?;
        let point = if kind == TIMESTAMP { read_timestamp(data) } else { None };
        match point {
            Some(micros) => moment::push(self.lua, Moment::new(MomentKind::TimestampTz, micros)),
            None => {
                self.lua.push_bytes(data);
                wrapper::wrap(self.lua, Mark::Extension, kind.into());
            }
        }
        Ok(())
    }
}
