//! Reading a request, an answer or a file.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Expected, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, de};
use serde_json::{Map, Value};

use crate::case::snake;
use crate::number::{float, whole};

/// What is wrong with what was read, and where. It quotes no value: one may be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// Path of the field, `table_mappings[2].columns[0].ordering`; empty for the whole body.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

impl InputError {
    /// A mistake at a path.
    pub fn new(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }

    fn expected(what: &dyn fmt::Display, found: &Value) -> Self {
        Self::new("", format!("expected {what}, found {}", name_of(found)))
    }

    /// A text that a database can hold: NUL is none to PostgreSQL.
    fn check_text(text: &str) -> Result<(), Self> {
        if text.contains('\0') { Err(Self::new("", "holds a NUL character")) } else { Ok(()) }
    }

    /// The error as seen from whoever has what was read at a path.
    #[must_use]
    pub fn within(self, path: &str) -> Self {
        self.below(path)
    }

    /// The error as seen from the field's parent.
    fn below(mut self, parent: &str) -> Self {
        self.path = match self.path.as_str() {
            "" => parent.to_owned(),
            path if path.starts_with('[') => format!("{parent}{path}"),
            path => format!("{parent}.{path}"),
        };
        self
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for InputError {}

impl de::Error for InputError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new("", message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = match found {
            Unexpected::Bool(_) => "true or false",
            Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => "a number",
            Unexpected::Char(_) | Unexpected::Str(_) => "a text",
            Unexpected::Seq => "a list",
            Unexpected::Map | Unexpected::StructVariant => "an object",
            _ => "null",
        };
        Self::new("", format!("expected {expected}, found {found}"))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new("", format!("expected {expected}"))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(field, "is missing")
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(field, "is given twice")
    }
}

/// Reads a value that a program wrote; it may say more than this version knows.
///
/// # Errors
/// The first mistake, with its path.
pub fn from_value<'de, T: Deserialize<'de>>(value: &'de Value) -> Result<T, InputError> {
    T::deserialize(Node { value, form: Form::Program })
}

/// Reads a value that a person wrote, and refuses fields that do not exist: nothing they meant to say
/// may be passed over.
///
/// # Errors
/// The first mistake, with its path.
pub fn from_value_strictly<'de, T: Deserialize<'de>>(value: &'de Value) -> Result<T, InputError> {
    T::deserialize(Node { value, form: Form::Person })
}

/// Reads the query of a URL, an object of texts: `true` there is a flag where one is expected.
///
/// # Errors
/// The first mistake, with its path.
pub fn from_query<'de, T: Deserialize<'de>>(value: &'de Value) -> Result<T, InputError> {
    T::deserialize(Node { value, form: Form::Query })
}

/// Where a value comes from, which decides what is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A program wrote it as JSON: fields that do not exist are ignored.
    Program,
    /// A person wrote it: fields that do not exist are refused.
    Person,
    /// It is the query of a URL, where everything is text: fields that do not exist are ignored.
    Query,
}

/// A place in the value that is read.
#[derive(Clone, Copy)]
struct Node<'de> {
    value: &'de Value,
    form: Form,
}

impl Node<'_> {
    /// Refuses the first key that is none of the fields, where that is wanted.
    fn check_fields(self, object: &Map<String, Value>, fields: &[&str]) -> Result<(), InputError> {
        if self.form != Form::Person {
            return Ok(());
        }
        match object.keys().find(|key| !fields.contains(&snake(key).as_ref())) {
            None => Ok(()),
            Some(key) => {
                let message = format!("there is no such field; there are {}", fields.join(", "));
                Err(InputError::new(key, message))
            }
        }
    }
}

/// Reads an integer in the bounds of its type.
macro_rules! integers {
    ($($method:ident $type:ident $visit:ident,)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
            match whole(self.value).and_then(|number| $type::try_from(number).ok()) {
                Some(number) => visitor.$visit(number),
                None => {
                    let what = format!("a whole number from {} to {}", $type::MIN, $type::MAX);
                    let outside = matches!(self.value, Value::Number(_));
                    Err(if outside { InputError::new("", format!("expected {what}")) }
                        else { InputError::expected(&what, self.value) })
                }
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = InputError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), ..) => visitor.visit_u64(number),
                (_, Some(number), _) => visitor.visit_i64(number),
                (_, _, number) => visitor.visit_f64(number.unwrap_or(f64::NAN)),
            },
            Value::String(text) => {
                InputError::check_text(text)?;
                visitor.visit_borrowed_str(text)
            }
            Value::Array(items) => {
                visitor.visit_seq(Items { items: items.iter(), index: 0, form: self.form })
            }
            Value::Object(object) => visitor.visit_map(Entries::new(object, Keys::Data, self.form)),
        }
    }

    integers! {
        deserialize_i8 i8 visit_i8,
        deserialize_i16 i16 visit_i16,
        deserialize_i32 i32 visit_i32,
        deserialize_i64 i64 visit_i64,
        deserialize_u8 u8 visit_u8,
        deserialize_u16 u16 visit_u16,
        deserialize_u32 u32 visit_u32,
        deserialize_u64 u64 visit_u64,
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        match float(self.value) {
            Some(number) => visitor.visit_f64(number),
            None => Err(InputError::expected(&"a number", self.value)),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        match self.value {
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::String(text) if self.form == Form::Query && text == "true" => visitor.visit_bool(true),
            Value::String(text) if self.form == Form::Query && text == "false" => visitor.visit_bool(false),
            other => Err(InputError::expected(&"true or false", other)),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        match self.value {
            Value::String(text) => {
                InputError::check_text(text)?;
                visitor.visit_borrowed_str(text)
            }
            other => Err(InputError::expected(&"a text", other)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        match self.value {
            Value::Array(items) => {
                visitor.visit_seq(Items { items: items.iter(), index: 0, form: self.form })
            }
            other => Err(InputError::expected(&"a list", other)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        match self.value {
            Value::Object(object) => visitor.visit_map(Entries::new(object, Keys::Data, self.form)),
            other => Err(InputError::expected(&"an object", other)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputError> {
        match self.value {
            Value::Object(object) => {
                self.check_fields(object, fields)?;
                visitor.visit_map(Entries::new(object, Keys::Fields, self.form))
            }
            other => Err(InputError::expected(&"an object", other)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, InputError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
    }
}

/// Whether keys are names of our fields, in either spelling, or data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    Fields,
    Data,
}

struct Entries<'de> {
    entries: serde_json::map::Iter<'de>,
    keys: Keys,
    form: Form,
    /// The key that was read last, for the path of an error in its value.
    last: Option<(String, &'de Value)>,
}

impl<'de> Entries<'de> {
    fn new(object: &'de Map<String, Value>, keys: Keys, form: Form) -> Self {
        Self { entries: object.iter(), keys, form, last: None }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = InputError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, InputError> {
        let Some((key, value)) = self.entries.find(|(_, value)| !value.is_null()) else { return Ok(None) };
        let name = match self.keys {
            Keys::Fields => snake(key).into_owned(),
            Keys::Data => {
                InputError::check_text(key)?;
                key.clone()
            }
        };
        let read = seed.deserialize(StrDeserializer::<InputError>::new(&name))?;
        self.last = Some((name, value));
        Ok(Some(read))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, InputError> {
        let (name, value) = self.last.take().expect("serde reads a key before its value");
        let node = Node { value, form: self.form };
        seed.deserialize(node).map_err(|error| error.below(&name))
    }
}

struct Items<'de> {
    items: std::slice::Iter<'de, Value>,
    index: usize,
    form: Form,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = InputError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, InputError> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        let node = Node { value: item, form: self.form };
        seed.deserialize(node).map(Some).map_err(|error| error.below(&format!("[{index}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Sample {
        flow_job_name: String,
        idle_timeout: u64,
        before_id: i64,
        port: u16,
        ratio: f64,
        do_it: bool,
        env: BTreeMap<String, String>,
        inner_list: Vec<Inner>,
        maybe: Option<Inner>,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Inner {
        source_name: String,
        ordering: u32,
    }

    fn read(value: &Value) -> Result<Sample, InputError> {
        from_value(value)
    }

    #[test]
    fn both_spellings_are_taken_and_unknown_keys_ignored() {
        for body in [
            json!({"flow_job_name": "m", "inner_list": [{"source_name": "a"}], "unknown": {"x": [1]}}),
            json!({"flowJobName": "m", "innerList": [{"sourceName": "a"}], "unknownToo": 1}),
        ] {
            let sample = read(&body).expect("reads");
            assert_eq!(
                (sample.flow_job_name.as_str(), sample.inner_list[0].source_name.as_str()),
                ("m", "a")
            );
        }
    }

    #[test]
    fn a_field_that_does_not_exist_is_refused_where_a_person_wrote_it() {
        for good in [json!({"flowJobName": "m", "env": {"any": "thing"}}), json!({"inner_list": [{}]})] {
            from_value_strictly::<Sample>(&good).expect("only fields");
        }
        let body = json!({"innerList": [{}, {"orderin": 1}]});
        let error = from_value_strictly::<Sample>(&body).expect_err("no such field").to_string();
        let expected = "inner_list[1].orderin: there is no such field; there are source_name, ordering";
        assert_eq!(error, expected);
    }

    #[test]
    fn integers_are_taken_as_numbers_and_as_texts() {
        for (number, expected) in [
            (json!(5), 5),
            (json!("5"), 5),
            (json!(5.0), 5),
            (json!(5e3), 5000),
            (json!("18446744073709551615"), u64::MAX),
            (json!(18_446_744_073_709_551_615_u64), u64::MAX),
        ] {
            assert_eq!(read(&json!({"idleTimeout": number})).expect("reads").idle_timeout, expected);
        }
        let negative = read(&json!({"beforeId": "-9223372036854775808"})).expect("reads");
        assert_eq!(negative.before_id, i64::MIN);
        for wrong in
            [json!(-1), json!("x"), json!("+5"), json!(1.5), json!(true), json!("18446744073709551616")]
        {
            let error = read(&json!({"idleTimeout": wrong})).expect_err("no u64");
            assert_eq!(error.path, "idle_timeout", "{error}");
        }
    }

    #[test]
    fn null_is_absent_everywhere() {
        let body = json!({"flowJobName": null, "port": null, "doIt": null, "env": null, "maybe": null});
        assert_eq!(read(&body).expect("reads"), Sample::default());
        let inner = read(&json!({"maybe": {"ordering": null}, "env": {"A": null}})).expect("reads");
        assert_eq!((inner.maybe, inner.env.len()), (Some(Inner::default()), 0));
    }

    #[test]
    fn keys_that_are_data_stay_as_they_are() {
        let sample = read(&json!({"env": {"PEERDB_camelKey": "v", "snake_key": "w"}})).expect("reads");
        assert_eq!(sample.env.keys().collect::<Vec<_>>(), ["PEERDB_camelKey", "snake_key"]);
    }

    #[test]
    fn a_query_has_flags_as_texts_and_a_body_has_not() {
        let query = json!({"doIt": "true", "flowJobName": "true", "idleTimeout": "5", "more": ""});
        let sample: Sample = from_query(&query).expect("reads");
        assert!(sample.do_it && sample.flow_job_name == "true" && sample.idle_timeout == 5);
        assert!(read(&query).is_err());
        for wrong in ["", "1", "True"] {
            let error = from_query::<Sample>(&json!({"doIt": wrong})).expect_err("no flag");
            assert_eq!(error.to_string(), "do_it: expected true or false, found a text");
        }
    }

    #[test]
    fn a_mistake_names_its_path_and_quotes_no_value() {
        for (body, message) in [
            (json!([]), "expected an object, found a list"),
            (json!({"flowJobName": 1}), "flow_job_name: expected a text, found a number"),
            (json!({"doIt": "hunter2"}), "do_it: expected true or false, found a text"),
            (json!({"port": 70_000}), "port: expected a whole number from 0 to 65535"),
            (json!({"port": "hunter2"}), "port: expected a whole number from 0 to 65535, found a text"),
            (json!({"ratio": []}), "ratio: expected a number, found a list"),
            (json!({"env": {"A": 1}}), "env.A: expected a text, found a number"),
            (json!({"innerList": {}}), "inner_list: expected a list, found an object"),
            (
                json!({"innerList": [{}, {"ordering": "hunter2"}]}),
                "inner_list[1].ordering: expected a whole number from 0 to 4294967295, found a text",
            ),
            (json!({"flowJobName": "a\0b"}), "flow_job_name: holds a NUL character"),
            (json!({"env": {"a\0": "b"}}), "env: holds a NUL character"),
            (json!({"innerList": [null]}), "inner_list[0]: expected an object, found null"),
            (json!({"port": 1, "flowJobName": "a", "flow_job_name": "b"}), "flow_job_name: is given twice"),
        ] {
            assert_eq!(read(&body).expect_err("a mistake").to_string(), message);
        }
    }
}
