//! What went wrong in a script, and where.

pub use tarn_script::transform::Fault;

use crate::lua::{Answer, Kind, Lua};

/// The error at the top of the stack. Runs no script code.
pub fn take(lua: Lua) -> Fault {
    let text = match lua.bytes(-1) {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => format!("(the error is a {} value)", lua.type_name(-1)),
    };
    let traced = std::mem::take(&mut lua.session().error_place);
    let (line, message) = split_place(&text).unwrap_or((traced.line, &text));
    let mut message = message.to_owned();
    crate::dialect::explain(&mut message);
    lua.session().trail.lead_to(Fault::at(line, message), &traced.function)
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
