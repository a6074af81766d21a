//! What went wrong in a script, and where.

use tarn_script::transform::{Fault as Found, NO_TEXT};

use crate::config::TRACE_LINES_MAX;
use crate::js::{Js, Kind, Throw, Value};
use crate::modules::SCRIPT;

/// An error of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1; 0 when unknown.
    pub line: u32,
    /// The character in the line, from 1; 0 when unknown.
    pub column: u32,
    /// What a person should read.
    pub message: String,
}

impl Fault {
    /// A fault that is not at a line.
    pub fn new(message: impl Into<String>) -> Self {
        Self { line: 0, column: 0, message: message.into() }
    }

    /// The fault as records have it: the column and the function are in the message.
    pub fn of_record(self, function: Option<String>) -> Found {
        let (mut fault, place) = self.beside_its_place(function);
        match place.as_str() {
            "" => {}
            place if place.starts_with("column") => fault.message.push_str(&format!(" ({place})")),
            place => fault.message.push_str(&format!(" (in {place})")),
        }
        fault
    }

    /// The fault, and where in its line it is: `onRecord, column 15`; empty where that is unknown.
    pub fn beside_its_place(self, function: Option<String>) -> (Found, String) {
        let place = match (self.column, function) {
            (0, _) => String::new(),
            (column, None) => format!("column {column}"),
            (column, Some(function)) => format!("{function}, column {column}"),
        };
        (Found::at(self.line, self.message), place)
    }
}

/// A place in a trace: `    at onRecord (script:3:15)`.
struct Place<'a> {
    function: &'a str,
    module: &'a str,
    line: u32,
    column: u32,
}

impl<'a> Place<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim_start().strip_prefix("at ")?;
        let (function, place) = match text.rsplit_once(" (") {
            Some((function, place)) => (function, place.strip_suffix(')')?),
            None => ("", text),
        };
        let (rest, column) = place.rsplit_once(':')?;
        let (module, line) = rest.rsplit_once(':')?;
        Some(Self { function, module, line: line.parse().ok()?, column: column.parse().ok()? })
    }
}

/// The error that was thrown: where and what, and in which function.
#[cold]
pub fn take(js: Js, throw: Throw) -> (Fault, Option<String>) {
    let error = match throw {
        Throw::Error(_, message) => return (Fault::new(message), None),
        Throw::Pending => js.caught(),
    };
    of_value(js, &error)
}

/// What a thrown value says. Script code that runs meanwhile and fails says nothing.
#[cold]
pub fn of_value(js: Js, error: &Value) -> (Fault, Option<String>) {
    if error.kind() != Kind::Object || !js.is_error(**error) {
        // Where there was no memory for the error itself.
        if error.kind() == Kind::Null && js.take_exhausted() {
            return (Fault::new("InternalError: out of memory"), None);
        }
        let message = said(js, error).unwrap_or_else(|| NO_TEXT.to_owned());
        return (Fault::new(message), None);
    }
    let field = |name: &str| match error.get(name) {
        Ok(value) if value.kind() == Kind::String => said(js, &value),
        Ok(_) => None,
        Err(_) => {
            drop(js.caught());
            None
        }
    };
    let message = field("message").unwrap_or_default();
    let mut message = match field("name") {
        Some(name) if name != "Error" && !name.is_empty() => format!("{name}: {message}"),
        _ => message,
    };
    let stack = field("stack").unwrap_or_default();
    let place = stack.lines().take(TRACE_LINES_MAX).find_map(Place::parse);
    let Some(Place { function, module, line, column }) = place else {
        return (Fault::new(message), None);
    };
    if module != SCRIPT {
        message = format!("{module}:{line}:{column}: {message}");
        return (Fault { line, column: 0, message }, None);
    }
    let function = Some(function).filter(|name| !matches!(*name, "" | "<anonymous>" | "<eval>"));
    (Fault { line, column, message }, function.map(str::to_owned))
}

fn said(js: Js, value: &Value) -> Option<String> {
    match js.text(**value) {
        Ok(text) => Some(text.to_text()),
        Err(_) => {
            drop(js.caught());
            None
        }
    }
}
