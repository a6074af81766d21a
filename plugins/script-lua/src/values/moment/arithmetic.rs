//! Times and intervals in one operation, as PostgreSQL calculates them.

use tarn_batch::value;
use tarn_script::moment::{opposite, sum};

use super::{Moment, get, push};
use crate::lua::{Answer, Lua, Raise};
use crate::values::interval;

const OUT_OF_RANGE: &str = "the time is out of range";

fn no_such_operation(lua: Lua, what: &str) -> Raise {
    let name = |index| crate::assign::given(lua, index);
    lua.fail(format_args!("attempt to {what} a {} and a {} value", name(1), name(2)))
}

/// `__add` of times and intervals.
pub fn add(lua: Lua) -> Answer {
    let span = |index| interval::get(lua, index).map(|interval| interval.value());
    let later = match (get(lua, 1), span(1), get(lua, 2), span(2)) {
        (Some(moment), _, _, Some(span)) | (_, Some(span), Some(moment), _) => moment.plus(span),
        (_, Some(one), _, Some(two)) => return push_interval(lua, sum(one, two)),
        _ => return Err(no_such_operation(lua, "add")),
    };
    push_moment(lua, later)
}

/// `__sub` of times and intervals.
pub fn subtract(lua: Lua) -> Answer {
    let span = |index| interval::get(lua, index).map(|interval| interval.value());
    match (get(lua, 1), span(1), get(lua, 2), span(2)) {
        (Some(one), _, Some(two), _) => push_interval(lua, one.since(&two)),
        (Some(moment), _, _, Some(span)) => {
            push_moment(lua, opposite(span).and_then(|span| moment.plus(span)))
        }
        (_, Some(one), _, Some(two)) => push_interval(lua, opposite(two).and_then(|two| sum(one, two))),
        _ => Err(no_such_operation(lua, "subtract")),
    }
}

fn push_moment(lua: Lua, moment: Option<Moment>) -> Answer {
    push(lua, moment.ok_or_else(|| lua.fail(OUT_OF_RANGE))?);
    Ok(1)
}

/// Pushes the result of a calculation.
pub fn push_interval(lua: Lua, value: Option<value::Interval>) -> Answer {
    interval::push(lua, value.ok_or_else(|| lua.fail("the interval is out of range"))?);
    Ok(1)
}
