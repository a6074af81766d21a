use proptest::prelude::*;
use tarn_batch::Type;

use super::SentDecoder;
use crate::value::{Decoder, ValueError};

/// The value of a form.
fn value(decoder: &SentDecoder, sent: &[u8]) -> Result<Vec<u8>, ValueError> {
    let mut out = Vec::new();
    decoder.write(sent, &mut out).map(|()| out)
}

/// The value of a text.
fn of_text(data_type: &Type, text: &str) -> Result<Vec<u8>, ValueError> {
    let mut out = Vec::new();
    Decoder::scalar(data_type).write(text.as_bytes(), &mut out).map(|()| out)
}

/// A numeric as the server sends it: groups of four digits around the point.
fn sent_numeric(negative: bool, whole: &str, fraction: &str) -> Vec<u8> {
    let padded = format!("{whole:0>width$}", width = whole.len().div_ceil(4) * 4);
    let behind = format!("{fraction:0<width$}", width = fraction.len().div_ceil(4) * 4);
    let mut groups: Vec<u16> = (padded.clone() + &behind).as_bytes().chunks(4).map(parsed).collect();
    let mut weight = padded.len() as i16 / 4 - 1;
    while groups.first() == Some(&0) {
        groups.remove(0);
        weight -= 1;
    }
    while groups.last() == Some(&0) {
        groups.pop();
    }
    let sign = if negative && !groups.is_empty() { 0x4000u16 } else { 0 };
    let weight = if groups.is_empty() { 0 } else { weight };
    let mut sent = (groups.len() as u16).to_be_bytes().to_vec();
    sent.extend(weight.to_be_bytes());
    sent.extend(sign.to_be_bytes());
    sent.extend((fraction.len() as u16).to_be_bytes());
    sent.extend(groups.iter().flat_map(|group| group.to_be_bytes()));
    sent
}

fn parsed(digits: &[u8]) -> u16 {
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).expect("digits")
}

proptest! {
    #[test]
    fn a_numeric_is_the_text_that_the_server_would_write(
        negative: bool,
        whole in "0|[1-9][0-9]{0,40}",
        fraction in "[0-9]{0,40}|0{0,9}[0-9]{0,3}",
    ) {
        let sent = value(&SentDecoder::Numeric, &sent_numeric(negative, &whole, &fraction)).expect("a numeric");
        let point = if fraction.is_empty() { "" } else { "." };
        let text = format!("{}{whole}{point}{fraction}", if negative { "-" } else { "" });
        let expected = of_text(&Type::Numeric { precision: 0, scale: 0 }, &text).expect("a numeric");
        prop_assert_eq!(String::from_utf8(sent), String::from_utf8(expected));
    }

    #[test]
    fn bytes_of_any_kind_are_a_value_or_an_error(bytes: Vec<u8>) {
        for decoder in [
            SentDecoder::Bool,
            SentDecoder::Numeric,
            SentDecoder::Jsonb,
            SentDecoder::TimeTz,
            SentDecoder::Interval,
            SentDecoder::Timestamp,
            SentDecoder::Array(Box::new(SentDecoder::Int4)),
            SentDecoder::Array(Box::new(SentDecoder::Numeric)),
        ] {
            let _outcome = value(&decoder, &bytes);
        }
    }

    #[test]
    fn floats_are_the_ones_of_their_texts(float: f64) {
        let sent = value(&SentDecoder::Float8, &float.to_be_bytes()).expect("a float");
        let expected = of_text(&Type::Float8, &format!("{float:?}")).expect("a float");
        prop_assert_eq!(sent, expected);
    }
}

#[test]
fn numbers_that_are_none_are_said_as_their_texts() {
    for (sign, text) in [(0xC000u16, "NaN"), (0xD000, "Infinity"), (0xF000, "-Infinity")] {
        let sent = [[0, 0, 0, 0], [(sign >> 8) as u8, sign as u8, 0, 0]].concat();
        assert_eq!(value(&SentDecoder::Numeric, &sent), Ok(text.as_bytes().to_vec()));
    }
    // Whatever bits it has.
    let nan = f64::from_bits(0xFFF8_0000_0000_0001);
    assert_eq!(value(&SentDecoder::Float8, &nan.to_be_bytes()), of_text(&Type::Float8, "NaN"));
}

#[test]
fn dates_and_times_are_the_ones_of_their_texts() {
    for (days, text) in
        [(0, "2000-01-01"), (-10_957, "1970-01-01"), (i32::MAX, "infinity"), (i32::MIN, "-infinity")]
    {
        assert_eq!(value(&SentDecoder::Date, &days.to_be_bytes()), of_text(&Type::Date, text));
    }
    for (micros, text) in [
        (1, "2000-01-01 00:00:00.000001"),
        (i64::MAX, "infinity"),
        (i64::MIN, "-infinity"),
        (-946_684_800_000_001, "1969-12-31 23:59:59.999999"),
    ] {
        assert_eq!(value(&SentDecoder::Timestamp, &micros.to_be_bytes()), of_text(&Type::Timestamp, text));
    }
    // B010: beyond what a batch holds.
    let late: i64 = 9_223_371_331_200_000_000 - 1;
    assert_eq!(value(&SentDecoder::Timestamp, &late.to_be_bytes()), Err(ValueError::OutOfRange("timestamp")));
    let sent = [&43_200_000_000i64.to_be_bytes()[..], &(-19_800i32).to_be_bytes()].concat();
    assert_eq!(value(&SentDecoder::TimeTz, &sent), of_text(&Type::TimeTz, "12:00:00+05:30"));
    let sent =
        [&(-14_706_000_000i64).to_be_bytes()[..], &3i32.to_be_bytes(), &(-14i32).to_be_bytes()].concat();
    let text = "-1 years -2 mons +3 days -04:05:06";
    assert_eq!(value(&SentDecoder::Interval, &sent), of_text(&Type::Interval, text));
}

#[test]
fn what_is_not_in_its_types_form_is_refused() {
    for (decoder, sent) in [
        (SentDecoder::Bool, &[2][..]),
        (SentDecoder::Int4, &[0; 3]),
        (SentDecoder::Uuid, &[0; 15]),
        (SentDecoder::Jsonb, b"\x02{}"),
        (SentDecoder::Text, b"\xFF"),
        (SentDecoder::Numeric, &[0, 1, 0, 0, 0, 0, 0, 0, 0x27, 0x10]),
        (SentDecoder::Numeric, &[0, 2, 0, 0, 0, 0, 0, 0, 0, 1]),
        (SentDecoder::Array(Box::new(SentDecoder::Bool)), &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 2]),
    ] {
        assert!(value(&decoder, sent).is_err(), "{decoder:?}");
    }
}
