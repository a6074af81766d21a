use super::parse::{scale, split};
use super::{format_float, parse_float};

const VALUES: [f64; 20] = [
    0.0,
    1.0,
    1.5,
    0.1,
    0.5,
    9.5,
    99.5,
    123.456,
    1e15,
    1e16,
    123456789012345.0,
    1e100,
    1e-5,
    1e-4,
    0.00012345,
    1.618033988749895,
    f64::MAX,
    f64::MIN_POSITIVE,
    5e-324,
    9007199254740993.0,
];

fn libc(format: &str, value: f64) -> String {
    // Lua formats through the system's own printf in a native build.
    crate::lua::tests::evaluate(&format!("string.format('{format}', {})", crate::lua::tests::literal(value)))
}

#[test]
fn floats_are_written_as_the_c_library_writes_them() {
    for value in VALUES {
        for conversion in ["f", "e", "g", "E", "G"] {
            for precision in [None, Some(0), Some(1), Some(3), Some(14), Some(17), Some(40)] {
                for alternate in [false, true] {
                    let written = precision.map(|precision| format!(".{precision}")).unwrap_or_default();
                    let format = format!("%{}{written}{conversion}", if alternate { "#" } else { "" });
                    let ours = format_float(value, conversion.as_bytes()[0], precision, alternate);
                    assert_eq!(ours, libc(&format, value), "{format} of {value:e}");
                }
            }
        }
    }
}

#[test]
fn hexadecimal_floats_are_read_back_exactly() {
    for value in VALUES {
        let text = format_float(value, b'a', None, false);
        assert_eq!(parse_float(text.as_bytes()), Some((value, text.len())), "{text}");
    }
    assert_eq!(format_float(1.999, b'a', Some(1), false), "0x2.0p+0");
    assert_eq!(format_float(0.1, b'A', Some(3), false), "0X1.99AP-4");
    assert_eq!(format_float(f64::NAN, b'g', None, false), "nan");
    assert_eq!(format_float(f64::INFINITY, b'G', None, false), "INF");
}

#[test]
fn a_number_is_read_up_to_what_is_no_part_of_it() {
    assert_eq!(parse_float(b" 12.5e2x"), Some((1250.0, 7)));
    assert_eq!(parse_float(b"-.5"), Some((-0.5, 3)));
    assert_eq!(parse_float(b"5."), Some((5.0, 2)));
    assert_eq!(parse_float(b"1e+"), Some((1.0, 1)));
    assert_eq!(parse_float(b"0x"), Some((0.0, 1)));
    assert_eq!(parse_float(b"0x1.8p3"), Some((12.0, 7)));
    assert_eq!(parse_float(b"0xA.8"), Some((10.5, 5)));
    assert_eq!(parse_float(b"."), None);
    assert_eq!(parse_float(b"inf"), None);
    assert_eq!(parse_float(b""), None);
    assert_eq!(parse_float(b"0x10000000000000000000000001").map(|(value, _)| value), Some(2f64.powi(100)));
}

#[test]
fn a_number_is_its_fraction_times_its_power() {
    for value in VALUES {
        let (fraction, power) = split(-value);
        assert!(value == 0.0 || (0.5..1.0).contains(&fraction.abs()), "{value:e}");
        assert_eq!(scale(fraction, power), -value);
    }
    assert_eq!(scale(1.0, 5000), f64::INFINITY);
    assert_eq!(scale(1.0, -5000), 0.0);
}
