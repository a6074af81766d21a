//! The library `bit32` of Lua 5.2: whole numbers of 32 bits, without a sign.

use crate::lua::{Answer, Kind, Lua, Raise};

/// Bits of a number.
const WIDTH: i64 = 32;

/// Pushes the library.
pub fn push_library(lua: Lua) {
    lua.push_table(0, 12);
    lua.set_function(-1, "band", |lua| fold(lua, u32::MAX, |all, one| all & one));
    lua.set_function(-1, "bor", |lua| fold(lua, 0, |all, one| all | one));
    lua.set_function(-1, "bxor", |lua| fold(lua, 0, |all, one| all ^ one));
    lua.set_function(-1, "btest", test);
    lua.set_function(-1, "bnot", |lua| answer(lua, !bits(lua, 1)?));
    lua.set_function(-1, "lshift", |lua| answer(lua, shift_left(bits(lua, 1)?, places(lua, 2)?)));
    lua.set_function(-1, "rshift", |lua| answer(lua, shift_left(bits(lua, 1)?, -places(lua, 2)?)));
    lua.set_function(-1, "arshift", shift_with_sign);
    lua.set_function(-1, "lrotate", |lua| answer(lua, rotate_left(bits(lua, 1)?, places(lua, 2)?)));
    lua.set_function(-1, "rrotate", |lua| answer(lua, rotate_left(bits(lua, 1)?, -places(lua, 2)?)));
    lua.set_function(-1, "extract", extract);
    lua.set_function(-1, "replace", replace);
}

fn answer(lua: Lua, value: u32) -> Answer {
    lua.push_integer(value.into());
    Ok(1)
}

/// A number's lower 32 bits; a fraction is rounded down.
fn bits(lua: Lua, index: i32) -> Result<u32, Raise> {
    const MODULUS: f64 = 4_294_967_296.0;
    match (lua.integer(index), lua.number(index)) {
        (Some(whole), _) => Ok(whole as u32),
        (None, Some(number)) if number.is_finite() => Ok(number.floor().rem_euclid(MODULUS) as u32),
        _ => Err(needs_number(lua, index)),
    }
}

fn needs_number(lua: Lua, index: i32) -> Raise {
    match lua.kind(index) {
        Kind::None => lua.fail(format_args!("argument #{index}, a number, is missing")),
        _ => lua.fail(format_args!("argument #{index} is a {} value, not a number", lua.type_name(index))),
    }
}

/// How many bits to move; more than all of them is all of them.
fn places(lua: Lua, index: i32) -> Result<i64, Raise> {
    let number = lua.number(index).ok_or_else(|| needs_number(lua, index))?;
    // A float beyond 64 bits becomes the nearest integer, which is as good; NaN becomes 0.
    Ok((number.floor() as i64).clamp(i64::MIN + 1, i64::MAX))
}

fn fold(lua: Lua, start: u32, operation: fn(u32, u32) -> u32) -> Answer {
    let all = fold_bits(lua, start, operation)?;
    answer(lua, all)
}

fn fold_bits(lua: Lua, start: u32, operation: fn(u32, u32) -> u32) -> Result<u32, Raise> {
    (1..=lua.top()).try_fold(start, |all, index| Ok(operation(all, bits(lua, index)?)))
}

/// Whether the numbers have a bit in common.
fn test(lua: Lua) -> Answer {
    let all = fold_bits(lua, u32::MAX, |all, one| all & one)?;
    lua.push_boolean(all != 0);
    Ok(1)
}

fn shift_left(value: u32, places: i64) -> u32 {
    let by = u32::try_from(places.unsigned_abs()).unwrap_or(u32::MAX);
    if places >= 0 { value.checked_shl(by) } else { value.checked_shr(by) }.unwrap_or(0)
}

fn rotate_left(value: u32, places: i64) -> u32 {
    value.rotate_left(places.rem_euclid(WIDTH) as u32)
}

/// Shifts right, with copies of the highest bit; left where the places are negative.
fn shift_with_sign(lua: Lua) -> Answer {
    let (value, places) = (bits(lua, 1)?, places(lua, 2)?);
    if places < 0 {
        return answer(lua, shift_left(value, -places));
    }
    answer(lua, (value.cast_signed() >> places.min(WIDTH - 1)).cast_unsigned())
}

/// A field of bits: where it begins, and the mask of its width.
fn field(lua: Lua, index: i32) -> Result<(u32, u32), Raise> {
    let first = places(lua, index)?;
    let width = if lua.is_nil(index + 1) { 1 } else { places(lua, index + 1)? };
    if first < 0 {
        return Err(lua.fail("the field cannot be negative"));
    }
    if width < 1 {
        return Err(lua.fail("the width must be positive"));
    }
    if first.saturating_add(width) > WIDTH {
        return Err(lua.fail("trying to access non-existent bits"));
    }
    Ok((first as u32, u32::MAX >> (WIDTH - width)))
}

/// `bit32.extract(n, field [, width])`.
fn extract(lua: Lua) -> Answer {
    let value = bits(lua, 1)?;
    let (first, mask) = field(lua, 2)?;
    answer(lua, value >> first & mask)
}

/// `bit32.replace(n, v, field [, width])`.
fn replace(lua: Lua) -> Answer {
    let (value, part) = (bits(lua, 1)?, bits(lua, 2)?);
    let (first, mask) = field(lua, 3)?;
    answer(lua, value & !(mask << first) | (part & mask) << first)
}

#[cfg(test)]
mod tests {
    use crate::lua::tests::{evaluate, run};

    #[test]
    fn operations_are_those_of_lua_5_2() {
        for (expression, value) in [
            ("band(173, 21)", "5"),
            ("band()", "4294967295"),
            ("band(-1, 0x1ffffffff)", "4294967295"),
            ("bor(1, 2, 4)", "7"),
            ("bor()", "0"),
            ("bxor(5, 1)", "4"),
            ("btest(5, 4)", "true"),
            ("btest(1, 2)", "false"),
            ("btest()", "true"),
            ("bnot(0)", "4294967295"),
            ("lshift(1, 31)", "2147483648"),
            ("lshift(1, 32)", "0"),
            ("lshift(8, -3)", "1"),
            ("rshift(-1, 28)", "15"),
            ("rshift(1, -4)", "16"),
            ("rshift(1, 2 ^ 70)", "0"),
            ("arshift(0x80000000, 4)", "4160749568"),
            ("arshift(0x80000000, 99)", "4294967295"),
            ("arshift(0x7fffffff, 99)", "0"),
            ("arshift(1, -3)", "8"),
            ("lrotate(0x80000001, 1)", "3"),
            ("lrotate(1, -1)", "2147483648"),
            ("rrotate(3, 33)", "2147483649"),
            ("extract(0xabcd, 4, 8)", "188"),
            ("extract(4, 2)", "1"),
            ("extract(-1, 0, 32)", "4294967295"),
            ("replace(0, 0xff, 4, 4)", "240"),
            ("replace(15, 0, 1)", "13"),
            ("replace(1, 2, 0, 32)", "2"),
            ("band(2 ^ 40 + 3, 7.9)", "3"),
            ("band(-2 ^ 53, 1)", "0"),
            ("band('7', 3)", "3"),
        ] {
            assert_eq!(evaluate(&format!("bit32.{expression}")), value, "{expression}");
        }
        assert_eq!(evaluate("require('bit32') == bit32"), "true");
    }

    #[test]
    fn what_is_no_number_or_field_is_an_error() {
        for (expression, message) in [
            ("band({})", "argument #1 is a table value, not a number"),
            ("lshift(1)", "argument #2, a number, is missing"),
            ("bnot('x')", "argument #1"),
            ("extract(1, -1)", "cannot be negative"),
            ("extract(1, 0, 0)", "must be positive"),
            ("extract(1, 30, 3)", "non-existent bits"),
            ("replace(1, 1, 2 ^ 70)", "non-existent bits"),
            ("band(0 / 0)", "argument #1"),
        ] {
            let error = run(&format!("return bit32.{expression}")).expect_err(expression);
            assert!(error.contains(message), "{expression}: {error}");
        }
    }
}
