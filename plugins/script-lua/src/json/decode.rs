//! From JSON text to values.

use tarn_script::json::{Number, Scanner, Unexpected};

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
    let mut reader = Reader { lua, words: Scanner::new(text), exactness };
    reader.words.blanks();
    reader.value(JSON_DEPTH_MAX)?;
    reader.words.blanks();
    if !reader.words.is_at_end() {
        return Err(lua.fail(reader.words.unexpected()));
    }
    Ok(())
}

struct Reader<'a> {
    lua: Lua,
    words: Scanner<'a>,
    exactness: Exactness,
}

impl Reader<'_> {
    /// Raises what the scanner says.
    fn sound<T>(&self, scanned: Result<T, Unexpected>) -> Result<T, Raise> {
        scanned.map_err(|unexpected| self.lua.fail(unexpected))
    }

    fn expect(&mut self, byte: u8) -> Result<(), Raise> {
        let found = self.words.expect(byte);
        self.sound(found)
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Raise> {
        let found = self.words.word(word);
        self.sound(found)
    }

    fn value(&mut self, depth: usize) -> Result<(), Raise> {
        match self.words.peek() {
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
        self.words.take(b'{');
        self.lua.push_table(0, 0);
        self.words.blanks();
        if self.words.take(b'}') {
            return Ok(());
        }
        for number in 1.. {
            self.words.blanks();
            if self.words.peek() != Some(b'"') {
                return Err(self.lua.fail(self.words.unexpected()));
            }
            self.string()?;
            if let Some(names) = names {
                self.lua.push_copy(-1);
                self.lua.set_item(names, number);
            }
            self.words.blanks();
            self.expect(b':')?;
            self.words.blanks();
            self.value(depth)?;
            self.lua.raw_set(-3);
            self.words.blanks();
            if self.words.take(b'}') {
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
        self.words.take(b'[');
        self.lua.push_table(0, 0);
        self.words.blanks();
        if self.words.take(b']') {
            return Ok(());
        }
        let mut nulls = false;
        for item in 1.. {
            self.words.blanks();
            self.value(depth)?;
            nulls |= self.lua.is_nil(-1);
            self.lua.set_item(-2, item);
            self.words.blanks();
            if self.words.take(b']') {
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

    fn number(&mut self) -> Result<(), Raise> {
        let found = self.words.number();
        let Number { text, is_whole } = self.sound(found)?;
        if self.exactness == Exactness::Marked {
            self.push_text(text.as_bytes());
        } else if !is_whole {
            self.lua.push_number(text.parse().unwrap_or(f64::NAN));
        } else if let Ok(integer) = text.parse() {
            self.lua.push_integer(integer);
        } else {
            big_integer::push(self.lua, text.as_bytes());
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), Raise> {
        let lua = self.lua;
        match self.words.string(&mut lua.session().joined) {
            Ok(text) => {
                lua.push_bytes(text);
                Ok(())
            }
            Err(unexpected) => Err(lua.fail(unexpected)),
        }
    }
}
