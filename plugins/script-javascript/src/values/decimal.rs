//! `Decimal`: an exact decimal number.

use tarn_script::config::ARITHMETIC_DIGITS_MAX;
use tarn_script::number::{ArithmeticError, Finite, Number};

use crate::assign;
use crate::js::{Answer, Js, Throw, View, argument};

/// Makes the constructor, and what decimals inherit.
pub fn constructor(js: Js) -> Answer {
    let prototype = js.object()?;
    prototype.method("plus", 1, |js, this, given| calculate(js, this, given, Number::plus))?;
    prototype.method("minus", 1, |js, this, given| calculate(js, this, given, Number::minus))?;
    prototype.method("times", 1, |js, this, given| calculate(js, this, given, Number::times))?;
    prototype.method("over", 1, |js, this, given| calculate(js, this, given, Number::over))?;
    prototype.method("floorOver", 1, |js, this, given| calculate(js, this, given, Number::floor_over))?;
    prototype.method("modulo", 1, |js, this, given| calculate(js, this, given, Number::modulo))?;
    prototype.method("power", 1, |js, this, given| calculate(js, this, given, Number::power))?;
    prototype.method("negate", 0, |js, this, _| make(js, &check(js, this)?.negate()))?;
    prototype.method("abs", 0, |js, this, _| {
        let number = check(js, this)?;
        let zero = Number::parse("0").expect("zero is a number");
        make(js, &if number.compare(&zero).is_lt() { number.negate() } else { number })
    })?;
    prototype.method("round", 1, round)?;
    prototype.method("compare", 1, |js, this, given| {
        let order = check(js, this)?.compare(&operand(js, argument(given, 0))?);
        Ok(js.integer(order as i32))
    })?;
    prototype.method("equals", 1, |js, this, given| {
        let number = check(js, this)?;
        let other = assign::number(js, argument(given, 0));
        Ok(js.boolean(other.is_some_and(|other| number.compare(&other).is_eq())))
    })?;
    prototype.method("toString", 0, text)?;
    prototype.method("toJSON", 0, text)?;
    prototype.method("toNumber", 0, |js, this, _| Ok(js.number(check(js, this)?.to_float())))?;
    prototype.method("toBigInt", 0, |js, this, _| whole(js, this, Finite::truncate))?;
    prototype.getter("coefficient", |js, this| whole(js, this, Finite::coefficient))?;
    prototype.getter("scale", |js, this| part(js, this, |number| number.scale() as i32))?;
    prototype.getter("sign", |js, this| part(js, this, |number| number.sign() as i32))?;
    prototype.getter("isInteger", |js, this| {
        let number = check(js, this)?;
        Ok(js.boolean(matches!(number, Number::Finite(number) if number.significant_scale() == 0)))
    })?;
    prototype.getter("isFinite", |js, this| Ok(js.boolean(matches!(check(js, this)?, Number::Finite(_)))))?;
    let constructor = js.constructor("Decimal", 1, |js, _, given| create(js, argument(given, 0)))?;
    constructor.method("from", 1, |js, _, given| create(js, argument(given, 0)))?;
    constructor.method("compare", 2, |js, _, given| {
        let order = operand(js, argument(given, 0))?.compare(&operand(js, argument(given, 1))?);
        Ok(js.integer(order as i32))
    })?;
    let class = js.session().classes().decimal;
    js.set_prototype(class, prototype);
    js.set_constructor(*constructor, class)?;
    Ok(constructor)
}

/// A decimal of canonical text.
#[inline]
pub fn of_text(js: Js, text: &[u8]) -> Answer {
    js.with_data(js.session().classes().decimal, [text, &[]])
}

/// A decimal.
pub fn make(js: Js, number: &Number) -> Answer {
    of_text(js, number.to_string().as_bytes())
}

/// The decimal's text, if the value is one.
pub fn text_of<'a>(js: Js, value: View) -> Option<&'a str> {
    let bytes = js.data_in(value, js.session().classes().decimal)?;
    Some(std::str::from_utf8(bytes).expect("a decimal is ASCII"))
}

/// The number, if the value is a decimal.
pub fn get(js: Js, value: View) -> Option<Number> {
    text_of(js, value).map(|text| Number::parse(text).expect("a decimal's text is canonical"))
}

fn check(js: Js, value: View) -> Answer<Number> {
    get(js, value).ok_or_else(|| {
        Throw::of_type(format_args!("a Decimal is needed here, not {}", assign::described(js, value)))
    })
}

/// A side of an operation.
fn operand(js: Js, value: View) -> Answer<Number> {
    assign::number(js, value).ok_or_else(|| {
        Throw::of_type(format_args!("{} is not a decimal number", assign::described(js, value)))
    })
}

/// `Decimal(value)`: of a number, a `BigInt`, text or a decimal.
fn create(js: Js, value: View) -> Answer {
    if text_of(js, value).is_some() {
        return Ok(js.own(value));
    }
    make(js, &operand(js, value)?)
}

type Operation = fn(&Number, &Number) -> Result<Number, ArithmeticError>;

fn calculate(js: Js, this: View, given: &[View], operation: Operation) -> Answer {
    let (one, two) = (check(js, this)?, operand(js, argument(given, 0))?);
    make(js, &operation(&one, &two).map_err(Throw::of_range)?)
}

/// `decimal.round(places)`: half away from zero.
fn round(js: Js, this: View, given: &[View]) -> Answer {
    let places = argument(given, 0);
    let places = if places.is_nothing() {
        Some(0)
    } else {
        js.integer_of(places).and_then(|n| usize::try_from(n).ok())
    };
    let Some(places) = places.filter(|&places| places <= ARITHMETIC_DIGITS_MAX) else {
        return Err(Throw::of_range("the places to round to are a small whole number"));
    };
    match check(js, this)? {
        Number::Finite(number) => make(js, &Number::Finite(number.round(places))),
        number => make(js, &number),
    }
}

fn text(js: Js, this: View, _: &[View]) -> Answer {
    check(js, this)?;
    js.string(text_of(js, this).unwrap_or_default())
}

/// A part that is a whole number; an infinity and NaN have none.
fn whole(js: Js, this: View, part: fn(&Finite) -> Finite) -> Answer {
    match check(js, this)? {
        Number::Finite(number) => js.big_digits(&part(&number).to_string()),
        Number::Infinity { .. } | Number::NaN => {
            Err(Throw::of_range("NaN and the infinities have no digits"))
        }
    }
}

fn part(js: Js, this: View, part: fn(&Finite) -> i32) -> Answer {
    Ok(match check(js, this)? {
        Number::Finite(number) => js.integer(part(&number)),
        Number::Infinity { .. } | Number::NaN => js.null(),
    })
}
