//! RowBinary: the rows of an insert, and of answers whose values go into one.

use crate::target_type::TargetType;

/// Appends a length.
#[inline]
pub(crate) fn write_length(out: &mut Vec<u8>, length: usize) {
    let mut rest = length;
    while rest >= 0x80 {
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends a text or bytes with its length.
#[inline]
pub(crate) fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_length(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Splits the first value of a type off; `None` when the bytes end within it.
pub(crate) fn split_value<'a>(data_type: &TargetType, bytes: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let rest = skip(data_type, bytes)?;
    Some(bytes.split_at(bytes.len() - rest.len()))
}

fn skip<'a>(data_type: &TargetType, bytes: &'a [u8]) -> Option<&'a [u8]> {
    if let Some(size) = data_type.fixed_size() {
        return bytes.get(size..);
    }
    match data_type {
        TargetType::Nullable(inner) => match bytes.split_first()? {
            (0, rest) => skip(inner, rest),
            (_, rest) => Some(rest),
        },
        TargetType::LowCardinality(inner) => skip(inner, bytes),
        TargetType::Array(element) => {
            let (count, mut rest) = read_length(bytes)?;
            for _ in 0..count {
                rest = skip(element, rest)?;
            }
            Some(rest)
        }
        _ => {
            let (length, rest) = read_length(bytes)?;
            rest.get(length..)
        }
    }
}

fn read_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut length = 0usize;
    for (at, &byte) in bytes.iter().enumerate().take(9) {
        length |= usize::try_from(u64::from(byte & 0x7f) << (7 * at)).ok()?;
        if byte < 0x80 {
            return Some((length, &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_split_where_they_end() {
        let mut long = Vec::new();
        write_bytes(&mut long, &[7; 300]);
        for (text, value) in [
            ("Int32", &[1, 2, 3, 4][..]),
            ("String", &[2, b'a', b'b']),
            ("String", &long),
            ("Nullable(Int16)", &[0, 1, 2]),
            ("Nullable(Int16)", &[1]),
            ("LowCardinality(Nullable(String))", &[0, 1, b'x']),
            ("Array(Nullable(String))", &[2, 1, 0, 1, b'x']),
        ] {
            let data_type = TargetType::parse(text).expect("a type");
            let bytes = [value, b"rest"].concat();
            assert_eq!(split_value(&data_type, &bytes), Some((value, &b"rest"[..])), "{text}");
            assert_eq!(split_value(&data_type, &value[..value.len() - 1]), None, "{text}");
        }
    }
}
