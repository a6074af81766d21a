//! What went wrong in a script, and where.

use crate::config::MESSAGE_BYTES_MAX;
use crate::lua::{Answer, Kind, Lua};

/// An error of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1; 0 when unknown.
    pub line: u32,
    /// What a person should read.
    pub message: String,
}

impl Fault {
    /// A fault that is not at a line.
    pub fn new(message: String) -> Self {
        Self { line: 0, message }
    }

    /// The error at the top of the stack. Runs no script code.
    pub fn take(lua: Lua) -> Self {
        let text = match lua.bytes(-1) {
            Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            None => format!("(the error is a {} value)", lua.type_name(-1)),
        };
        let traced = std::mem::take(&mut lua.session().error_place);
        let (line, message) = split_place(&text).unwrap_or((traced.line, &text));
        let mut message = message.to_owned();
        crate::dialect::explain(&mut message);
        if message.len() > MESSAGE_BYTES_MAX {
            message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
            message.push('…');
        }
        if lua.session().tells_parts {
            message = parts(&message, &traced.function, lua.session().last_lines());
        }
        Self { line, message }
    }
}

/// What stands between the parts of a message (wit/README.md, Rejections).
const PART: char = '\u{1f}';

/// A message with the function that it is about and the lines that were logged last.
fn parts<'l>(message: &str, function: &'l str, lines: impl Iterator<Item = &'l str>) -> String {
    let mut text = message.replace(PART, " ");
    for part in std::iter::once(function).chain(lines) {
        text.push(PART);
        text.extend(part.chars().map(|letter| if letter.is_control() { ' ' } else { letter }));
    }
    text
}

/// Takes `script:12: ` off a message.
fn split_place(text: &str) -> Option<(u32, &str)> {
    let (line, message) = text.strip_prefix("script:")?.split_once(": ")?;
    Some((line.parse().ok()?, message))
}

/// Sees an error before the stack unwinds: notes the place, and turns the error's value into text.
pub fn handler(lua: Lua) -> Answer {
    lua.session().error_place = lua.place().unwrap_or_default();
    if lua.kind(1) == Kind::String {
        lua.set_top(1);
    } else {
        lua.text_of(1);
    }
    Ok(1)
}
