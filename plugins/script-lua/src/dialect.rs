//! What scripts written for Lua 5.1 expect and Lua 5.4 does differently, as far as such a script would
//! break; `examples/scripts/REFERENCE.md` lists all of it. How numbers are written is in `float_text.rs`.

use std::ffi::CStr;

use crate::lua::{Answer, Kind, Lua, Raise, Slot};

mod source;

/// Names that are gone for good, and what to do instead: told with the error that calling them raises.
const GONE: [(&str, &str); 8] = [
    ("setfenv", "Lua 5.4 has no environments of functions: use load(text, name, \"t\", environment)"),
    ("getfenv", "Lua 5.4 has no environments of functions: _ENV names the current one"),
    ("module", "return a table of functions from the module instead"),
    ("newproxy", "use a table with a metatable"),
    ("package", "there are no files: require finds the runtime's modules by name"),
    ("dofile", "there are no files in the sandbox"),
    ("loadfile", "there are no files in the sandbox"),
    ("io", "there are no files in the sandbox: print writes to the mirror's log"),
];

/// Adds the old names. The globals are on top.
pub fn register(lua: Lua) {
    for (table, old, new) in
        [("math", "mod", "fmod"), ("string", "gfind", "gmatch"), ("table", "unpack", "unpack")]
    {
        lua.get_field(-1, table);
        lua.get_field(-1, new);
        lua.set_field(-2, old);
        lua.pop(1);
    }
    for (old, table, new) in [("loadstring", None, "load"), ("unpack", Some("table"), "unpack")] {
        match table {
            Some(table) => {
                lua.get_field(-1, table);
                lua.get_field(-1, new);
                lua.remove(-2);
            }
            None => drop(lua.get_field(-1, new)),
        }
        lua.set_field(-2, old);
    }
    lua.get_field(-1, "table");
    lua.set_function(-1, "getn", length);
    lua.set_function(-1, "maxn", greatest_key);
    lua.pop(1);
    lua.get_field(-1, "math");
    lua.set_function(-1, "tointeger", to_integer);
    lua.pop(1);
    lua.get_field(-1, "string");
    lua.get_field(-1, "format");
    lua.set_slot(Slot::Format);
    lua.set_function(-1, "format", format);
    lua.pop(1);
}

/// Compiles a script or a module and pushes its chunk, or the error.
pub fn load(lua: Lua, source: &[u8], name: &CStr) -> bool {
    let source = source::without_head(source);
    if lua.load(source, name) {
        return true;
    }
    let is_escape =
        lua.bytes(-1).is_some_and(|error| error.windows(14).any(|text| text == b"invalid escape"));
    if !is_escape {
        return false;
    }
    lua.pop(1);
    lua.load(&source::plain_escapes(source), name)
}

/// Adds to an error's message what a script should do without a name that is gone.
pub fn explain(message: &mut String) {
    let missing = message.split_once("(global '").and_then(|(_, rest)| rest.split_once("')"));
    let advice = missing.and_then(|(name, _)| GONE.iter().find(|(gone, _)| *gone == name));
    if let Some((_, advice)) = advice {
        message.push_str(": ");
        message.push_str(advice);
    }
}

fn needs_table(lua: Lua, name: &str) -> Result<(), Raise> {
    match lua.kind(1) {
        Kind::Table => Ok(()),
        _ => Err(lua.fail(format_args!("{name} takes a table, not a {} value", lua.type_name(1)))),
    }
}

/// `table.getn(table)`: its length.
fn length(lua: Lua) -> Answer {
    needs_table(lua, "table.getn")?;
    lua.push_integer(lua.raw_length(1) as i64);
    Ok(1)
}

/// `table.maxn(table)`: its greatest numeric key, 0 when there is none above it.
fn greatest_key(lua: Lua) -> Answer {
    needs_table(lua, "table.maxn")?;
    lua.set_top(1);
    lua.push_integer(0);
    lua.push_nil();
    while lua.next(1) {
        lua.pop(1);
        let is_number = matches!(lua.kind(3), Kind::Integer | Kind::Float);
        if is_number && lua.number(3) > lua.number(2) {
            lua.push_copy(3);
            lua.replace(2);
        }
    }
    lua.set_top(2);
    Ok(1)
}

/// `math.tointeger(value)`: Lua's own rounds like everything else here.
fn to_integer(lua: Lua) -> Answer {
    if lua.top() == 0 {
        return Err(lua.fail("math.tointeger takes a value"));
    }
    match lua.integer(1) {
        Some(value) => lua.push_integer(value),
        None => lua.push_nil(),
    }
    Ok(1)
}

/// `string.format`: where a whole number belongs, a fraction is cut off towards zero; `%u` is `%d`.
fn format(lua: Lua) -> Answer {
    let count = lua.top();
    if let Some(template) = lua.bytes(1) {
        cut_fractions(lua, template, count);
    }
    lua.get_slot(Slot::Format);
    lua.insert(1);
    if lua.protected_call(count, 1, 0) {
        return Ok(1);
    }
    // The place that Lua's function would have told is that of this one.
    match lua.bytes(-1).and_then(|message| std::str::from_utf8(message).ok()) {
        Some(message) if message.starts_with("bad argument") || message.starts_with("invalid") => {
            Err(lua.fail(message.replace("'?'", "'format'")))
        }
        _ => Err(Raise::Value),
    }
}

/// Makes the arguments of a template's whole-number conversions whole.
fn cut_fractions(lua: Lua, template: &[u8], count: i32) {
    let mut argument = 1;
    let mut unsigned = false;
    let mut rest = template.iter();
    while rest.by_ref().any(|&byte| byte == b'%') {
        let conversion =
            rest.by_ref().find(|byte| !matches!(byte, b'0'..=b'9' | b' ' | b'#' | b'+' | b'-' | b'.'));
        let Some(conversion) = conversion.filter(|&&byte| byte != b'%') else { continue };
        argument += 1;
        unsigned |= *conversion == b'u';
        if matches!(conversion, b'd' | b'i' | b'u' | b'c' | b'o' | b'x' | b'X')
            && argument <= count
            && matches!(lua.kind(argument), Kind::Float | Kind::String)
            && let Some(value) = lua.number(argument)
            && value < 0.0
            && value.fract() != 0.0
            && value > i64::MIN as f64
        {
            lua.push_integer(value as i64);
            lua.replace(argument);
        }
    }
    if unsigned {
        write_signed(lua, template);
        lua.replace(1);
    }
}

/// Pushes a template with `%d` for `%u`.
fn write_signed(lua: Lua, template: &[u8]) {
    let signed = &mut lua.session().joined;
    signed.clear();
    let mut in_conversion = false;
    for &byte in template {
        let ends = in_conversion && !matches!(byte, b'0'..=b'9' | b' ' | b'#' | b'+' | b'-' | b'.');
        signed.push(if ends && byte == b'u' { b'd' } else { byte });
        in_conversion = if in_conversion { !ends } else { byte == b'%' };
    }
    lua.push_bytes(signed);
}

#[cfg(test)]
mod tests;
