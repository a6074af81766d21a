//! From JSON text to values.

use tarn_script::config::JSON_DEPTH_MAX;
use tarn_script::json::{Number, Scanner, Unexpected};
use tarn_script::number::Number as Decimal;

use crate::js::{Answer, Js, Throw, Value};
use crate::mark::{self, Mark};

/// How much of the text the values keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exactness {
    /// Whole numbers that numbers do not hold exactly are `BigInt`, all others numbers.
    Plain,
    /// The same, and others that numbers do not hold keep their text, so that they are written again as they were.
    Lossless,
    /// Numbers keep their text, as `tarn.json.raw` marks it: encoding gives the same digits.
    Marked,
}

/// What a JSON text says.
pub fn decode(js: Js, text: &[u8], exactness: Exactness) -> Answer {
    if std::str::from_utf8(text).is_err() {
        return Err(Throw::of_syntax("this is not JSON: it is not UTF-8"));
    }
    let mut reader = Reader { js, words: Scanner::new(text), exactness, joined: Vec::new() };
    reader.words.blanks();
    let value = reader.value(JSON_DEPTH_MAX)?;
    reader.words.blanks();
    if !reader.words.is_at_end() {
        return Err(reader.words.unexpected().into());
    }
    Ok(value)
}

impl From<Unexpected> for Throw {
    #[cold]
    fn from(unexpected: Unexpected) -> Self {
        Self::of_syntax(unexpected)
    }
}

struct Reader<'a> {
    js: Js,
    words: Scanner<'a>,
    exactness: Exactness,
    /// Room for a string with escapes.
    joined: Vec<u8>,
}

impl Reader<'_> {
    fn word(&mut self, word: &[u8], value: Value) -> Answer {
        self.words.word(word)?;
        Ok(value)
    }

    fn value(&mut self, depth: usize) -> Answer {
        let js = self.js;
        match self.words.peek() {
            Some(b'{' | b'[') if depth == 0 => Err(Throw::of_syntax("this JSON is nested too deeply")),
            Some(b'{') => self.object(depth - 1),
            Some(b'[') => self.array(depth - 1),
            Some(b'"') => js.string(said(self.words.string(&mut self.joined)?)),
            Some(b't') => self.word(b"true", js.boolean(true)),
            Some(b'f') => self.word(b"false", js.boolean(false)),
            Some(b'n') => self.word(b"null", js.null()),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Answer {
        self.words.take(b'{');
        let object = self.js.object()?;
        self.words.blanks();
        if self.words.take(b'}') {
            return Ok(object);
        }
        loop {
            self.words.blanks();
            if self.words.peek() != Some(b'"') {
                return Err(self.words.unexpected().into());
            }
            let name = self.js.atom(said(self.words.string(&mut self.joined)?))?;
            self.words.blanks();
            self.words.expect(b':')?;
            self.words.blanks();
            let value = self.value(depth)?;
            object.define_atom(&name, value)?;
            self.words.blanks();
            if self.words.take(b'}') {
                return Ok(object);
            }
            self.words.expect(b',')?;
        }
    }

    fn array(&mut self, depth: usize) -> Answer {
        self.words.take(b'[');
        let array = self.js.array()?;
        self.words.blanks();
        if self.words.take(b']') {
            return Ok(array);
        }
        for at in 0.. {
            self.words.blanks();
            let value = self.value(depth)?;
            array.item(at, value)?;
            self.words.blanks();
            if self.words.take(b']') {
                break;
            }
            self.words.expect(b',')?;
        }
        Ok(array)
    }

    fn number(&mut self) -> Answer {
        let js = self.js;
        let Number { text, is_whole } = self.words.number()?;
        if self.exactness == Exactness::Marked {
            mark::make(js, Mark::Json, 0, js.string(text)?)
        } else if !is_whole {
            let number = text.parse().unwrap_or(f64::NAN);
            if self.exactness == Exactness::Plain || holds(number, text) {
                return Ok(js.number(number));
            }
            mark::make(js, Mark::Json, 0, js.string(text)?)
        } else if let Ok(integer) = text.parse() {
            js.exact_integer(integer)
        } else {
            js.big_digits(text)
        }
    }
}

/// Whether a number that was read from a text with a fraction or an exponent says the same when it is written.
fn holds(number: f64, text: &str) -> bool {
    /// As many digits every number holds; with them a point.
    const BYTES_HELD: usize = 16;
    let is_short = text.len() <= BYTES_HELD && !text.bytes().any(|byte| matches!(byte, b'e' | b'E'));
    is_short
        || number.to_string() == text
        || Decimal::parse(text).is_some_and(|decimal| Decimal::from_float(number).compare(&decimal).is_eq())
}

/// Text that was checked as a whole.
fn said(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
