//! Plain Lua, evaluated for other modules' tests, and the bounds of this layer.

use super::Kind;
use crate::Runtime;
use crate::runtime::tests::Recorder;

/// Evaluates an expression and says the result as `tostring` does.
pub fn evaluate(expression: &str) -> String {
    run(&format!("return tostring({expression})")).unwrap_or_else(|error| panic!("{expression}: {error}"))
}

/// A float as an expression that is exactly that float.
pub fn literal(value: f64) -> String {
    format!("{value:e}")
}

/// Runs a chunk; its first result or its error as text.
pub fn run(chunk: &str) -> Result<String, String> {
    let runtime = Runtime::new(Box::new(Recorder::default())).expect("there is memory");
    let lua = runtime.lua();
    let done = lua.load(chunk.as_bytes(), c"=script") && lua.protected_call(0, 1, 1);
    let text = String::from_utf8_lossy(lua.text_of(-1)).into_owned();
    if done { Ok(text) } else { Err(text) }
}

#[test]
fn values_keep_their_kind() {
    let runtime = Runtime::new(Box::new(Recorder::default())).expect("there is memory");
    let lua = runtime.lua();
    lua.push_integer(i64::MIN);
    lua.push_number(0.5);
    lua.push_bytes(b"a\0b");
    lua.push_boolean(true);
    lua.push_nil();
    assert_eq!(
        [-5, -4, -3, -2, -1].map(|index| lua.kind(index)),
        [Kind::Integer, Kind::Float, Kind::String, Kind::Boolean, Kind::Nil]
    );
    assert_eq!(lua.integer(-5), Some(i64::MIN));
    assert_eq!(lua.number(-4), Some(0.5));
    assert_eq!(lua.bytes(-3), Some(b"a\0b".as_slice()));
    assert_eq!(lua.integer(-4), None);
    assert_eq!(lua.bytes(-1), None);
}

#[test]
fn what_could_leave_the_sandbox_is_absent() {
    for name in [
        "io",
        "package",
        "dofile",
        "loadfile",
        "os.exit",
        "os.getenv",
        "os.remove",
        "string.dump",
        "debug.getinfo",
        "debug.sethook",
        "debug.getregistry",
    ] {
        assert_eq!(evaluate(name), "nil", "{name}");
    }
}

#[test]
fn compiled_chunks_and_finalizers_are_refused() {
    let error = run("return load('\\27Lua')").and(run("local f, e = load('\\27Lua') return e"));
    assert!(error.is_ok_and(|error| error.contains("attempt to load a binary chunk")));
    let error = run("setmetatable({}, {__gc = function() end})").expect_err("it is refused");
    assert!(error.contains("script:1: finalizers"), "{error}");
    let error = run("return getmetatable('').__index.rep ~= nil and getmetatable(peerdb.unix_epoch)");
    assert_eq!(error.as_deref(), Ok("false"));
}

#[test]
fn libraries_work_as_in_lua() {
    assert_eq!(evaluate("1 // 0.3"), "3");
    assert_eq!(evaluate("('x'):rep(3) .. #'abc'"), "xxx3");
    assert_eq!(evaluate("string.format('%5.2f|%d|%s|%q', 1.005, 3, 'a', 'b')"), " 1.00|3|a|\"b\"");
    assert_eq!(evaluate("utf8.char(228, 8364)"), "ä€");
    assert_eq!(evaluate("select('#', unpack({1, 2, 3}))"), "3");
    assert_eq!(evaluate("loadstring('return 7')()"), "7");
    assert_eq!(evaluate("load('return a', 'x', 't', {a = 5})()"), "5");
    assert_eq!(evaluate("math.maxinteger + 1 == math.mininteger"), "true");
    assert_eq!(evaluate("coroutine.wrap(function() coroutine.yield(4) end)()"), "4");
    assert_eq!(evaluate("getmetatable(setmetatable({}, {__metatable = 'no'}))"), "no");
    assert_eq!(evaluate("type(debug.traceback('x'))"), "string");
}

#[test]
fn require_finds_modules_and_names_those_that_are_missing() {
    assert_eq!(evaluate("require('json').encode({1, 2})"), "[1,2]");
    assert_eq!(evaluate("require('string') == string"), "true");
    let error = run("require 'socket'").expect_err("there is none");
    assert!(error.contains("script:1: there is no module \"socket\""), "{error}");
}

#[test]
fn the_calendar_is_utc() {
    assert_eq!(evaluate("os.time({year = 2024, month = 2, day = 29, hour = 0})"), "1709164800");
    assert_eq!(evaluate("os.time({year = 2024, month = 14, day = 0, hour = 0})"), "1738281600");
    assert_eq!(evaluate("os.date('!%Y-%m-%d %H:%M:%S', 1709164801)"), "2024-02-29 00:00:01");
    assert_eq!(
        evaluate("os.date('%c|%j|%A|%I %p|%F|%D', 0)"),
        "Thu Jan  1 00:00:00 1970|001|Thursday|12 AM|1970-01-01|01/01/70"
    );
    assert_eq!(evaluate("os.date('*t', -1).year"), "1969");
    assert_eq!(evaluate("os.difftime(5, 3)"), "2");
    let error = run("return os.time()").expect_err("there is no clock yet");
    assert!(error.contains("there is no clock while a script is loaded"), "{error}");
    assert!(run("return os.date('%Q', 0)").is_err_and(|error| error.contains("'%Q'")));
}

#[test]
fn memory_and_recursion_end_in_errors_that_can_be_caught() {
    let error =
        run("local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end").expect_err("it is too much");
    assert!(error.contains("not enough memory"), "{error}");
    let caught = run("local ok = pcall(string.rep, 'x', 1 << 40) return tostring(ok)");
    assert_eq!(caught.as_deref(), Ok("false"));
    let error = run("local function f() return f() + 1 end return f()").expect_err("it is too deep");
    assert!(error.contains("stack overflow"), "{error}");
    let error = run("local function f() return (string.gsub('a', 'a', f)) end return f()")
        .expect_err("it is too deep");
    assert!(error.contains("overflow"), "{error}");
}
