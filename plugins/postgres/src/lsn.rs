//! Log sequence numbers.

use std::fmt;
use std::str::FromStr;

/// A place in the server's write-ahead log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Lsn(pub(crate) u64);

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

/// A text that is no log sequence number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotAnLsn;

impl FromStr for Lsn {
    type Err = NotAnLsn;

    fn from_str(text: &str) -> Result<Self, NotAnLsn> {
        let (high, low) = text.split_once('/').ok_or(NotAnLsn)?;
        let half = |text| u32::from_str_radix(text, 16).map(u64::from).map_err(|_| NotAnLsn);
        Ok(Self(half(high)? << 32 | half(low)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_lsn_reads_as_it_is_written() {
        for text in ["0/0", "16/B374D848", "FFFFFFFF/FFFFFFFF"] {
            assert_eq!(text.parse::<Lsn>().expect("an lsn").to_string(), text);
        }
        assert_eq!("16/B374D848".parse(), Ok(Lsn(0x16_B374_D848)));
        for text in ["", "0", "/", "0/", "x/0", "0/100000000"] {
            assert_eq!(text.parse::<Lsn>(), Err(NotAnLsn), "{text}");
        }
    }
}
