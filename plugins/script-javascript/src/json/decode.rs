//! From JSON text to values.

use tarn_script::config::JSON_DEPTH_MAX;

use crate::js::{Answer, Js, Throw, Value};
use crate::mark::{self, Mark};

/// How much of the text the values keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exactness {
    /// Whole numbers that numbers do not hold exactly are `BigInt`, all others numbers.
    Plain,
    /// Numbers keep their text, as `tarn.json.raw` marks it: encoding gives the same digits.
    Marked,
}

/// What a JSON text says.
pub fn decode(js: Js, text: &[u8], exactness: Exactness) -> Answer {
    if std::str::from_utf8(text).is_err() {
        return Err(Throw::of_syntax("this is not JSON: it is not UTF-8"));
    }
    let mut parser = Parser { js, text, at: 0, exactness, joined: Vec::new() };
    parser.blanks();
    let value = parser.value(JSON_DEPTH_MAX)?;
    parser.blanks();
    if parser.at < text.len() {
        return Err(parser.unexpected());
    }
    Ok(value)
}

struct Parser<'a> {
    js: Js,
    text: &'a [u8],
    at: usize,
    exactness: Exactness,
    /// Room for a string with escapes.
    joined: Vec<u8>,
}

impl Parser<'_> {
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
    fn unexpected(&self) -> Throw {
        match self.at < self.text.len() {
            true => Throw::of_syntax(format_args!("this is not JSON at byte {}", self.at + 1)),
            false => Throw::of_syntax("this is not JSON: it ends too early"),
        }
    }

    fn expect(&mut self, byte: u8) -> Answer<()> {
        if self.take(byte) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn word(&mut self, word: &[u8], value: Value) -> Answer {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.unexpected());
        }
        self.at += word.len();
        Ok(value)
    }

    fn value(&mut self, depth: usize) -> Answer {
        let js = self.js;
        match self.peek() {
            Some(b'{' | b'[') if depth == 0 => Err(Throw::of_syntax("this JSON is nested too deeply")),
            Some(b'{') => self.object(depth - 1),
            Some(b'[') => self.array(depth - 1),
            Some(b'"') => self.string(),
            Some(b't') => self.word(b"true", js.boolean(true)),
            Some(b'f') => self.word(b"false", js.boolean(false)),
            Some(b'n') => self.word(b"null", js.null()),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Answer {
        self.at += 1;
        let object = self.js.object()?;
        self.blanks();
        if self.take(b'}') {
            return Ok(object);
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected());
            }
            let js = self.js;
            let name = js.atom(self.text()?)?;
            self.blanks();
            self.expect(b':')?;
            self.blanks();
            let value = self.value(depth)?;
            object.define_atom(&name, value)?;
            self.blanks();
            if self.take(b'}') {
                return Ok(object);
            }
            self.expect(b',')?;
        }
    }

    fn array(&mut self, depth: usize) -> Answer {
        self.at += 1;
        let array = self.js.array()?;
        self.blanks();
        if self.take(b']') {
            return Ok(array);
        }
        for at in 0.. {
            self.blanks();
            let value = self.value(depth)?;
            array.item(at, value)?;
            self.blanks();
            if self.take(b']') {
                break;
            }
            self.expect(b',')?;
        }
        Ok(array)
    }

    fn digits(&mut self) -> Answer<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected()) } else { Ok(()) }
    }

    fn number(&mut self) -> Answer {
        let js = self.js;
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
            mark::make(js, Mark::Json, 0, js.string(text)?)
        } else if self.at > whole {
            Ok(js.number(text.parse().unwrap_or(f64::NAN)))
        } else if let Ok(integer) = text.parse() {
            js.exact_integer(integer)
        } else {
            js.big_digits(text)
        }
    }

    fn string(&mut self) -> Answer {
        let js = self.js;
        let text = self.text()?;
        js.string(text)
    }

    /// What a string says.
    fn text(&mut self) -> Answer<&str> {
        self.at += 1;
        let start = self.at;
        let rest = &self.text[start..];
        let plain = rest.iter().take_while(|&&byte| byte != b'"' && byte != b'\\' && byte >= b' ').count();
        if rest.get(plain) == Some(&b'"') {
            self.at += plain + 1;
            return Ok(said(&self.text[start..start + plain]));
        }
        self.joined.clear();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(said(&self.joined));
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(byte) if byte >= b' ' => {
                    self.joined.push(byte);
                    self.at += 1;
                }
                _ => return Err(self.unexpected()),
            }
        }
    }

    fn escape(&mut self) -> Answer<()> {
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
        self.joined.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn unit(&mut self) -> Answer<u32> {
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

    fn unicode(&mut self) -> Answer<()> {
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

/// Text that was checked as a whole.
fn said(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
