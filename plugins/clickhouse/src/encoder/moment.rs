//! Days and moments: in range, or not at all.

use tarn_batch::value::{
    DATE_INFINITY, DATE_NEGATIVE_INFINITY, TIMESTAMP_INFINITY, TIMESTAMP_NEGATIVE_INFINITY, read_i32,
    read_i64,
};

use super::Pair;
use crate::fault::Fault;
use crate::target_type::TargetType;

pub(super) fn date32(pair: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let day = read_day(value)?;
    if !pair.range.holds_day(day) {
        return Err(Fault::Range);
    }
    out.extend_from_slice(&day.to_le_bytes());
    Ok(())
}

/// `Date` counts its days in 16 bits without a sign.
pub(super) fn date(_: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let day = u16::try_from(read_day(value)?).map_err(|_| Fault::Range)?;
    out.extend_from_slice(&day.to_le_bytes());
    Ok(())
}

pub(super) fn date_time_64(pair: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let micros = read_micros(value)?;
    if !pair.range.holds_micros(micros) {
        return Err(Fault::Range);
    }
    let TargetType::DateTime64 { precision, .. } = pair.target else { return Err(Fault::Range) };
    out.extend_from_slice(&ticks(micros, precision)?.to_le_bytes());
    Ok(())
}

/// A time of day, up to 24:00:00.
pub(super) fn time_64(pair: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let TargetType::Time64 { precision } = pair.target else { return Err(Fault::Range) };
    out.extend_from_slice(&ticks(read_i64(value)?, precision)?.to_le_bytes());
    Ok(())
}

/// Microseconds in units of a precision, where they are whole ones.
fn ticks(micros: i64, precision: u8) -> Result<i64, Fault> {
    match precision {
        6 => Ok(micros),
        finer @ 7.. => micros.checked_mul(10i64.pow(u32::from(finer) - 6)).ok_or(Fault::Range),
        coarser => divided(micros, 10i64.pow(6 - u32::from(coarser))),
    }
}

/// `DateTime` counts its seconds in 32 bits without a sign.
pub(super) fn date_time(_: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let seconds = divided(read_micros(value)?, 1_000_000)?;
    let seconds = u32::try_from(seconds).map_err(|_| Fault::Range)?;
    out.extend_from_slice(&seconds.to_le_bytes());
    Ok(())
}

fn divided(micros: i64, by: i64) -> Result<i64, Fault> {
    if micros % by == 0 { Ok(micros / by) } else { Err(Fault::Digits) }
}

fn read_day(value: &[u8]) -> Result<i32, Fault> {
    match read_i32(value)? {
        DATE_INFINITY | DATE_NEGATIVE_INFINITY => Err(Fault::Infinity),
        day => Ok(day),
    }
}

fn read_micros(value: &[u8]) -> Result<i64, Fault> {
    match read_i64(value)? {
        TIMESTAMP_INFINITY | TIMESTAMP_NEGATIVE_INFINITY => Err(Fault::Infinity),
        micros => Ok(micros),
    }
}
