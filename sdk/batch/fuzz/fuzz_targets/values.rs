//! Any bytes are a value of a type or an error, and a numeric has one form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarn_batch::Type;
use tarn_batch::text::write_text;
use tarn_batch::value::{is_canonical_numeric, write_numeric};

const SCALARS: [Type; 17] = [
    Type::Bool,
    Type::Int2,
    Type::Int4,
    Type::Int8,
    Type::Float4,
    Type::Float8,
    Type::Numeric { precision: 0, scale: 0 },
    Type::Text,
    Type::Bytes,
    Type::Date,
    Type::Time,
    Type::TimeTz,
    Type::Timestamp,
    Type::TimestampTz,
    Type::Interval,
    Type::Uuid,
    Type::Json,
];

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (scalar, depth, value) = input;
    let scalar = SCALARS[usize::from(scalar) % SCALARS.len()].clone();
    let data_type = (0..depth % 3).fold(scalar, |data_type, _| data_type.array());
    let _ = write_text(&data_type, value, &mut String::new());

    if let Ok(text) = std::str::from_utf8(value) {
        let mut numeric = Vec::new();
        assert_eq!(write_numeric(&mut numeric, text).is_ok(), is_canonical_numeric(&numeric));
    }
});
