//! From MessagePack to values.

use tarn_script::config::JSON_DEPTH_MAX;
use tarn_script::moment::{Moment, MomentKind};
use tarn_script::msgpack::{TIMESTAMP, read_timestamp};

use crate::assign;
use crate::js::{Answer, Js, Kind, Throw, Value, View};
use crate::mark::{self, Mark};
use crate::values::time;

/// `tarn.msgpack.decode(bytes)`: maps with strings as keys as objects, others as `Map`, integers that numbers do
/// not hold exactly as `BigInt`, timestamps as `Time`, other extensions with `type` and `value`.
pub(super) fn decode(js: Js, bytes: View) -> Answer {
    let Some(bytes) = js.bytes_of(bytes) else {
        let given = assign::described(js, bytes);
        return Err(Throw::of_type(format_args!("msgpack.decode takes a Uint8Array, not {given}")));
    };
    // Script code may change the array: a map's constructor is looked up.
    let bytes = bytes.to_vec();
    let mut reader = Reader { js, bytes: &bytes, at: 0 };
    let value = reader.value(JSON_DEPTH_MAX)?;
    if reader.at < bytes.len() {
        return Err(reader.unexpected());
    }
    Ok(value)
}

struct Reader<'a> {
    js: Js,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    #[cold]
    fn unexpected(&self) -> Throw {
        Throw::of_syntax(format_args!("this is not MessagePack at byte {}", self.at + 1))
    }

    fn take(&mut self, count: usize) -> Answer<&'a [u8]> {
        let taken = self.bytes[self.at..].get(..count);
        let taken = taken.ok_or_else(|| Throw::of_syntax("this is not MessagePack: it ends too early"))?;
        self.at += count;
        Ok(taken)
    }

    fn bytes<const N: usize>(&mut self) -> Answer<[u8; N]> {
        let bytes = self.take(N)?;
        Ok(bytes.try_into().unwrap_or([0; N]))
    }

    /// A length of one, two or four bytes.
    fn length(&mut self, width: u8) -> Answer<usize> {
        Ok(match width {
            0 => self.bytes::<1>()?[0].into(),
            1 => u16::from_be_bytes(self.bytes()?).into(),
            _ => u32::from_be_bytes(self.bytes()?) as usize,
        })
    }

    fn value(&mut self, depth: usize) -> Answer {
        let js = self.js;
        let marker = self.bytes::<1>()?[0];
        match marker {
            0x00..=0x7f => Ok(js.integer(marker.into())),
            0xe0..=0xff => Ok(js.integer(marker.cast_signed().into())),
            0x80..=0x8f => self.map(usize::from(marker & 0x0f), depth),
            0x90..=0x9f => self.items(usize::from(marker & 0x0f), depth),
            0xa0..=0xbf => self.string(usize::from(marker & 0x1f)),
            0xc0 => Ok(js.null()),
            0xc2 | 0xc3 => Ok(js.boolean(marker == 0xc3)),
            0xc4..=0xc6 => {
                let length = self.length(marker - 0xc4)?;
                js.bytes(self.take(length)?)
            }
            0xc7..=0xc9 => {
                let length = self.length(marker - 0xc7)?;
                self.extension(length)
            }
            0xca => Ok(js.number(f32::from_be_bytes(self.bytes()?).into())),
            0xcb => Ok(js.number(f64::from_be_bytes(self.bytes()?))),
            0xcc => Ok(js.integer(self.bytes::<1>()?[0].into())),
            0xcd => Ok(js.integer(u16::from_be_bytes(self.bytes()?).into())),
            0xce => js.exact_integer(u32::from_be_bytes(self.bytes()?).into()),
            0xcf => match u64::from_be_bytes(self.bytes()?) {
                value if value <= i64::MAX as u64 => js.exact_integer(value.cast_signed()),
                value => js.big_unsigned(value),
            },
            0xd0 => Ok(js.integer(i8::from_be_bytes(self.bytes()?).into())),
            0xd1 => Ok(js.integer(i16::from_be_bytes(self.bytes()?).into())),
            0xd2 => Ok(js.integer(i32::from_be_bytes(self.bytes()?))),
            0xd3 => js.exact_integer(i64::from_be_bytes(self.bytes()?)),
            0xd4..=0xd8 => self.extension(1 << (marker - 0xd4)),
            0xd9..=0xdb => {
                let length = self.length(marker - 0xd9)?;
                self.string(length)
            }
            0xdc | 0xdd => {
                let length = self.length(marker - 0xdc + 1)?;
                self.items(length, depth)
            }
            0xde | 0xdf => {
                let length = self.length(marker - 0xde + 1)?;
                self.map(length, depth)
            }
            0xc1 => {
                self.at -= 1;
                Err(self.unexpected())
            }
        }
    }

    /// Text; what is none stays bytes.
    fn string(&mut self, length: usize) -> Answer {
        let bytes = self.take(length)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => self.js.string(text),
            Err(_) => self.js.bytes(bytes),
        }
    }

    fn deeper(depth: usize) -> Answer<usize> {
        depth.checked_sub(1).ok_or_else(|| Throw::of_syntax("this MessagePack is nested too deeply"))
    }

    fn items(&mut self, length: usize, depth: usize) -> Answer {
        let depth = Self::deeper(depth)?;
        let array = self.js.array()?;
        for at in 0..length {
            let value = self.value(depth)?;
            array.item(at as u32, value)?;
        }
        Ok(array)
    }

    fn map(&mut self, length: usize, depth: usize) -> Answer {
        let depth = Self::deeper(depth)?;
        let js = self.js;
        let mut entries: Vec<(Value, Value)> = Vec::new();
        for _ in 0..length {
            let key = self.value(depth)?;
            entries.push((key, self.value(depth)?));
        }
        if entries.iter().all(|(key, _)| key.kind() == Kind::String) {
            let object = js.object()?;
            for (key, value) in entries {
                let name = js.text(*key)?;
                object.define_atom(&js.atom(name.as_str().unwrap_or_default())?, value)?;
            }
            return Ok(object);
        }
        let map = js.construct(*js.global().get("Map")?, &[])?;
        let set = map.get("set")?;
        for (key, value) in &entries {
            js.call(*set, *map, &[**key, **value])?;
        }
        Ok(map)
    }

    fn extension(&mut self, length: usize) -> Answer {
        let kind = self.bytes::<1>()?[0].cast_signed();
        let data = self.take(length)?;
        let point = if kind == TIMESTAMP { read_timestamp(data) } else { None };
        match point {
            Some(micros) => time::make(self.js, Moment::new(MomentKind::TimestampTz, micros)),
            None => mark::make(self.js, Mark::Extension, kind.into(), self.js.bytes(data)?),
        }
    }
}
