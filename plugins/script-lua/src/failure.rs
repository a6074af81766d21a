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
    match lua.kind(1) {
        Kind::String => lua.set_top(1),
        Kind::Table if !has_text(lua) => push_said(lua),
        // Lua's own text of these is where they are in memory.
        Kind::Function | Kind::Other => {
            let said = format!("a {} value was raised", lua.type_name(1));
            lua.push_str(&said);
        }
        _ => drop::<&[u8]>(lua.text_of(1)),
    }
    Ok(1)
}

/// Whether the table that was raised says its own text.
fn has_text(lua: Lua) -> bool {
    if !lua.get_metatable(1) {
        return false;
    }
    let found = lua.get_field(-1, "__tostring") != Kind::Nil;
    lua.pop(2);
    found
}

/// Pushes what a table says that was raised: its message and code, else its JSON.
fn push_said(lua: Lua) {
    /// Bytes of the JSON in a message, which is for people.
    const JSON_BYTES_MAX: usize = 300;
    let field = |name: &str| {
        let has_text = matches!(lua.get_field(1, name), Kind::String | Kind::Integer | Kind::Float);
        let text = has_text.then(|| String::from_utf8_lossy(lua.text_of(-1)).into_owned());
        lua.set_top(1);
        text
    };
    let message = field("message").or_else(|| field("msg"));
    let said = match (message, field("code")) {
        (Some(message), Some(code)) => format!("{message} (code {code})"),
        (Some(message), None) => message,
        (None, code) => {
            let mut json = Vec::new();
            match crate::json::write_plain(lua, 1, &mut json) {
                Ok(()) => {
                    json.truncate(JSON_BYTES_MAX);
                    String::from_utf8_lossy(&json).into_owned()
                }
                Err(_) => code.map_or_else(|| "a table was raised".to_owned(), |code| format!("code {code}")),
            }
        }
    };
    lua.set_top(1);
    lua.push_str(&said);
}
