//! What `onRecord` returns for a queue: a string, or an object that says where it goes.

use tarn_batch::{BatchWriter, Headers, Outgoing, RowHeader, TableIndex, write_header};
use tarn_script::transform::Sent;

use crate::assign;
use crate::js::{Answer, Js, Kind, Throw, Value, View};
use crate::mark;
use crate::record;
use crate::row;
use crate::values::{decimal, interval, time};

/// Fields of a message.
pub const FIELDS: [&str; 5] = ["topic", "key", "value", "headers", "partition"];

/// A message that a script made.
#[derive(Debug, Default)]
pub struct Message {
    topic: Option<String>,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    partition: Option<i32>,
    /// Its headers as the batch has them.
    headers: Vec<u8>,
}

impl Message {
    /// Reads a value; none for `null` and `undefined`. May run script code.
    pub fn read(js: Js, value: View) -> Answer<Option<Self>> {
        match value.kind() {
            Kind::Undefined | Kind::Null => Ok(None),
            Kind::String => Ok(Some(Self { value: text(js, value, "message")?, ..Self::default() })),
            Kind::Object if js.bytes_of(value).is_some() => {
                Ok(Some(Self { value: text(js, value, "message")?, ..Self::default() }))
            }
            Kind::Object if is_plain(js, value) => Self::read_object(js, value).map(Some),
            _ => Err(Throw::of_type(format_args!(
                "onRecord returned {}: for a queue it returns a string such as tarn.json.encode(r), an object with {}, \
                 an array of those, or null",
                assign::described(js, value),
                FIELDS.join(", ")
            ))),
        }
    }

    fn read_object(js: Js, object: View) -> Answer<Self> {
        let names = js.names(object)?;
        // A map, an error, what a generator made: not meant as an empty message, which would be a tombstone.
        if names.is_empty() {
            let mut fields = FIELDS.iter().map(|field| js.get(object, field));
            if fields
                .try_fold(true, |empty, value| Ok::<_, Throw>(empty && value?.kind() == Kind::Undefined))?
            {
                return Err(Throw::of_type(format_args!(
                    "onRecord returned an object without any field of a message, which has {}: null drops a record, \
                     and {{ value: null }} is a tombstone",
                    FIELDS.join(", ")
                )));
            }
        }
        // A name that is no field is a mistake: what it holds would be lost.
        for name in names {
            let name = js.value_of_atom(name.number())?;
            let name = js.text(*name)?;
            if !FIELDS.iter().any(|field| field.as_bytes() == &*name) {
                return Err(Throw::of_type(format_args!(
                    "onRecord returned an object with a field \"{}\": a message has {}",
                    name.to_text(),
                    FIELDS.join(", ")
                )));
            }
        }
        let topic = text(js, *js.get(object, "topic")?, "topic")?;
        let topic = topic.map(|topic| {
            String::from_utf8(topic).map_err(|_| Throw::of_type("the topic of a message is not UTF-8"))
        });
        Ok(Self {
            topic: topic.transpose()?,
            key: text(js, *js.get(object, "key")?, "key")?,
            value: text(js, *js.get(object, "value")?, "value")?,
            partition: partition(js, &js.get(object, "partition")?)?,
            headers: headers(js, &js.get(object, "headers")?)?,
        })
    }
}

impl Sent for Message {
    fn bytes(&self) -> usize {
        let length = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
        self.topic.as_ref().map_or(0, String::len)
            + length(&self.key)
            + length(&self.value)
            + self.headers.len()
    }

    fn write(&self, writer: &mut BatchWriter, table: TableIndex, header: &RowHeader, key: Option<&str>) {
        let outgoing = Outgoing {
            topic: self.topic.as_deref(),
            key: self.key.as_deref(),
            value: self.value.as_deref(),
            partition: self.partition,
            headers: Headers::new(&self.headers),
            record_key: key,
        };
        writer.outgoing(table, header, &outgoing);
    }
}

/// Whether an object is the script's own: no value of this crate's, no array, no function.
fn is_plain(js: Js, value: View) -> bool {
    assign::given(js, value) == "object" && mark::get(js, value).is_none()
}

/// The bytes of a value that is text or bytes, or has exactly one text.
fn text(js: Js, value: View, what: &str) -> Answer<Option<Vec<u8>>> {
    let has_text = match value.kind() {
        Kind::Undefined | Kind::Null => return Ok(None),
        Kind::String | Kind::Integer | Kind::Float | Kind::BigInt => true,
        Kind::Object => {
            if let Some(bytes) = js.bytes_of(value) {
                return Ok(Some(bytes.to_vec()));
            }
            decimal::text_of(js, value).is_some()
                || time::get(js, value).is_some()
                || interval::get(js, value).is_some()
        }
        _ => false,
    };
    if !has_text {
        let hint = if record::is_record(js, value) || row::which(js, value).is_some() || is_plain(js, value) {
            ": tarn.json.encode makes one of it"
        } else {
            ""
        };
        return Err(Throw::of_type(format_args!(
            "the {what} of a message is {}: it is a string or a Uint8Array{hint}",
            assign::described(js, value)
        )));
    }
    // Of a decimal or a time the text that is its own, whatever a script made of the prototype.
    let said = if let Some(number) = decimal::text_of(js, value) {
        number.as_bytes().to_vec()
    } else {
        js.text(value)?.to_vec()
    };
    match std::str::from_utf8(&said) {
        Ok(_) => Ok(Some(said)),
        Err(_) => Err(Throw::of_type(format_args!("the {what} of a message has half a pair of surrogates"))),
    }
}

fn partition(js: Js, value: &Value) -> Answer<Option<i32>> {
    if value.is_nothing() {
        return Ok(None);
    }
    let number = js.integer_of(**value).and_then(|number| i32::try_from(number).ok());
    let number = number.filter(|&number| number >= 0);
    number.map(Some).ok_or_else(|| Throw::of_type("the partition of a message is not a whole number from 0"))
}

fn headers(js: Js, value: &Value) -> Answer<Vec<u8>> {
    if value.is_nothing() {
        return Ok(Vec::new());
    }
    if value.kind() != Kind::Object || !is_plain(js, **value) {
        return Err(Throw::of_type(format_args!(
            "the headers of a message are {}: they are an object",
            assign::described(js, **value)
        )));
    }
    let mut found = Vec::new();
    for name in js.names(**value)? {
        let value = js.get_atom(**value, &name)?;
        let name = js.value_of_atom(name.number())?;
        let name = js.text(*name)?.to_text();
        let text = text(js, *value, &format!("header \"{name}\""))?;
        found.push((name, text));
    }
    // As scripts in every language have them.
    found.sort_unstable();
    let mut bytes = Vec::new();
    for (name, value) in found {
        write_header(&mut bytes, &name, value.as_deref());
    }
    Ok(bytes)
}
