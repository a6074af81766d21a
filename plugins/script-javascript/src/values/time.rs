//! `Time`: dates, times of day and points in time.

use tarn_batch::calendar::{Civil, Clock};
use tarn_batch::value::TimeTz;
use tarn_script::moment::{Instant, Moment, MomentKind, opposite, parse_any};

use super::interval;
use crate::assign;
use crate::js::{Answer, Js, Kind, Throw, View, argument};
use crate::session::Phase;

/// The kinds of times, by the byte that stands for them.
const KINDS: [(MomentKind, &str); 5] = [
    (MomentKind::Date, "date"),
    (MomentKind::Time, "time"),
    (MomentKind::TimeTz, "timetz"),
    (MomentKind::Timestamp, "timestamp"),
    (MomentKind::TimestampTz, "timestamptz"),
];

/// Makes the constructor, and what times inherit.
pub fn constructor(js: Js) -> Answer {
    let prototype = js.object()?;
    prototype.getter("kind", |js, this| js.string(KINDS[place(check(js, this)?.kind())].1))?;
    prototype.getter("epochMicroseconds", |js, this| match micros(&check(js, this)?) {
        Some(micros) => match i64::try_from(micros) {
            Ok(micros) => js.big_int(micros),
            // A date far beyond what a timestamp holds.
            Err(_) => js.big_digits(&micros.to_string()),
        },
        None => Ok(js.null()),
    })?;
    prototype.getter("epochMilliseconds", |js, this| {
        Ok(match micros(&check(js, this)?) {
            Some(micros) => js.number(micros as f64 / 1e3),
            None => js.null(),
        })
    })?;
    prototype.getter("year", |js, this| date(js, this, |civil| civil.year))?;
    prototype.getter("month", |js, this| date(js, this, |civil| civil.month.into()))?;
    prototype.getter("day", |js, this| date(js, this, |civil| civil.day.into()))?;
    prototype.getter("dayOfYear", |js, this| {
        date(js, this, |civil| civil.to_days() - Civil { month: 1, day: 1, ..civil }.to_days() + 1)
    })?;
    // From Monday, which is 1.
    prototype
        .getter("dayOfWeek", |js, this| date(js, this, |civil| (civil.to_days() + 3).rem_euclid(7) + 1))?;
    prototype.getter("hour", |js, this| clock(js, this, |clock| clock.hour.into()))?;
    prototype.getter("minute", |js, this| clock(js, this, |clock| clock.minute.into()))?;
    prototype.getter("second", |js, this| clock(js, this, |clock| clock.second.into()))?;
    prototype.getter("millisecond", |js, this| clock(js, this, |clock| clock.micros as i32 / 1_000))?;
    prototype.getter("microsecond", |js, this| clock(js, this, |clock| clock.micros as i32 % 1_000))?;
    prototype.getter("offsetSeconds", |js, this| Ok(js.integer(check(js, this)?.offset())))?;
    prototype.getter("isFinite", |js, this| Ok(js.boolean(check(js, this)?.is_finite())))?;
    prototype.method("plus", 1, |js, this, given| {
        result(js, check(js, this)?.plus(span(js, argument(given, 0))?))
    })?;
    prototype.method("minus", 1, |js, this, given| {
        let moment = check(js, this)?;
        result(js, opposite(span(js, argument(given, 0))?).and_then(|span| moment.plus(span)))
    })?;
    prototype.method("since", 1, |js, this, given| {
        let between = check(js, this)?.since(&operand(js, argument(given, 0))?);
        interval::make(
            js,
            between.ok_or_else(|| Throw::of_range("there is no interval between these times"))?,
        )
    })?;
    prototype.method("compare", 1, |js, this, given| compare(js, this, argument(given, 0)))?;
    prototype.method("equals", 1, |js, this, given| {
        let this = check(js, this)?;
        let order = get(js, argument(given, 0)).and_then(|other| this.compare(&other));
        Ok(js.boolean(order.is_some_and(std::cmp::Ordering::is_eq)))
    })?;
    prototype.method("toDate", 0, to_date)?;
    prototype.method("toString", 0, text)?;
    prototype.method("toJSON", 0, text)?;
    let constructor = js.constructor("Time", 1, |js, _, given| make(js, operand(js, argument(given, 0))?))?;
    constructor.method("from", 1, |js, _, given| make(js, operand(js, argument(given, 0))?))?;
    constructor.method("fromEpochMicroseconds", 1, |js, _, given| {
        let micros = js.integer_of(argument(given, 0));
        let micros = micros.filter(|&micros| micros != i64::MAX && micros != i64::MIN);
        let micros =
            micros.ok_or_else(|| Throw::of_range("microseconds since 1970 are a whole number of 64 bits"))?;
        make(js, Moment::new(MomentKind::TimestampTz, micros))
    })?;
    constructor.method("fromEpochMilliseconds", 1, |js, _, given| {
        let moment = js.number_of(argument(given, 0)).and_then(assign::of_milliseconds);
        make(js, moment.ok_or_else(|| Throw::of_range("milliseconds since 1970 are a number"))?)
    })?;
    constructor.method("now", 0, |js, _, _| {
        let micros = now_us(js)?;
        make(js, Moment::new(MomentKind::TimestampTz, micros))
    })?;
    constructor.method("compare", 2, |js, _, given| compare(js, argument(given, 0), argument(given, 1)))?;
    let class = js.session().classes().time;
    js.set_prototype(class, prototype);
    js.set_constructor(*constructor, class)?;
    Ok(constructor)
}

fn place(kind: MomentKind) -> usize {
    KINDS.iter().position(|(known, _)| *known == kind).unwrap_or_default()
}

/// A time.
#[inline]
pub fn make(js: Js, moment: Moment) -> Answer {
    let mut bytes = [0; 12];
    let length = if moment.kind() == MomentKind::TimeTz { 12 } else { 8 };
    bytes[..8].copy_from_slice(&moment.value().to_le_bytes());
    bytes[8..].copy_from_slice(&moment.offset().to_le_bytes());
    js.with_data(js.session().classes().time, [&[place(moment.kind()) as u8], &bytes[..length]])
}

/// The time, if the value is one.
pub fn get(js: Js, value: View) -> Option<Moment> {
    let (&kind, bytes) = js.data_in(value, js.session().classes().time)?.split_first()?;
    let value = i64::from_le_bytes(*bytes.first_chunk()?);
    Some(match KINDS[usize::from(kind)].0 {
        MomentKind::TimeTz => {
            let offset = bytes.get(8..12).and_then(|bytes| bytes.try_into().ok()).map(i32::from_le_bytes);
            Moment::time_tz(TimeTz { micros: value, offset: offset.unwrap_or_default() })
        }
        kind => Moment::new(kind, value),
    })
}

fn check(js: Js, value: View) -> Answer<Moment> {
    get(js, value).ok_or_else(|| {
        Throw::of_type(format_args!("a Time is needed here, not {}", assign::described(js, value)))
    })
}

fn span(js: Js, value: View) -> Answer<tarn_batch::value::Interval> {
    interval::get(js, value).ok_or_else(|| {
        Throw::of_type(format_args!("an Interval is needed here, not {}", assign::described(js, value)))
    })
}

/// A time, a `Date`, or the text of a time.
fn operand(js: Js, value: View) -> Answer<Moment> {
    if let Some(moment) = get(js, value) {
        return Ok(moment);
    }
    let found = match value.kind() {
        Kind::String => js.text(value)?.as_str().and_then(parse_any),
        Kind::Object if js.is_date(value) => of_date(js, value)?,
        _ => None,
    };
    found.ok_or_else(|| Throw::of_type(format_args!("this {} is not a time", assign::given(js, value))))
}

/// The point in time that a `Date` is; none for an invalid one. May run script code.
pub fn of_date(js: Js, date: View) -> Answer<Option<Moment>> {
    let time_of = js.get(date, "getTime")?;
    let milliseconds = js.call(*time_of, date, &[])?;
    Ok(js.number_of(*milliseconds).and_then(assign::of_milliseconds))
}

fn to_date(js: Js, this: View, _: &[View]) -> Answer {
    let moment = check(js, this)?;
    let milliseconds = match moment.instant() {
        Some(Instant::At(micros)) => micros.div_euclid(1_000) as f64,
        _ => return Err(Throw::of_range("a time of day or an infinity is no Date")),
    };
    let constructor = js.global().get("Date")?;
    let milliseconds = js.number(milliseconds);
    js.construct(*constructor, &[*milliseconds])
}

/// Microseconds since 1970, or midnight; none for infinities.
fn micros(moment: &Moment) -> Option<i128> {
    match moment.instant() {
        Some(Instant::At(micros)) => Some(micros),
        Some(Instant::Past | Instant::Future) => None,
        None => Some(moment.value().into()),
    }
}

fn date(js: Js, this: View, part: fn(Civil) -> i64) -> Answer {
    match check(js, this)?.civil() {
        Some((civil, _)) => js.exact_integer(part(civil)),
        None => Ok(js.null()),
    }
}

fn clock(js: Js, this: View, part: fn(Clock) -> i32) -> Answer {
    Ok(match check(js, this)?.clock() {
        Some(clock) => js.integer(part(clock)),
        None => js.null(),
    })
}

fn compare(js: Js, one: View, two: View) -> Answer {
    let order = operand(js, one)?.compare(&operand(js, two)?);
    let order = order.ok_or_else(|| Throw::of_type("these times are of different kinds"))?;
    Ok(js.integer(order as i32))
}

fn result(js: Js, moment: Option<Moment>) -> Answer {
    make(js, moment.ok_or_else(|| Throw::of_range("the time is out of range"))?)
}

/// RFC 3339 for points in time, the text of PostgreSQL for others.
fn text(js: Js, this: View, _: &[View]) -> Answer {
    let mut text = String::new();
    check(js, this)?.write_portable(&mut text);
    js.string(&text)
}

/// The time now. While a script is loaded there is none.
pub fn now_us(js: Js) -> Answer<i64> {
    let session = js.session();
    if session.phase == Phase::Loading {
        return Err(Throw::of_type(
            "there is no clock while a script is loaded: ask for the time in its entry point",
        ));
    }
    Ok(session.host.now_us())
}
