use super::GONE;
use crate::lua::tests::{evaluate, run};
use crate::runtime::tests::reject_reason;

#[test]
fn old_names_work() {
    for (expression, value) in [
        ("table.getn({1, 2, 3})", "3"),
        ("table.maxn({1, 2, [7.5] = 1, x = 1})", "7.5"),
        ("table.maxn({})", "0"),
        ("math.mod(7, 3)", "1"),
        ("math.pow(2, 10)", "1024"),
        ("math.ldexp(1, 4)", "16"),
        ("math.log10(1000)", "3"),
        ("select('#', unpack({1, 2, 3}))", "3"),
        ("loadstring('return 6 / 2')()", "3"),
        (
            "(function() local s = '' for w in string.gfind('a b', '%a') do s = s .. w end return s end)()",
            "ab",
        ),
    ] {
        assert_eq!(evaluate(expression), value, "{expression}");
    }
}

#[test]
fn a_fraction_where_a_whole_number_belongs_is_cut_off() {
    for (expression, value) in [
        ("('abcde'):sub(1, 5 / 2)", "ab"),
        ("('x'):rep(2.9)", "xx"),
        ("string.format('%d|%d|%d', 3, 3.0, 3.7)", "3|3|3"),
        ("string.format('%d %5d %x', -3.7, -0.5, 255.5)", "-3     0 ff"),
        ("string.format('%u %%u %5u', 3.7, 4)", "3 %u     4"),
        ("string.format('%d', '10')", "10"),
        ("string.format('%d %d', '-3.7', '3.7')", "-3 3"),
        ("string.format('%d', '-9007199254740993')", "-9007199254740993"),
        ("string.format('%d', 9007199254740993)", "9007199254740993"),
        ("string.format('%d', 2 ^ 53)", "9007199254740992"),
        ("string.format('%s %5.1f', 6 / 2, 6 / 2)", "3   3.0"),
        ("('%d'):format(7 / 2)", "3"),
        ("({10, 20, 30})[6 / 2]", "30"),
        ("({10, 20, 30})[5 / 2]", "nil"),
        ("math.tointeger(3.5)", "nil"),
        ("math.tointeger(3.0)", "3"),
        ("math.tointeger('8')", "8"),
        ("math.tointeger('8.5')", "nil"),
        ("math.tointeger({})", "nil"),
        ("math.floor(-3.7)", "-4"),
    ] {
        assert_eq!(evaluate(expression), value, "{expression}");
    }
}

#[test]
fn errors_of_format_say_where_they_are() {
    for (chunk, message) in [
        ("\nstring.format('%d', 'x')", "script:2: bad argument #2 to 'format' (number expected, got string)"),
        ("string.format('%d')", "script:1: bad argument #2 to 'format' (no value)"),
        ("string.format('%y', 1)", "script:1: invalid conversion '%y' to 'format'"),
        ("string.format()", "script:1: bad argument #1 to 'format' (string expected, got no value)"),
        (
            "string.format('%d', 1e300)",
            "script:1: bad argument #2 to 'format' (number has no integer representation)",
        ),
        (
            "string.format('%s', setmetatable({}, {__tostring = function() error('mine') end}))",
            "script:1: mine",
        ),
    ] {
        assert_eq!(run(chunk), Err(message.to_owned()), "{chunk}");
    }
}

#[test]
fn names_that_are_gone_are_missing_and_explained() {
    for (name, advice) in GONE {
        assert_eq!(evaluate(name), "nil", "{name}");
        let call = if matches!(name, "io" | "package") { ".x()" } else { "(1)" };
        let message = reject_reason(&format!("{name}{call}"));
        assert!(message.ends_with(advice), "{message}");
    }
    let message = reject_reason("undefined()");
    assert_eq!(message, "attempt to call a nil value (global 'undefined')");
}
