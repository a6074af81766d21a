//! ClickHouse's types, as far as columns of a target can have them.

mod parse;

use std::fmt;

use tarn_sdk::sql::clickhouse::literal;

/// The type of a target's column. Its text is ClickHouse's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TargetType {
    Bool,
    /// `Int8` to `Int256`.
    Int(Width),
    /// `UInt8` to `UInt256`.
    UInt(Width),
    Float32,
    Float64,
    Decimal {
        precision: u8,
        scale: u8,
    },
    String,
    FixedString(usize),
    Date,
    Date32,
    DateTime {
        timezone: Option<String>,
    },
    DateTime64 {
        precision: u8,
        timezone: Option<String>,
    },
    /// A time of day, or a span of hours.
    Time64 {
        precision: u8,
    },
    Uuid,
    /// `JSON` with whatever arguments it was made with.
    Json(String),
    /// `Enum8` or `Enum16`.
    Enum {
        width: Width,
        labels: Vec<(String, i16)>,
    },
    LowCardinality(Box<TargetType>),
    Nullable(Box<TargetType>),
    Array(Box<TargetType>),
}

/// Bytes of an integer.
pub(crate) type Width = usize;

impl TargetType {
    /// The type from ClickHouse's text, such as `system.columns` shows or a person writes; `None` for
    /// types that rows cannot go to.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        parse::parse(text)
    }

    /// UTC times to the microsecond: what PostgreSQL's are.
    pub(crate) fn microseconds() -> Self {
        Self::DateTime64 { precision: 6, timezone: Some("UTC".to_owned()) }
    }

    /// Whether NULL can be stored.
    pub(crate) fn is_nullable(&self) -> bool {
        match self {
            Self::Nullable(_) => true,
            Self::LowCardinality(inner) => inner.is_nullable(),
            _ => false,
        }
    }

    /// The same type with NULL; itself where ClickHouse knows no such type.
    pub(crate) fn nullable(self) -> Self {
        match self {
            Self::LowCardinality(inner) => Self::LowCardinality(Box::new(inner.nullable())),
            Self::Array(_) | Self::Nullable(_) => self,
            other => Self::Nullable(Box::new(other)),
        }
    }

    /// Whether ClickHouse has this type with NULL.
    pub(crate) fn can_be_nullable(&self) -> bool {
        match self {
            Self::LowCardinality(inner) => inner.can_be_nullable(),
            Self::Array(_) => false,
            _ => true,
        }
    }

    /// What values look like in a row: without NULL and without dictionary.
    pub(crate) fn value_type(&self) -> &Self {
        match self {
            Self::Nullable(inner) | Self::LowCardinality(inner) => inner.value_type(),
            other => other,
        }
    }

    /// Appends the value that stands for nothing in a tombstone: NULL, else the type's default.
    pub(crate) fn write_default(&self, out: &mut Vec<u8>) {
        if self.is_nullable() {
            out.push(1);
            return;
        }
        match self.value_type() {
            Self::Enum { width, labels } => {
                let least = labels.iter().map(|&(_, value)| value).min().unwrap_or_default();
                out.extend_from_slice(&least.to_le_bytes()[..*width]);
            }
            Self::Json(_) => out.extend_from_slice(b"\x02{}"),
            other => out.resize(out.len() + other.fixed_size().unwrap_or(1), 0),
        }
    }

    /// How many bytes every value takes in RowBinary; `None` where a length stands before it.
    pub(crate) fn fixed_size(&self) -> Option<usize> {
        Some(match self {
            Self::Bool => 1,
            Self::Int(width) | Self::UInt(width) | Self::Enum { width, .. } => *width,
            Self::Float32 | Self::Date32 | Self::DateTime { .. } => 4,
            Self::Float64 | Self::DateTime64 { .. } | Self::Time64 { .. } => 8,
            Self::Decimal { precision, .. } => decimal_width(*precision),
            Self::FixedString(size) => *size,
            Self::Date => 2,
            Self::Uuid => 16,
            Self::LowCardinality(inner) => return inner.fixed_size(),
            Self::String | Self::Json(_) | Self::Nullable(_) | Self::Array(_) => return None,
        })
    }
}

/// Bytes of a decimal.
pub(crate) fn decimal_width(precision: u8) -> usize {
    match precision {
        0..=9 => 4,
        10..=18 => 8,
        19..=38 => 16,
        _ => 32,
    }
}

impl fmt::Display for TargetType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("Bool"),
            Self::Int(width) => write!(f, "Int{}", width * 8),
            Self::UInt(width) => write!(f, "UInt{}", width * 8),
            Self::Float32 => f.write_str("Float32"),
            Self::Float64 => f.write_str("Float64"),
            Self::Decimal { precision, scale } => write!(f, "Decimal({precision}, {scale})"),
            Self::String => f.write_str("String"),
            Self::FixedString(size) => write!(f, "FixedString({size})"),
            Self::Date => f.write_str("Date"),
            Self::Date32 => f.write_str("Date32"),
            Self::DateTime { timezone: None } => f.write_str("DateTime"),
            Self::DateTime { timezone: Some(zone) } => write!(f, "DateTime({})", literal(zone)),
            Self::DateTime64 { precision, timezone: None } => write!(f, "DateTime64({precision})"),
            Self::DateTime64 { precision, timezone: Some(zone) } => {
                write!(f, "DateTime64({precision}, {})", literal(zone))
            }
            Self::Time64 { precision } => write!(f, "Time64({precision})"),
            Self::Uuid => f.write_str("UUID"),
            Self::Json(text) => f.write_str(text),
            Self::Enum { width, labels } => {
                write!(f, "Enum{}(", width * 8)?;
                for (at, (label, value)) in labels.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    write!(f, "{comma}{} = {value}", literal(label))?;
                }
                f.write_str(")")
            }
            Self::LowCardinality(inner) => write!(f, "LowCardinality({inner})"),
            Self::Nullable(inner) => write!(f, "Nullable({inner})"),
            Self::Array(inner) => write!(f, "Array({inner})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_reads_as_it_prints() {
        for text in [
            "Bool",
            "Int8",
            "Int256",
            "UInt128",
            "Float32",
            "Decimal(76, 38)",
            "FixedString(3)",
            "Date32",
            "DateTime",
            "DateTime('UTC')",
            "DateTime64(6)",
            "DateTime64(3, 'Europe/Berlin')",
            "Time64(6)",
            "UUID",
            "JSON",
            "Nullable(JSON)",
            "Enum8('a' = 1, 'it\\'s' = -2)",
            "LowCardinality(Nullable(String))",
            "Nullable(Decimal(10, 2))",
            "Array(Array(Nullable(Int32)))",
        ] {
            let parsed = TargetType::parse(text).unwrap_or_else(|| panic!("{text} is a type"));
            assert_eq!(parsed.to_string(), text);
        }
        assert_eq!(
            TargetType::parse(" Decimal( 10,2 ) "),
            Some(TargetType::Decimal { precision: 10, scale: 2 })
        );
    }

    #[test]
    fn what_is_no_type_of_a_target_is_refused() {
        for text in [
            "",
            "Int7",
            "Decimal(77, 0)",
            "Decimal(5, 6)",
            "Nullable(Array(Int8))",
            "IPv4",
            "String) x",
            "Tuple(Int8)",
            "DateTime64(10)",
            "Time64",
            "Time64(10)",
        ] {
            assert_eq!(TargetType::parse(text), None, "{text}");
        }
    }

    #[test]
    fn nothing_is_null_where_it_can_be_and_the_default_elsewhere() {
        for (text, bytes) in [
            ("Nullable(Int32)", &[1][..]),
            ("LowCardinality(Nullable(String))", &[1]),
            ("LowCardinality(String)", &[0]),
            ("Int32", &[0; 4]),
            ("Decimal(76, 0)", &[0; 32]),
            ("Array(Int8)", &[0]),
            ("Enum8('a' = 5, 'b' = 7)", &[5]),
        ] {
            let mut out = Vec::new();
            TargetType::parse(text).expect("a type").write_default(&mut out);
            assert_eq!(out, bytes, "{text}");
        }
    }
}
