//! Decimal numbers as bytes: the magnitude in base 256.

use super::Finite;

/// Decimal digits that fit a limb's multiplication at once.
const CHUNK: usize = 9;

impl Finite {
    /// The magnitude of the digits before the point, the greatest byte first, without zeros in front.
    pub fn magnitude(&self) -> Vec<u8> {
        let whole = &self.digits[..self.whole_digits()];
        // The least significant limb first.
        let mut limbs: Vec<u32> = Vec::with_capacity(whole.len() / CHUNK + 1);
        for chunk in whole.chunks(CHUNK) {
            let mut carry = chunk.iter().fold(0, |value, &digit| value * 10 + u64::from(digit));
            let scale = 10_u64.pow(chunk.len() as u32);
            for limb in &mut limbs {
                let value = u64::from(*limb) * scale + carry;
                *limb = value as u32;
                carry = value >> 32;
            }
            if carry > 0 {
                limbs.push(carry as u32);
            }
        }
        let bytes = limbs.iter().rev().flat_map(|limb| limb.to_be_bytes());
        bytes.skip_while(|&byte| byte == 0).collect()
    }

    /// The lower 64 bits of the digits before the point, in two's complement.
    pub fn low_bits(&self) -> u64 {
        let magnitude = self.magnitude();
        let low = magnitude.iter().rev().take(8).rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        if self.negative { low.wrapping_neg() } else { low }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Number;

    fn finite(text: &str) -> super::Finite {
        match Number::parse(text) {
            Some(Number::Finite(number)) => number,
            other => panic!("{text} became {other:?}"),
        }
    }

    #[test]
    fn bytes_are_the_magnitude() {
        for (text, bytes) in [
            ("0", &[][..]),
            ("1", &[1]),
            ("-255", &[255]),
            ("256.9", &[1, 0]),
            ("0.5", &[]),
            ("4294967296", &[1, 0, 0, 0, 0]),
            ("18446744073709551615", &[255; 8]),
            ("18446744073709551616", &[1, 0, 0, 0, 0, 0, 0, 0, 0]),
            ("340282366920938463463374607431768211455", &[255; 16]),
        ] {
            assert_eq!(finite(text).magnitude(), bytes, "{text}");
        }
    }

    #[test]
    fn low_bits_are_those_of_twos_complement() {
        for (text, bits) in [
            ("-1", u64::MAX),
            ("-9223372036854775808", 1 << 63),
            ("18446744073709551617", 1),
            ("18446744073709551611", (-5_i64).cast_unsigned()),
        ] {
            assert_eq!(finite(text).low_bits(), bits, "{text}");
        }
    }
}
