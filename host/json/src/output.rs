//! Writing an answer.

use std::fmt;

use serde::ser::{
    self, Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, Serializer,
};
use serde_json::{Map, Number, Value};

use crate::case::camel;

/// An answer as JSON.
pub fn to_value<T: Serialize + ?Sized>(answer: &T) -> Value {
    answer.serialize(Writer).expect("answers are made of what JSON has")
}

/// Something that no answer is made of.
#[derive(Debug)]
struct Unsupported(String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

impl ser::Error for Unsupported {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

struct Writer;

type Written = Result<Value, Unsupported>;

fn unsupported<T>(what: &str) -> Result<T, Unsupported> {
    Err(Unsupported(format!("{what} has no place in an answer")))
}

impl Serializer for Writer {
    type Ok = Value;
    type Error = Unsupported;
    type SerializeSeq = List;
    type SerializeTuple = List;
    type SerializeTupleStruct = Impossible<Value, Unsupported>;
    type SerializeTupleVariant = Impossible<Value, Unsupported>;
    type SerializeMap = Object;
    type SerializeStruct = Object;
    type SerializeStructVariant = Impossible<Value, Unsupported>;

    fn serialize_bool(self, flag: bool) -> Written {
        Ok(Value::Bool(flag))
    }

    fn serialize_i8(self, number: i8) -> Written {
        Ok(number.into())
    }

    fn serialize_i16(self, number: i16) -> Written {
        Ok(number.into())
    }

    fn serialize_i32(self, number: i32) -> Written {
        Ok(number.into())
    }

    fn serialize_i64(self, number: i64) -> Written {
        Ok(Value::String(number.to_string()))
    }

    fn serialize_u8(self, number: u8) -> Written {
        Ok(number.into())
    }

    fn serialize_u16(self, number: u16) -> Written {
        Ok(number.into())
    }

    fn serialize_u32(self, number: u32) -> Written {
        Ok(number.into())
    }

    fn serialize_u64(self, number: u64) -> Written {
        Ok(Value::String(number.to_string()))
    }

    fn serialize_f32(self, number: f32) -> Written {
        self.serialize_f64(number.into())
    }

    /// Clients read counts and milliseconds as doubles: a whole one is written without a fraction.
    #[expect(clippy::cast_possible_truncation, reason = "the bound is checked before")]
    fn serialize_f64(self, number: f64) -> Written {
        const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;
        if number.fract() == 0.0 && number.abs() < EXACT_BELOW {
            return Ok((number as i64).into());
        }
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn serialize_char(self, character: char) -> Written {
        Ok(Value::String(character.into()))
    }

    fn serialize_str(self, text: &str) -> Written {
        Ok(Value::String(text.into()))
    }

    fn serialize_bytes(self, _: &[u8]) -> Written {
        unsupported("a run of bytes")
    }

    fn serialize_none(self) -> Written {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Written {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Written {
        Ok(Value::Object(Map::new()))
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written {
        Ok(Value::String(variant.into()))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Written {
        unsupported("an enumeration with data")
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<List, Unsupported> {
        Ok(List(Vec::with_capacity(length.unwrap_or(0))))
    }

    fn serialize_tuple(self, length: usize) -> Result<List, Unsupported> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Unsupported> {
        unsupported("a tuple")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Unsupported> {
        unsupported("an enumeration with data")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Object, Unsupported> {
        Ok(Object::default())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Object, Unsupported> {
        Ok(Object::default())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Unsupported> {
        unsupported("an enumeration with data")
    }
}

struct List(Vec<Value>);

impl SerializeSeq for List {
    type Ok = Value;
    type Error = Unsupported;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Unsupported> {
        self.0.push(item.serialize(Writer)?);
        Ok(())
    }

    fn end(self) -> Written {
        Ok(Value::Array(self.0))
    }
}

impl SerializeTuple for List {
    type Ok = Value;
    type Error = Unsupported;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Unsupported> {
        SerializeSeq::serialize_element(self, item)
    }

    fn end(self) -> Written {
        SerializeSeq::end(self)
    }
}

#[derive(Default)]
struct Object {
    entries: Map<String, Value>,
    key: String,
}

impl SerializeMap for Object {
    type Ok = Value;
    type Error = Unsupported;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Unsupported> {
        match key.serialize(Writer)? {
            Value::String(key) => self.key = key,
            _ => return unsupported("a key that is no text"),
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unsupported> {
        self.entries.insert(std::mem::take(&mut self.key), value.serialize(Writer)?);
        Ok(())
    }

    fn end(self) -> Written {
        Ok(Value::Object(self.entries))
    }
}

impl SerializeStruct for Object {
    type Ok = Value;
    type Error = Unsupported;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        field: &'static str,
        value: &T,
    ) -> Result<(), Unsupported> {
        self.entries.insert(camel(field), value.serialize(Writer)?);
        Ok(())
    }

    fn end(self) -> Written {
        Ok(Value::Object(self.entries))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[derive(serde::Serialize)]
    struct Sample {
        flow_job_name: String,
        num_rows: u64,
        offset: i64,
        port: u16,
        created_at: f64,
        end_time: Option<String>,
        env: BTreeMap<String, String>,
        list_of: Vec<u32>,
    }

    #[test]
    fn fields_are_in_camel_case_and_64_bits_are_texts() {
        let sample = Sample {
            flow_job_name: "m".into(),
            num_rows: u64::MAX,
            offset: -1,
            port: 0,
            created_at: 1_700_000_000_000.0,
            end_time: None,
            env: [("SNAKE_key".to_owned(), "v".to_owned())].into(),
            list_of: vec![1],
        };
        let expected = json!({"flowJobName": "m", "numRows": "18446744073709551615", "offset": "-1", "port": 0,
            "createdAt": 1_700_000_000_000_i64, "endTime": null, "env": {"SNAKE_key": "v"}, "listOf": [1]});
        assert_eq!(to_value(&sample), expected);
    }
}
