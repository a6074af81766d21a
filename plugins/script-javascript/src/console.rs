//! `console`: lines in the mirror's log. While the script is loaded there is no mirror.

use tarn_script::config::LOG_LINE_BYTES_MAX;

use crate::js::{Answer, Js, Kind, Throw, View};
use crate::json;
use crate::session::Phase;

/// How much a line of the log matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// It helps who looks for a fault.
    Debug,
    /// It says what happens.
    Info,
    /// A person should look at it.
    Warn,
    /// It is about what failed.
    Error,
}

/// Makes the object.
pub fn library(js: Js) -> Answer {
    let console = js.object()?;
    console.method("log", 0, |js, _, given| write(js, Level::Info, given))?;
    console.method("info", 0, |js, _, given| write(js, Level::Info, given))?;
    console.method("debug", 0, |js, _, given| write(js, Level::Debug, given))?;
    console.method("warn", 0, |js, _, given| write(js, Level::Warn, given))?;
    console.method("error", 0, |js, _, given| write(js, Level::Error, given))?;
    Ok(console)
}

fn write(js: Js, level: Level, given: &[View]) -> Answer {
    let mut line = String::new();
    for (at, value) in given.iter().enumerate() {
        if at > 0 {
            line.push(' ');
        }
        line.push_str(&said(js, *value)?);
        if line.len() > LOG_LINE_BYTES_MAX {
            line.truncate(line.floor_char_boundary(LOG_LINE_BYTES_MAX));
            break;
        }
    }
    let session = js.session();
    if session.phase == Phase::Running {
        session.host.log(level, &line);
        session.trail.log(&line);
    }
    Ok(js.undefined())
}

/// A value for people: text as it is, objects as JSON where they have that form.
fn said(js: Js, value: View) -> Answer<String> {
    let is_data = value.kind() == Kind::Object && !js.is_error(value) && !js.is_function(value);
    if is_data && let Some(text) = json::text_for_log(js, value) {
        // A decimal or a time says itself.
        let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        return Ok(bare.map_or(text.clone(), str::to_owned));
    }
    match js.text(value) {
        Ok(text) => Ok(text.to_text()),
        Err(Throw::Pending) => {
            // A symbol, or an object without a text.
            drop(js.caught());
            Ok("(a value without a text)".to_owned())
        }
        Err(throw) => Err(throw),
    }
}
