//! Exact decimals: digits in, digits out, no float on the way.

use super::{Pair, number};
use crate::fault::Fault;
use crate::target_type::{TargetType, decimal_width};

/// A numeric's text as a decimal of the target's digits.
pub(super) fn decimal(pair: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let TargetType::Decimal { precision, scale } = pair.target else { return Err(Fault::Range) };
    match decimal_width(precision) {
        4 => {
            let (negative, magnitude) = scaled::<u64>(value, precision, scale)?;
            // Nine digits fit 32 bits.
            out.extend_from_slice(&signed(negative, magnitude).to_le_bytes()[..4]);
        }
        8 => {
            let (negative, magnitude) = scaled::<u64>(value, precision, scale)?;
            out.extend_from_slice(&signed(negative, magnitude).to_le_bytes());
        }
        16 => {
            let (negative, magnitude) = scaled::<u128>(value, precision, scale)?;
            let number = if negative { magnitude.wrapping_neg() } else { magnitude };
            out.extend_from_slice(&number.to_le_bytes());
        }
        _ => {
            let (negative, magnitude) = scaled::<Wide>(value, precision, scale)?;
            magnitude.write(negative, out);
        }
    }
    Ok(())
}

/// A numeric without a fraction as an integer.
pub(super) fn integer(pair: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    // 38 digits are what i128 surely holds; no integer of the source has more.
    let (negative, magnitude) = scaled::<u128>(value, 38, 0)?;
    let magnitude = i128::try_from(magnitude).map_err(|_| Fault::Range)?;
    number::write_integer(&pair.target, if negative { -magnitude } else { magnitude }, out)
}

/// An integer as a decimal.
pub(super) fn of_integer(pair: &Pair, value: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let text = number::read_integer(&pair.source, value)?.to_string();
    decimal(pair, text.as_bytes(), out)
}

/// Takes decimal digits, the most significant first.
trait Digits: Default {
    fn push(&mut self, digit: u8);
}

impl Digits for u64 {
    #[inline]
    fn push(&mut self, digit: u8) {
        *self = *self * 10 + u64::from(digit);
    }
}

impl Digits for u128 {
    #[inline]
    fn push(&mut self, digit: u8) {
        *self = *self * 10 + u128::from(digit);
    }
}

/// 256 bits, the least significant limb first.
#[derive(Default)]
struct Wide([u64; 4]);

impl Digits for Wide {
    fn push(&mut self, digit: u8) {
        let mut carry = u128::from(digit);
        for limb in &mut self.0 {
            carry += u128::from(*limb) * 10;
            *limb = carry as u64;
            carry >>= 64;
        }
    }
}

impl Wide {
    fn write(&self, negative: bool, out: &mut Vec<u8>) {
        let mut carry = negative;
        for limb in self.0 {
            // Two's complement: inverted, plus one.
            let (limb, carried) =
                if negative { (!limb).overflowing_add(carry.into()) } else { (limb, false) };
            carry = carried;
            out.extend_from_slice(&limb.to_le_bytes());
        }
    }
}

fn signed(negative: bool, magnitude: u64) -> u64 {
    if negative { magnitude.wrapping_neg() } else { magnitude }
}

/// The number times ten to the scale: whether it is negative, and its magnitude of at most `precision`
/// digits, so that it fits what it is collected in.
fn scaled<D: Digits>(text: &[u8], precision: u8, scale: u8) -> Result<(bool, D), Fault> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    if !text.first().is_some_and(u8::is_ascii_digit) {
        return Err(Fault::NotANumber);
    }
    let mut digits = D::default();
    let mut count = 0u8;
    let mut push = |digit: u8| {
        if count > 0 || digit > 0 {
            count += 1;
        }
        if count > precision {
            return Err(Fault::Range);
        }
        digits.push(digit);
        Ok(())
    };
    let mut rest = text.iter();
    for &byte in rest.by_ref().take_while(|&&byte| byte != b'.') {
        push(byte.wrapping_sub(b'0'))?;
    }
    for _ in 0..scale {
        push(rest.next().map_or(0, |byte| byte.wrapping_sub(b'0')))?;
    }
    if rest.any(|&byte| byte != b'0') {
        return Err(Fault::Digits);
    }
    Ok((negative, digits))
}
