//! `Interval`: months, days and microseconds.

use tarn_batch::value::{Interval, read_interval, write_interval};
use tarn_script::interval;
use tarn_script::moment::{opposite, sum};

use crate::assign;
use crate::js::{Answer, Js, Throw, View, argument};

/// Makes the constructor, and what intervals inherit.
pub fn constructor(js: Js) -> Answer {
    let prototype = js.object()?;
    prototype.getter("months", |js, this| Ok(js.integer(check(js, this)?.months)))?;
    prototype.getter("days", |js, this| Ok(js.integer(check(js, this)?.days)))?;
    prototype.getter("microseconds", |js, this| js.big_int(check(js, this)?.micros))?;
    prototype.getter("totalSeconds", |js, this| {
        Ok(js.number(interval::total_micros(check(js, this)?) as f64 / 1e6))
    })?;
    prototype.method("plus", 1, |js, this, given| {
        result(js, sum(check(js, this)?, check(js, argument(given, 0))?))
    })?;
    prototype.method("minus", 1, |js, this, given| {
        let this = check(js, this)?;
        result(js, opposite(check(js, argument(given, 0))?).and_then(|other| sum(this, other)))
    })?;
    prototype.method("times", 1, |js, this, given| {
        let factor = js.integer_of(argument(given, 0));
        let factor = factor.ok_or_else(|| Throw::of_type("an interval is multiplied by a whole number"))?;
        result(js, interval::times(check(js, this)?, factor))
    })?;
    prototype.method("negate", 0, |js, this, _| result(js, opposite(check(js, this)?)))?;
    prototype.method("compare", 1, |js, this, given| {
        let length = |value| Ok::<_, Throw>(interval::total_micros(check(js, value)?));
        Ok(js.integer(length(this)?.cmp(&length(argument(given, 0))?) as i32))
    })?;
    prototype.method("equals", 1, |js, this, given| {
        let this = interval::total_micros(check(js, this)?);
        let other = get(js, argument(given, 0)).map(interval::total_micros);
        Ok(js.boolean(other == Some(this)))
    })?;
    prototype.method("toString", 0, text)?;
    prototype.method("toJSON", 0, text)?;
    let constructor = js.constructor("Interval", 3, create)?;
    let class = js.session().classes().interval;
    js.set_prototype(class, prototype);
    js.set_constructor(*constructor, class)?;
    Ok(constructor)
}

/// An interval.
pub fn make(js: Js, interval: Interval) -> Answer {
    let mut bytes = Vec::with_capacity(16);
    write_interval(&mut bytes, interval);
    js.with_data(js.session().classes().interval, [&bytes, &[]])
}

/// The interval, if the value is one.
pub fn get(js: Js, value: View) -> Option<Interval> {
    let bytes = js.data_in(value, js.session().classes().interval)?;
    Some(read_interval(bytes).expect("an interval's data is its value"))
}

fn check(js: Js, value: View) -> Answer<Interval> {
    get(js, value).ok_or_else(|| {
        Throw::of_type(format_args!("an Interval is needed here, not {}", assign::described(js, value)))
    })
}

fn result(js: Js, interval: Option<Interval>) -> Answer {
    make(js, interval.ok_or_else(|| Throw::of_range("the interval is out of range"))?)
}

/// `Interval(months, days, microseconds)`.
fn create(js: Js, _: View, given: &[View]) -> Answer {
    let part = |at| {
        let value = argument(given, at);
        if value.is_nothing() { Some(0) } else { js.integer_of(value) }
    };
    let small = |at| part(at).and_then(|value| i32::try_from(value).ok());
    match (small(0), small(1), part(2)) {
        (Some(months), Some(days), Some(micros)) => make(js, Interval { months, days, micros }),
        _ => Err(Throw::of_type("an interval is made of whole months, days and microseconds")),
    }
}

fn text(js: Js, this: View, _: &[View]) -> Answer {
    let mut text = String::new();
    interval::write_text(check(js, this)?, &mut text);
    js.string(&text)
}
