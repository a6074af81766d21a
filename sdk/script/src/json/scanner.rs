//! The words of a JSON text, for those who make a language's values of them.

/// A text on the way through.
#[derive(Debug)]
pub struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

/// The text is not JSON where the scanner is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unexpected {
    /// Which byte it is, from 1; `None` where the text ends too early.
    pub byte: Option<usize>,
}

impl std::fmt::Display for Unexpected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.byte {
            Some(byte) => write!(f, "this is not JSON at byte {byte}"),
            None => f.write_str("this is not JSON: it ends too early"),
        }
    }
}

/// A number as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number<'a> {
    /// Its digits, with sign, point and exponent.
    pub text: &'a str,
    /// Whether it has neither point nor exponent.
    pub is_whole: bool,
}

impl<'a> Scanner<'a> {
    /// At the beginning of a text, which need not be UTF-8.
    pub fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// Whether nothing is left.
    #[inline]
    pub fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// The next byte.
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Passes what separates words.
    #[inline]
    pub fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Passes a byte if it is the next.
    #[inline]
    pub fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Passes a byte that has to be the next.
    ///
    /// # Errors
    /// Another one is.
    pub fn expect(&mut self, byte: u8) -> Result<(), Unexpected> {
        if self.take(byte) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Passes `true`, `false` or `null`.
    ///
    /// # Errors
    /// Something else is there.
    pub fn word(&mut self, word: &[u8]) -> Result<(), Unexpected> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.unexpected());
        }
        self.at += word.len();
        Ok(())
    }

    /// What to say of the place where the scanner is.
    #[cold]
    pub fn unexpected(&self) -> Unexpected {
        Unexpected { byte: (!self.is_at_end()).then_some(self.at + 1) }
    }

    /// Passes a number.
    ///
    /// # Errors
    /// There is none.
    pub fn number(&mut self) -> Result<Number<'a>, Unexpected> {
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
        Ok(Number { text, is_whole: self.at == whole })
    }

    fn digits(&mut self) -> Result<(), Unexpected> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected()) } else { Ok(()) }
    }

    /// Passes a string, whose quote is the next byte, and says what is in it. One with escapes is written to
    /// `joined`, which is the caller's: a language may leave this by an error that frees nothing on the way.
    ///
    /// # Errors
    /// It does not end, or an escape is none.
    pub fn string<'s>(&mut self, joined: &'s mut Vec<u8>) -> Result<&'s [u8], Unexpected>
    where
        'a: 's,
    {
        self.at += 1;
        let text = self.text;
        let rest = &text[self.at..];
        let plain = rest.iter().take_while(|&&byte| byte != b'"' && byte != b'\\' && byte >= b' ').count();
        if rest.get(plain) == Some(&b'"') {
            self.at += plain + 1;
            return Ok(&rest[..plain]);
        }
        joined.clear();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(joined);
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape(joined)?;
                }
                Some(byte) if byte >= b' ' => {
                    joined.push(byte);
                    self.at += 1;
                }
                _ => return Err(self.unexpected()),
            }
        }
    }

    fn escape(&mut self, joined: &mut Vec<u8>) -> Result<(), Unexpected> {
        let character = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(joined),
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        append(joined, character);
        Ok(())
    }

    fn unit(&mut self) -> Result<u32, Unexpected> {
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

    fn unicode(&mut self, joined: &mut Vec<u8>) -> Result<(), Unexpected> {
        let first = self.unit()?;
        let point = if (0xd800..0xdc00).contains(&first) {
            self.expect(b'\\')?;
            match self.unit()? {
                second @ 0xdc00..0xe000 => 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                _ => return Err(self.unexpected()),
            }
        } else {
            first
        };
        match char::from_u32(point) {
            Some(character) => append(joined, character),
            None => return Err(self.unexpected()),
        }
        Ok(())
    }
}

fn append(joined: &mut Vec<u8>, character: char) {
    joined.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}
