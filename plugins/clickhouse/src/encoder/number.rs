//! Integers and floats.

use tarn_batch::Type;
use tarn_batch::value::{read_bool, read_f32, read_f64, read_i16, read_i32, read_i64};

use super::Pair;
use crate::fault::Fault;
use crate::target_type::TargetType;

/// A float with one form of zero and one of NaN.
pub(super) fn float_of_key(pair: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let float = match pair.source {
        Type::Float4 => read_f32(value)?.into(),
        Type::Float8 => read_f64(value)?,
        _ => return integer_as_float(pair, value, out),
    };
    // Adding zero takes the sign off a zero.
    let float = if float.is_nan() { f64::NAN } else { float + 0.0 };
    match pair.target {
        // It was one, so nothing is lost.
        TargetType::Float32 => out.extend_from_slice(&(float as f32).to_le_bytes()),
        _ => out.extend_from_slice(&float.to_le_bytes()),
    }
    Ok(())
}

/// The same bytes on both sides.
pub(super) fn fixed<const N: usize>(_: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let bytes: &[u8; N] =
        value.try_into().map_err(|_| tarn_batch::DecodeError::Invalid("value of a fixed size"))?;
    out.extend_from_slice(bytes);
    Ok(())
}

/// An integer of another size or sign.
pub(super) fn integer(pair: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    write_integer(&pair.target, read_integer(&pair.source, value)?.into(), out)
}

/// An integer that a float holds exactly.
pub(super) fn integer_as_float(pair: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let integer = i32::try_from(read_integer(&pair.source, value)?).map_err(|_| Fault::Range)?;
    out.extend_from_slice(&f64::from(integer).to_le_bytes());
    Ok(())
}

pub(super) fn widened_float(_: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    out.extend_from_slice(&f64::from(read_f32(value)?).to_le_bytes());
    Ok(())
}

/// The integer in a value of an integer or truth type.
pub(super) fn read_integer(source: &Type, value: &[u8]) -> Result<i64, Fault> {
    Ok(match source {
        Type::Bool => read_bool(value)?.into(),
        Type::Int2 => read_i16(value)?.into(),
        Type::Int4 => read_i32(value)?.into(),
        _ => read_i64(value)?,
    })
}

/// Appends an integer where it is within the target's range.
pub(super) fn write_integer(target: &TargetType, integer: i128, out: &mut Vec<u8>) -> Result<(), Fault> {
    let (width, fits) = match target {
        TargetType::UInt(width) => (*width, integer >= 0 && (*width >= 16 || integer >> (width * 8) == 0)),
        TargetType::Int(width) => {
            let beyond = if *width >= 16 { 0 } else { integer >> (width * 8 - 1) };
            (*width, beyond == 0 || beyond == -1)
        }
        _ => (0, false),
    };
    if !fits {
        return Err(Fault::Range);
    }
    let sign = if integer < 0 { 0xff } else { 0 };
    let bytes = integer.to_le_bytes();
    out.extend_from_slice(&bytes[..width.min(bytes.len())]);
    out.resize(out.len() + width.saturating_sub(bytes.len()), sign);
    Ok(())
}
