//! From JSON text to values.

use crate::config::JSON_DEPTH_MAX;
use crate::lua::{Lua, Raise, Slot};
use crate::shape;
use crate::values::big_integer;
use crate::wrapper::{self, Mark};

/// How much of the text the values keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exactness {
    /// Objects and arrays are tables (an array with nulls has its length in `n`), whole numbers
    /// integers, those beyond 64 bits big integers, other numbers floats, `null` is `nil`.
    Plain,
    /// Objects and arrays are marked as what they are, numbers and nulls are their text: encoding gives
    /// the same document.
    Marked,
}

/// Pushes what a JSON text says.
pub(super) fn push(lua: Lua, text: &[u8], exactness: Exactness) -> Result<(), Raise> {
    let mut parser = Parser { lua, text, at: 0, exactness };
    parser.blanks();
    parser.value(JSON_DEPTH_MAX)?;
    parser.blanks();
    if parser.at < text.len() {
        return Err(parser.unexpected());
    }
    Ok(())
}

struct Parser<'a> {
    lua: Lua,
    text: &'a [u8],
    at: usize,
    exactness: Exactness,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    #[cold]
    fn unexpected(&self) -> Raise {
        match self.at < self.text.len() {
            true => self.lua.fail(format_args!("this is not JSON at byte {}", self.at + 1)),
            false => self.lua.fail("this is not JSON: it ends too early"),
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Raise> {
        if self.take(byte) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Raise> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.unexpected());
        }
        self.at += word.len();
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<(), Raise> {
        match self.peek() {
            Some(b'{' | b'[') if depth == 0 || !self.lua.reserve(10) => {
                Err(self.lua.fail("this JSON is nested too deeply"))
            }
            Some(b'{') if self.exactness == Exactness::Marked => self.marked_object(depth - 1),
            Some(b'{') => self.object(depth - 1),
            Some(b'[') => self.array(depth - 1),
            Some(b'"') => self.string(),
            Some(b't') => self.word(b"true").map(|()| self.lua.push_boolean(true)),
            Some(b'f') => self.word(b"false").map(|()| self.lua.push_boolean(false)),
            Some(b'n') if self.exactness == Exactness::Marked => {
                self.word(b"null").map(|()| self.push_text(b"null"))
            }
            Some(b'n') => self.word(b"null").map(|()| self.lua.push_nil()),
            _ => self.number(),
        }
    }

    /// Pushes a number or `null` as its text.
    fn push_text(&self, text: &[u8]) {
        self.lua.push_bytes(text);
        wrapper::wrap(self.lua, Mark::Json, 1);
    }

    /// An object that remembers the order of its fields.
    fn marked_object(&mut self, depth: usize) -> Result<(), Raise> {
        let lua = self.lua;
        lua.push_table(0, 0);
        let names = lua.top();
        self.fields(depth, Some(names))?;
        lua.insert(names);
        shape::set_order(lua);
        wrapper::wrap(lua, Mark::Object, 0);
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<(), Raise> {
        self.fields(depth, None)
    }

    /// Pushes a table of an object's fields, and appends their names to the list at `names`.
    fn fields(&mut self, depth: usize, names: Option<i32>) -> Result<(), Raise> {
        self.at += 1;
        self.lua.push_table(0, 0);
        self.blanks();
        if self.take(b'}') {
            return Ok(());
        }
        for number in 1.. {
            self.blanks();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected());
            }
            self.string()?;
            if let Some(names) = names {
                self.lua.push_copy(-1);
                self.lua.set_item(names, number);
            }
            self.blanks();
            self.expect(b':')?;
            self.blanks();
            self.value(depth)?;
            self.lua.raw_set(-3);
            self.blanks();
            if self.take(b'}') {
                break;
            }
            self.expect(b',')?;
        }
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Result<(), Raise> {
        self.items(depth)?;
        match self.exactness {
            Exactness::Plain => {
                self.lua.get_slot(Slot::JsonArray);
                self.lua.set_metatable(-2);
            }
            Exactness::Marked => wrapper::wrap(self.lua, Mark::Array, 0),
        }
        Ok(())
    }

    /// Pushes a table of an array's items.
    fn items(&mut self, depth: usize) -> Result<(), Raise> {
        self.at += 1;
        self.lua.push_table(0, 0);
        self.blanks();
        if self.take(b']') {
            return Ok(());
        }
        let mut nulls = false;
        for item in 1.. {
            self.blanks();
            self.value(depth)?;
            nulls |= self.lua.is_nil(-1);
            self.lua.set_item(-2, item);
            self.blanks();
            if self.take(b']') {
                if nulls {
                    self.lua.push_integer(item);
                    self.lua.set_field(-2, "n");
                }
                break;
            }
            self.expect(b',')?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Raise> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected()) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<(), Raise> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        let whole = self.at;
        if self.take(b'.') {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if !self.take(b'-') {
                self.take(b'+');
            }
            self.digits()?;
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        if self.exactness == Exactness::Marked {
            self.push_text(text.as_bytes());
        } else if self.at > whole {
            self.lua.push_number(text.parse().unwrap_or(f64::NAN));
        } else if let Ok(integer) = text.parse() {
            self.lua.push_integer(integer);
        } else {
            big_integer::push(self.lua, text.as_bytes());
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), Raise> {
        self.at += 1;
        let rest = &self.text[self.at..];
        let plain = rest.iter().take_while(|&&byte| byte != b'"' && byte != b'\\' && byte >= b' ').count();
        if rest.get(plain) == Some(&b'"') {
            self.at += plain + 1;
            self.lua.push_bytes(&rest[..plain]);
            return Ok(());
        }
        self.lua.session().joined.clear();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    self.lua.push_bytes(&self.lua.session().joined);
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(byte) if byte >= b' ' => {
                    self.lua.session().joined.push(byte);
                    self.at += 1;
                }
                _ => return Err(self.unexpected()),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Raise> {
        let character = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        self.append(character);
        Ok(())
    }

    fn append(&mut self, character: char) {
        self.lua.session().joined.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn unit(&mut self) -> Result<u32, Raise> {
        self.expect(b'u')?;
        let digits =
            self.text.get(self.at..self.at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let unit = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match unit {
            Some(unit) => {
                self.at += 4;
                Ok(unit)
            }
            None => Err(self.unexpected()),
        }
    }

    fn unicode(&mut self) -> Result<(), Raise> {
        let first = self.unit()?;
        let point = if (0xd800..0xdc00).contains(&first) {
            self.expect(b'\\')?;
            let second = self.unit()?;
            match second {
                0xdc00..0xe000 => 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                _ => return Err(self.unexpected()),
            }
        } else {
            first
        };
        match char::from_u32(point) {
            Some(character) => self.append(character),
            None => return Err(self.unexpected()),
        }
        Ok(())
    }
}
