//! `os`, as far as it is a calendar: `time`, `date` and `difftime`, all in UTC.

use tarn_batch::calendar::{Civil, Clock, join_micros, split_micros};

use crate::lua::{Answer, Kind, Lua, Raise};
use crate::session::Phase;

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Seconds that a date can be made of: years of up to six digits.
const SECONDS_MAX: i64 = 31_556_889_864_403;

/// Pushes the library.
pub fn push_library(lua: Lua) {
    lua.push_table(0, 3);
    lua.set_function(-1, "time", time);
    lua.set_function(-1, "date", date);
    lua.set_function(-1, "difftime", difference);
}

fn now(lua: Lua) -> Result<i64, Raise> {
    let session = lua.session();
    if session.phase == Phase::Loading {
        return Err(
            lua.fail("there is no clock while a script is loaded: ask for the time in its entry point")
        );
    }
    Ok(session.host.now_us().div_euclid(1_000_000))
}

/// `os.time([table])`: seconds since 1970 of now or of a date.
fn time(lua: Lua) -> Answer {
    if lua.is_nil(1) {
        let now = now(lua)?;
        lua.push_integer(now);
        return Ok(1);
    }
    if lua.kind(1) != Kind::Table {
        return Err(lua.fail("os.time takes a table with year, month and day"));
    }
    let year = field(lua, "year", None)?;
    let month = field(lua, "month", None)?;
    let day = field(lua, "day", None)?;
    let hour = field(lua, "hour", Some(12))?;
    let minute = field(lua, "min", Some(0))?;
    let second = field(lua, "sec", Some(0))?;
    // Months beyond the year and days beyond the month count on, as in C.
    let months = year * 12 + month - 1;
    let first = Civil { year: months.div_euclid(12), month: months.rem_euclid(12) as u8 + 1, day: 1 };
    let days = first.to_days() + day - 1;
    lua.push_integer(((days * 24 + hour) * 60 + minute) * 60 + second);
    Ok(1)
}

fn field(lua: Lua, name: &str, absent: Option<i64>) -> Result<i64, Raise> {
    const FIELD_MAX: i64 = 1_000_000_000;
    let kind = lua.get_field(1, name);
    let value = lua.integer(-1);
    lua.pop(1);
    match value.or(if kind == Kind::Nil { absent } else { None }) {
        Some(value) if value.abs() <= FIELD_MAX => Ok(value),
        Some(_) => Err(lua.fail(format_args!("field '{name}' is out of range"))),
        None => Err(lua.fail(format_args!("field '{name}' is missing or no whole number"))),
    }
}

/// `os.date([format [, time]])`.
fn date(lua: Lua) -> Answer {
    let seconds = if lua.is_nil(2) { now(lua)? } else { lua.integer(2).unwrap_or(i64::MAX) };
    if seconds.abs() > SECONDS_MAX / 4 {
        return Err(lua.fail("the time is no whole number of seconds in range"));
    }
    let format = if lua.is_nil(1) { Some(b"%c".as_slice()) } else { lua.bytes(1) };
    let Some(format) = format else {
        return Err(lua.fail("os.date takes a format"));
    };
    let format = format.strip_prefix(b"!").unwrap_or(format);
    let moment = split_micros(seconds * 1_000_000);
    if format.starts_with(b"*t") {
        push_fields(lua, moment);
        return Ok(1);
    }
    let text = &mut lua.session().text;
    text.clear();
    let Ok(format) = std::str::from_utf8(format) else {
        return Err(lua.fail("the format is not UTF-8"));
    };
    if let Err(conversion) = write(text, format, moment) {
        return Err(lua.fail(format_args!("invalid conversion specifier '%{conversion}'")));
    }
    lua.push_str(&lua.session().text);
    Ok(1)
}

fn weekday(civil: Civil) -> i64 {
    (civil.to_days() + 4).rem_euclid(7)
}

fn day_of_year(civil: Civil) -> i64 {
    civil.to_days() - Civil { month: 1, day: 1, ..civil }.to_days() + 1
}

fn push_fields(lua: Lua, (civil, clock): (Civil, Clock)) {
    lua.push_table(0, 9);
    for (name, value) in [
        ("year", civil.year),
        ("month", civil.month.into()),
        ("day", civil.day.into()),
        ("hour", clock.hour.into()),
        ("min", clock.minute.into()),
        ("sec", clock.second.into()),
        ("wday", weekday(civil) + 1),
        ("yday", day_of_year(civil)),
    ] {
        lua.push_integer(value);
        lua.set_field(-2, name);
    }
    lua.push_boolean(false);
    lua.set_field(-2, "isdst");
}

/// Appends a date in the conversions of `strftime`; an unknown one is the error.
fn write(out: &mut String, format: &str, moment: (Civil, Clock)) -> Result<(), char> {
    use std::fmt::Write;
    let (civil, clock) = moment;
    let mut rest = format.chars();
    while let Some(character) = rest.next() {
        if character != '%' {
            out.push(character);
            continue;
        }
        let conversion = rest.next().unwrap_or(' ');
        let half_day = (clock.hour + 11) % 12 + 1;
        let day = DAYS[weekday(civil) as usize];
        let month = MONTHS[usize::from(civil.month) - 1];
        let written = match conversion {
            'Y' => write!(out, "{}", civil.year),
            'y' => write!(out, "{:02}", civil.year.rem_euclid(100)),
            'm' => write!(out, "{:02}", civil.month),
            'd' => write!(out, "{:02}", civil.day),
            'e' => write!(out, "{:2}", civil.day),
            'H' => write!(out, "{:02}", clock.hour),
            'I' => write!(out, "{half_day:02}"),
            'M' => write!(out, "{:02}", clock.minute),
            'S' => write!(out, "{:02}", clock.second),
            'p' => out.write_str(if clock.hour < 12 { "AM" } else { "PM" }),
            'j' => write!(out, "{:03}", day_of_year(civil)),
            'w' => write!(out, "{}", weekday(civil)),
            'u' => write!(out, "{}", (weekday(civil) + 6) % 7 + 1),
            'A' => out.write_str(day),
            'a' => out.write_str(&day[..3]),
            'B' => out.write_str(month),
            'b' | 'h' => out.write_str(&month[..3]),
            's' => write!(out, "{}", join_micros(civil, clock).unwrap_or_default() / 1_000_000),
            'Z' => out.write_str("UTC"),
            'z' => out.write_str("+0000"),
            'n' => out.write_char('\n'),
            't' => out.write_char('\t'),
            '%' => out.write_char('%'),
            'F' => return_to(out, "%Y-%m-%d", moment),
            'T' | 'X' => return_to(out, "%H:%M:%S", moment),
            'R' => return_to(out, "%H:%M", moment),
            'D' | 'x' => return_to(out, "%m/%d/%y", moment),
            'c' => return_to(out, "%a %b %e %H:%M:%S %Y", moment),
            unknown => return Err(unknown),
        };
        written.expect("a string takes every character");
    }
    Ok(())
}

/// A conversion that stands for several.
fn return_to(out: &mut String, format: &str, moment: (Civil, Clock)) -> std::fmt::Result {
    write(out, format, moment).map_err(|_| std::fmt::Error)
}

/// `os.difftime(later, earlier)`.
fn difference(lua: Lua) -> Answer {
    match (lua.number(1), lua.number(2)) {
        (Some(later), Some(earlier)) => lua.push_number(later - earlier),
        _ => return Err(lua.fail("os.difftime takes two times")),
    }
    Ok(1)
}
