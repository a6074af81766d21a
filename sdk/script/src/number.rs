//! Exact decimal arithmetic, digit by digit.

use std::cmp::Ordering;
use std::fmt;

use crate::config::{ARITHMETIC_DIGITS_MAX, DIVISION_DIGITS, EXPONENT_MAX};

mod binary;
mod digits;

/// A decimal number: what PostgreSQL's `numeric` holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Number {
    /// A number with an end.
    Finite(Finite),
    /// Beyond all numbers.
    Infinity {
        /// Below them instead.
        negative: bool,
    },
    /// Not a number.
    NaN,
}

/// Sign, digits and where the point is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finite {
    /// Below zero. Zero is not.
    negative: bool,
    /// 0 to 9 each, the greatest place first, without zeros in front.
    digits: Vec<u8>,
    /// How many of them are after the point.
    scale: usize,
}

/// Why arithmetic has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArithmeticError {
    /// Division by zero.
    DivisionByZero,
    /// More digits than are calculated with.
    TooLong,
    /// A power that is not a whole number.
    FractionalPower,
}

impl fmt::Display for ArithmeticError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DivisionByZero => out.write_str("attempt to divide a decimal by zero"),
            Self::TooLong => {
                write!(out, "a decimal in arithmetic has more than {ARITHMETIC_DIGITS_MAX} digits")
            }
            Self::FractionalPower => out.write_str("the power of a decimal is not a whole number"),
        }
    }
}

impl Finite {
    fn new(negative: bool, digits: Vec<u8>, scale: usize) -> Self {
        let digits = digits::without_leading_zeros(digits);
        Self { negative: negative && !digits.is_empty(), digits, scale }
    }

    /// Reads `-?digits[.digits][e±digits]`.
    fn parse(text: &str) -> Option<Self> {
        let (negative, magnitude) = match text.as_bytes() {
            [b'-', ..] => (true, &text[1..]),
            [b'+', ..] => (false, &text[1..]),
            _ => (false, text),
        };
        let (mantissa, exponent) = match magnitude.find(['e', 'E']) {
            Some(at) => (&magnitude[..at], magnitude[at + 1..].parse::<i32>().ok()?),
            None => (magnitude, 0),
        };
        if !(-EXPONENT_MAX..=EXPONENT_MAX).contains(&exponent) {
            return None;
        }
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let written = || whole.bytes().chain(fraction.bytes());
        if written().next().is_none() || !written().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let mut digits: Vec<u8> = written().map(|byte| byte - b'0').collect();
        let scale = fraction.len() as i64 - i64::from(exponent);
        digits.extend(std::iter::repeat_n(0, usize::try_from(-scale).unwrap_or(0)));
        Some(Self::new(negative, digits, usize::try_from(scale).unwrap_or(0)))
    }

    /// The digits when the number is written with `scale` digits after the point, which is no fewer
    /// than it has.
    fn digits_at(&self, scale: usize) -> Vec<u8> {
        let mut digits = self.digits.clone();
        if !digits.is_empty() {
            digits.extend(std::iter::repeat_n(0, scale - self.scale));
        }
        digits
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => return Ordering::Greater,
            (true, false) => return Ordering::Less,
            _ => {}
        }
        let scale = self.scale.max(other.scale);
        let order = digits::compare(&self.digits_at(scale), &other.digits_at(scale));
        if self.negative { order.reverse() } else { order }
    }

    fn plus(&self, other: &Self) -> Self {
        let scale = self.scale.max(other.scale);
        let (one, two) = (self.digits_at(scale), other.digits_at(scale));
        if self.negative == other.negative {
            return Self::new(self.negative, digits::add(&one, &two), scale);
        }
        match digits::compare(&one, &two) {
            Ordering::Less => Self::new(other.negative, digits::subtract(&two, &one), scale),
            _ => Self::new(self.negative, digits::subtract(&one, &two), scale),
        }
    }

    fn times(&self, other: &Self) -> Self {
        let product = digits::multiply(&self.digits, &other.digits);
        Self::new(self.negative != other.negative, product, self.scale + other.scale)
    }

    /// The quotient, rounded half away from zero, without zeros at its end.
    fn over(&self, other: &Self) -> Self {
        let scale = DIVISION_DIGITS.max(self.scale).max(other.scale);
        // One digit more than asked for decides the rounding.
        let dividend = self.digits_at(scale + 1 + other.scale);
        let (quotient, _) = digits::divide(&dividend, &other.digits);
        Self::new(self.negative != other.negative, quotient, scale + 1).round(scale).trim()
    }

    /// What whole division leaves; it has the sign of `self`.
    fn modulo(&self, other: &Self) -> Self {
        let scale = self.scale.max(other.scale);
        let (_, rest) = digits::divide(&self.digits_at(scale), &other.digits_at(scale));
        Self::new(self.negative, rest, scale)
    }

    /// The greatest whole number that is not above the quotient.
    fn floor_over(&self, other: &Self) -> Self {
        let scale = self.scale.max(other.scale);
        let (quotient, rest) = digits::divide(&self.digits_at(scale), &other.digits_at(scale));
        let negative = self.negative != other.negative;
        let quotient = if negative && !rest.is_empty() { digits::add(&quotient, &[1]) } else { quotient };
        Self::new(negative, quotient, 0)
    }

    /// With `scale` digits after the point, rounded half away from zero.
    pub fn round(&self, scale: usize) -> Self {
        if scale >= self.scale {
            return Self::new(self.negative, self.digits_at(scale), scale);
        }
        let dropped = self.scale - scale;
        let kept = self.digits.len().saturating_sub(dropped);
        let up = self.digits.len() >= dropped && self.digits[kept] >= 5;
        let digits = digits::add(&self.digits[..kept], if up { &[1] } else { &[] });
        Self::new(self.negative, digits, scale)
    }

    /// The digits before the point.
    pub fn truncate(&self) -> Self {
        let kept = self.digits.len().saturating_sub(self.scale);
        Self::new(self.negative, self.digits[..kept].to_vec(), 0)
    }

    /// Without zeros after the point at its end.
    fn trim(mut self) -> Self {
        while self.scale > 0 && self.digits.last().is_none_or(|&digit| digit == 0) {
            self.digits.pop();
            self.scale -= 1;
        }
        self
    }

    /// Digits after the point that are not zeros at its end.
    pub fn significant_scale(&self) -> usize {
        self.clone().trim().scale
    }

    /// Digits before the point.
    pub fn whole_digits(&self) -> usize {
        self.digits.len().saturating_sub(self.scale)
    }

    /// Zeros at the end of a whole number.
    pub fn trailing_zeros(&self) -> usize {
        self.digits.iter().rev().take_while(|&&digit| digit == 0).count()
    }

    /// Digits after the point.
    pub fn scale(&self) -> usize {
        self.scale
    }

    /// All digits as a whole number.
    pub fn coefficient(&self) -> Self {
        Self::new(self.negative, self.digits.clone(), 0)
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// 1, 0 or -1.
    pub fn sign(&self) -> i64 {
        match self.negative {
            true => -1,
            false => i64::from(!self.is_zero()),
        }
    }

    /// The integer that it is, if it is one of 64 bits.
    pub fn to_i64(&self) -> Option<i64> {
        if self.significant_scale() > 0 {
            return None;
        }
        self.truncate().to_string().parse().ok()
    }

    fn power(&self, exponent: usize) -> Result<Self, ArithmeticError> {
        if exponent > ARITHMETIC_DIGITS_MAX * 4 {
            return Err(ArithmeticError::TooLong);
        }
        let mut result = Self::new(false, vec![1], 0);
        for _ in 0..exponent {
            result = result.times(self);
            result.check()?;
        }
        Ok(result)
    }

    fn check(&self) -> Result<(), ArithmeticError> {
        if self.digits.len().max(self.scale) > ARITHMETIC_DIGITS_MAX {
            return Err(ArithmeticError::TooLong);
        }
        Ok(())
    }
}

impl fmt::Display for Finite {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        if self.negative {
            out.write_char('-')?;
        }
        let written = self.digits.len().max(self.scale + 1);
        for place in 0..written {
            if place + self.scale == written {
                out.write_char('.')?;
            }
            let missing = written - self.digits.len();
            let digit = if place < missing { 0 } else { self.digits[place - missing] };
            out.write_char(char::from(b'0' + digit))?;
        }
        Ok(())
    }
}

impl fmt::Display for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finite(number) => number.fmt(out),
            Self::Infinity { negative: false } => out.write_str("Infinity"),
            Self::Infinity { negative: true } => out.write_str("-Infinity"),
            Self::NaN => out.write_str("NaN"),
        }
    }
}

impl Number {
    /// Reads a number as PostgreSQL writes it, or with an exponent.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "NaN" => Some(Self::NaN),
            "Infinity" => Some(Self::Infinity { negative: false }),
            "-Infinity" => Some(Self::Infinity { negative: true }),
            _ => Finite::parse(text).map(Self::Finite),
        }
    }

    /// A float as the shortest decimal that is read back as the same float.
    pub fn from_float(value: f64) -> Self {
        if value.is_nan() {
            Self::NaN
        } else if value.is_infinite() {
            Self::Infinity { negative: value < 0.0 }
        } else {
            Self::parse(&format!("{value}")).expect("a finite float is written as a decimal")
        }
    }

    /// The nearest float.
    pub fn to_float(&self) -> f64 {
        match self {
            Self::Finite(number) => number.to_string().parse().expect("a decimal is a float's text"),
            Self::Infinity { negative: false } => f64::INFINITY,
            Self::Infinity { negative: true } => f64::NEG_INFINITY,
            Self::NaN => f64::NAN,
        }
    }

    /// The order, in which NaN is above all and equal to itself, as in PostgreSQL.
    pub fn compare(&self, other: &Self) -> Ordering {
        let rank = |number: &Self| match number {
            Self::Infinity { negative: true } => 0,
            Self::Finite(_) => 1,
            Self::Infinity { negative: false } => 2,
            Self::NaN => 3,
        };
        match (self, other) {
            (Self::Finite(one), Self::Finite(two)) => one.compare(two),
            _ => rank(self).cmp(&rank(other)),
        }
    }

    /// The other sign.
    pub fn negate(self) -> Self {
        match self {
            Self::Finite(number) => {
                Self::Finite(Finite { negative: !number.negative && !number.is_zero(), ..number })
            }
            Self::Infinity { negative } => Self::Infinity { negative: !negative },
            Self::NaN => Self::NaN,
        }
    }

    /// Applies an operation. Where one side is not finite, the answer is a float's.
    fn combine(
        &self,
        other: &Self,
        floats: fn(f64, f64) -> f64,
        exact: fn(&Finite, &Finite) -> Result<Finite, ArithmeticError>,
    ) -> Result<Self, ArithmeticError> {
        match (self, other) {
            (Self::Finite(one), Self::Finite(two)) => {
                one.check()?;
                two.check()?;
                exact(one, two).map(Self::Finite)
            }
            _ => Ok(Self::from_float(floats(self.to_float(), other.to_float()))),
        }
    }

    /// The exact sum.
    pub fn plus(&self, other: &Self) -> Result<Self, ArithmeticError> {
        self.combine(other, |one, two| one + two, |one, two| Ok(one.plus(two)))
    }

    /// The exact difference.
    pub fn minus(&self, other: &Self) -> Result<Self, ArithmeticError> {
        self.plus(&other.clone().negate())
    }

    /// The exact product.
    pub fn times(&self, other: &Self) -> Result<Self, ArithmeticError> {
        self.combine(other, |one, two| one * two, |one, two| Ok(one.times(two)))
    }

    /// The quotient, to [`DIVISION_DIGITS`] digits after the point or the scale of either side.
    pub fn over(&self, other: &Self) -> Result<Self, ArithmeticError> {
        self.combine(
            other,
            |one, two| one / two,
            |one, two| if two.is_zero() { Err(ArithmeticError::DivisionByZero) } else { Ok(one.over(two)) },
        )
    }

    /// The greatest whole number that is not above the quotient.
    pub fn floor_over(&self, other: &Self) -> Result<Self, ArithmeticError> {
        self.combine(
            other,
            |one, two| (one / two).floor(),
            |one, two| {
                if two.is_zero() { Err(ArithmeticError::DivisionByZero) } else { Ok(one.floor_over(two)) }
            },
        )
    }

    /// What whole division leaves, with the sign of `self`.
    pub fn modulo(&self, other: &Self) -> Result<Self, ArithmeticError> {
        self.combine(
            other,
            |one, two| one % two,
            |one, two| if two.is_zero() { Err(ArithmeticError::DivisionByZero) } else { Ok(one.modulo(two)) },
        )
    }

    /// A whole power; a negative one divides.
    pub fn power(&self, other: &Self) -> Result<Self, ArithmeticError> {
        self.combine(other, f64::powf, |one, two| {
            let exponent = two.to_i64().ok_or(ArithmeticError::FractionalPower)?;
            let times = usize::try_from(exponent.unsigned_abs()).map_err(|_| ArithmeticError::TooLong)?;
            let power = one.power(times)?;
            match exponent {
                0.. => Ok(power),
                _ if power.is_zero() => Err(ArithmeticError::DivisionByZero),
                _ => Ok(Finite::new(false, vec![1], 0).over(&power)),
            }
        })
    }
}

#[cfg(test)]
mod tests;
