//! JSON that keeps what it was given: numbers to the digit, fields in their order.

use std::fmt::{self, Write as _};

use serde::de::{self, MapAccess, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::config::DEPTH_MAX;

/// A JSON value. It is read from and written to JSON text only, by `serde_json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it is written.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// Fields in their order. A name may be there twice; the last one counts.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The field of a name, where it is an object that has it.
    pub fn get(&self, name: &str) -> Option<&Json> {
        let Self::Object(fields) = self else { return None };
        fields.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The name of what it is.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// Reads a value whose JSON is known to be sound. How deep it goes is not.
    fn read(text: &str, levels: usize) -> Result<Self, serde_json::Error> {
        let below = || {
            levels
                .checked_sub(1)
                .ok_or_else(|| <serde_json::Error as de::Error>::custom("lists and objects nest too deeply"))
        };
        Ok(match text.as_bytes().first() {
            Some(b'n') => Self::Null,
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'"') => Self::Text(serde_json::from_str(text)?),
            Some(b'[') => {
                let below = below()?;
                let items: Vec<&RawValue> = serde_json::from_str(text)?;
                let items = items.into_iter().map(|item| Self::read(item.get(), below));
                Self::List(items.collect::<Result<_, _>>()?)
            }
            Some(b'{') => {
                let below = below()?;
                let Fields(fields) = serde_json::from_str(text)?;
                let read = |(name, value): (String, &RawValue)| Ok((name, Self::read(value.get(), below)?));
                Self::Object(fields.into_iter().map(read).collect::<Result<_, serde_json::Error>>()?)
            }
            _ => Self::Number(text.to_owned()),
        })
    }
}

/// An object's fields in their order.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(fields)
            }
        }

        deserializer.deserialize_map(InOrder).map(Fields)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::read(raw.get(), DEPTH_MAX).map_err(de::Error::custom)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.to_string()).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// The value as JSON text, without spaces.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(digits) => f.write_str(digits),
            Self::Text(text) => write_text(f, text),
            Self::List(items) => {
                f.write_char('[')?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if at == 0 { "" } else { "," })?;
                }
                f.write_char(']')
            }
            Self::Object(fields) => {
                f.write_char('{')?;
                for (at, (name, value)) in fields.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { "," })?;
                    write_text(f, name)?;
                    write!(f, ":{value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str(&serde_json::to_string(text).map_err(|_| fmt::Error)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits_and_fields_their_order() {
        let text = r#"{"z":1.10,"a":[342161316540874753,1e400,-0],"m":{"b":null,"a":"\u00e9\n"},"t":true}"#;
        let value: Json = serde_json::from_str(text).expect("JSON");
        assert_eq!(value.get("z"), Some(&Json::Number("1.10".to_owned())));
        assert_eq!(serde_json::to_string(&value).expect("written"), text.replace("\\u00e9", "é"));
    }

    #[test]
    fn however_deep_a_value_goes_reading_it_ends_in_a_value_or_an_error() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let read = |text: &str| serde_json::from_str::<Json>(text);
        assert_eq!(read(&nested(DEPTH_MAX)).expect("within").to_string(), nested(DEPTH_MAX));
        for text in [nested(DEPTH_MAX + 1), nested(200_000), "{\"a\":".repeat(200_000)] {
            assert!(read(&text).is_err());
        }
    }

    #[test]
    fn of_a_field_that_is_given_twice_the_last_counts() {
        let value: Json = serde_json::from_str(r#"{"a": 1, "a": 2}"#).expect("JSON");
        assert_eq!(value.get("a"), Some(&Json::Number("2".to_owned())));
    }
}
