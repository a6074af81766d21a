//! The text of a script before Lua 5.4 reads it: what 5.1 takes there and 5.4 refuses.

use std::borrow::Cow;

/// What an escape in a string of 5.4 begins with, after the backslash.
const ESCAPES: &[u8] = b"abfnrtvxzu\n\r\"'\\0123456789";

/// A source without a byte order mark, and without a first line for a shell.
pub fn without_head(source: &[u8]) -> &[u8] {
    let source = source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(source);
    if !source.starts_with(b"#") {
        return source;
    }
    // The end of the line stays: lines keep their numbers.
    let end = source.iter().position(|&byte| byte == b'\n').unwrap_or(source.len());
    &source[end..]
}

/// A source in whose strings `\\.` is a dot, and so on: 5.1 drops the backslash before what is no escape. The same
/// source where there is none.
pub fn plain_escapes(source: &[u8]) -> Cow<'_, [u8]> {
    let mut reader = Reader { source, at: 0, kept: 0, plain: Vec::new() };
    while let Some(&byte) = source.get(reader.at) {
        match byte {
            b'-' if source[reader.at..].starts_with(b"--") => {
                reader.at += 2;
                if !reader.long_bracket() {
                    reader.line();
                }
            }
            b'[' if reader.long_bracket() => {}
            b'"' | b'\'' => reader.string(byte),
            _ => reader.at += 1,
        }
    }
    if reader.plain.is_empty() {
        return Cow::Borrowed(source);
    }
    reader.plain.extend_from_slice(&source[reader.kept..]);
    Cow::Owned(reader.plain)
}

struct Reader<'a> {
    source: &'a [u8],
    at: usize,
    /// Where what is not in `plain` yet begins.
    kept: usize,
    plain: Vec<u8>,
}

impl Reader<'_> {
    fn line(&mut self) {
        let rest = &self.source[self.at..];
        self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
    }

    /// Passes a long string, as `[==[ text ]==]`; false where there is none.
    fn long_bracket(&mut self) -> bool {
        let rest = &self.source[self.at..];
        let level = rest.iter().skip(1).take_while(|&&byte| byte == b'=').count();
        if rest.first() != Some(&b'[') || rest.get(1 + level) != Some(&b'[') {
            return false;
        }
        let mut close = vec![b'='; level + 2];
        close[0] = b']';
        close[level + 1] = b']';
        let end = rest.windows(close.len()).position(|bytes| bytes == close);
        self.at += end.map_or(rest.len(), |end| end + close.len());
        true
    }

    fn string(&mut self, quote: u8) {
        self.at += 1;
        while let Some(&byte) = self.source.get(self.at) {
            match byte {
                b'\\' => {
                    if self.source.get(self.at + 1).is_some_and(|next| !ESCAPES.contains(next)) {
                        self.plain.extend_from_slice(&self.source[self.kept..self.at]);
                        self.kept = self.at + 1;
                    }
                    self.at += 2;
                }
                b'\n' => return,
                _ => {
                    self.at += 1;
                    if byte == quote {
                        return;
                    }
                }
            }
        }
        self.at = self.source.len();
    }
}

#[cfg(test)]
mod tests {
    use super::{plain_escapes, without_head};

    #[test]
    fn a_backslash_before_what_is_no_escape_is_dropped() {
        for (source, plain) in [
            (r#"return "[^\.]+" .. '\d\/'"#, r#"return "[^.]+" .. 'd/'"#),
            (r#"a = "\n\\.\"\." -- '\.'"#, r#"a = "\n\\.\"." -- '\.'"#),
            (r#"a = [[\.]] --[=[ "\." ]=] b = '\.'"#, r#"a = [[\.]] --[=[ "\." ]=] b = '.'"#),
            ("a = 'open \\.\n b = '\\.'", "a = 'open .\n b = '.'"),
            ("a[b[1]] = '\\\n\\065'", "a[b[1]] = '\\\n\\065'"),
            ("'\\", "'\\"),
        ] {
            assert_eq!(String::from_utf8_lossy(&plain_escapes(source.as_bytes())), plain);
        }
    }

    #[test]
    fn a_head_is_no_part_of_a_script() {
        for (source, rest) in [
            ("x = 1", "x = 1"),
            ("\u{feff}x = 1", "x = 1"),
            ("#!/usr/bin/lua\nx = 1", "\nx = 1"),
            ("\u{feff}#!\nx", "\nx"),
            ("#", ""),
        ] {
            assert_eq!(without_head(source.as_bytes()), rest.as_bytes());
        }
    }
}
