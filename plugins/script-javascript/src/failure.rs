//! What went wrong in a script, and where.

use tarn_script::transform::{Fault as Found, NO_TEXT};

use crate::assign;
use crate::config::{CAUSES_MAX, THROWN_BYTES_MAX, TRACE_LINES_MAX};
use crate::js::{Js, Kind, Throw, Value};
use crate::json;
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
        return (Fault::new(thrown(js, error)), None);
    }
    let message = told(js, error, CAUSES_MAX);
    let stack = text_of(js, error, "stack").unwrap_or_default();
    // What is the runtime's or the engine's own is nobody's place.
    let known = |place: &Place<'_>| place.module == SCRIPT || js.session().sources.contains_key(place.module);
    let places: Vec<Place<'_>> =
        stack.lines().take(TRACE_LINES_MAX).filter_map(Place::parse).filter(known).collect();
    // An error of the script's own class is made in its constructor and thrown elsewhere.
    let classes = classes_of(js, error);
    let made = places.iter().take_while(|place| classes.iter().any(|class| class == place.function)).count();
    let places = if made < places.len() { &places[made..] } else { &places };
    let Some(first) = places.first() else { return (Fault::new(message), None) };
    let message = match first {
        Place { module, .. } if *module == SCRIPT => message,
        Place { module, line, column, .. } => format!("{module}:{line}:{column}: {message}"),
    };
    let Some(Place { function, line, column, .. }) = places.iter().find(|place| place.module == SCRIPT)
    else {
        return (Fault::new(message), None);
    };
    let function = Some(*function).filter(|name| !matches!(*name, "" | "<anonymous>" | "<eval>"));
    (Fault { line: *line, column: *column, message }, function.map(str::to_owned))
}

/// The names of an error's class and of those that it extends, without the language's own.
fn classes_of(js: Js, error: &Value) -> Vec<String> {
    let mut names = Vec::new();
    let mut class = field(js, error, "constructor");
    while let Some(constructor) = class.take().filter(|class| js.is_function(**class)) {
        match text_of(js, &constructor, "name") {
            Some(name) if !name.ends_with("Error") || names.len() < CAUSES_MAX && is_own(js, &name) => {
                names.push(name);
            }
            _ => break,
        }
        if names.len() == CAUSES_MAX {
            break;
        }
        class = field(js, &constructor, "__proto__");
    }
    names
}

/// Whether a class of a name is not one of the language's.
fn is_own(js: Js, name: &str) -> bool {
    let global = js.global();
    field(js, &global, name).is_none_or(|found| found.is_nothing())
}

/// An error's name and message, with the errors that it is about.
fn told(js: Js, error: &Value, causes: usize) -> String {
    let message = text_of(js, error, "message").unwrap_or_default();
    let mut told = match text_of(js, error, "name") {
        Some(name) if name != "Error" && !name.is_empty() => format!("{name}: {message}"),
        _ => message,
    };
    if causes == 0 {
        return told;
    }
    let tell = |value: &Value| match value.kind() == Kind::Object && js.is_error(**value) {
        true => self::told(js, value, causes - 1),
        false => thrown(js, value),
    };
    if let Some(errors) = field(js, error, "errors").filter(|errors| js.is_array(**errors)) {
        let count = js.length(*errors).unwrap_or(0).min(CAUSES_MAX) as u32;
        let parts: Vec<String> =
            (0..count).filter_map(|at| js.get_item(*errors, at).ok()).map(|value| tell(&value)).collect();
        if !parts.is_empty() {
            told = format!("{told} ({})", parts.join("; "));
        }
    }
    if let Some(cause) = field(js, error, "cause").filter(|cause| !cause.is_nothing()) {
        told = format!("{told} (caused by: {})", tell(&cause));
    }
    told
}

/// What a thrown value says that is no error: the message in it, or its JSON.
fn thrown(js: Js, value: &Value) -> String {
    match assign::given(js, **value) {
        kind @ ("row" | "record" | "function") => format!("a {kind} was thrown"),
        "object" | "array" => {
            let message = text_of(js, value, "message").filter(|message| !message.is_empty());
            let code = text_of(js, value, "code");
            let json = || {
                let mut json = json::text_for_log(js, **value)?;
                let end =
                    (0..=THROWN_BYTES_MAX.min(json.len())).rev().find(|&at| json.is_char_boundary(at))?;
                json.truncate(end);
                Some(json)
            };
            match (message, code) {
                (Some(message), Some(code)) => format!("{message} (code {code})"),
                (Some(message), None) => message,
                (None, _) => json().or_else(|| said(js, value)).unwrap_or_else(|| NO_TEXT.to_owned()),
            }
        }
        _ => said(js, value).unwrap_or_else(|| NO_TEXT.to_owned()),
    }
}

/// A property; none where reading it fails.
fn field(js: Js, object: &Value, name: &str) -> Option<Value> {
    match object.get(name) {
        Ok(value) => Some(value),
        Err(_) => {
            drop(js.caught());
            None
        }
    }
}

/// A property that is text or a number.
fn text_of(js: Js, object: &Value, name: &str) -> Option<String> {
    let value = field(js, object, name)?;
    let has_text = matches!(value.kind(), Kind::String | Kind::Integer | Kind::Float | Kind::BigInt);
    if has_text { said(js, &value) } else { None }
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
