//! What the author of a script in Rust writes against: records whose columns are read and assigned by name.
//!
//! ```
//! use tarn_script::author::{Becomes, Problem, Record, Transform};
//!
//! struct Mask;
//!
//! impl Transform for Mask {
//!     fn on_record(&mut self, record: &mut Record<'_>) -> Result<Becomes, Problem> {
//!         let row = record.row();
//!         if record.has(row) && record.get(row, "email")?.as_text().is_some() {
//!             record.set(row, "email", "***")?;
//!         }
//!         Ok(Becomes::Kept)
//!     }
//! }
//! ```

use std::fmt;

use tarn_batch::value::{
    Interval, read_bool, read_f32, read_f64, read_i16, read_i32, read_i64, read_interval, read_time_tz,
    read_uuid,
};
use tarn_batch::{
    BatchWriter, Cell, Column, DecodeError, Headers, LogMessage, Op, Outgoing, Row, RowHeader, TableIndex,
    Type, write_header,
};

use crate::added::{Added, declare};
use crate::assign::{Given, Refusal, write};
use crate::binding::{Binding, Bindings};
use crate::current::{Current, Which};
use crate::json::{Options, RowWriter, Unfit, names};
use crate::moment::{Moment, MomentKind};
use crate::number::Number;
use crate::transform::{self, Applied, Engine, Fault, Output, Records, Sent, Verdict, row_of};
use crate::uuid;

/// A script.
pub trait Transform {
    /// Columns that the script adds: the qualified name of a table, that of the column, and its type as
    /// PostgreSQL names it.
    fn added_columns(&self) -> Vec<(&'static str, &'static str, &'static str)> {
        Vec::new()
    }

    /// Decides what becomes of a record, which it may change.
    ///
    /// # Errors
    /// Why it cannot: the record is rejected.
    fn on_record(&mut self, record: &mut Record<'_>) -> Result<Becomes, Problem>;
}

/// What becomes of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Becomes {
    /// Its row goes on, as changed.
    Kept,
    /// Nothing of it goes on.
    Dropped,
    /// These go on instead: for queues.
    Messages(Vec<Message>),
}

/// Why a record is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem(String);

impl Problem {
    /// A problem in words; they are logged, so no values are in them.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Problem {}

impl From<DecodeError> for Problem {
    fn from(error: DecodeError) -> Self {
        Self(error.to_string())
    }
}

/// A message for a queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// Where to; none for the topic of the record's table.
    pub topic: Option<String>,
    /// Messages with one key keep their order.
    pub key: Option<Vec<u8>>,
    /// What it says; none is a tombstone.
    pub value: Option<Vec<u8>>,
    /// The partition, where the script chooses one.
    pub partition: Option<i32>,
    /// Names and values beside the value.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
}

impl Sent for Message {
    fn bytes(&self) -> usize {
        let length = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
        let headers = self.headers.iter().map(|(name, value)| name.len() + length(value));
        self.topic.as_ref().map_or(0, String::len)
            + length(&self.key)
            + length(&self.value)
            + headers.sum::<usize>()
    }

    fn write(&self, writer: &mut BatchWriter, table: TableIndex, header: &RowHeader, key: Option<&str>) {
        let mut headers = Vec::new();
        for (name, value) in &self.headers {
            write_header(&mut headers, name, value.as_deref());
        }
        let outgoing = Outgoing {
            topic: self.topic.as_deref(),
            key: self.key.as_deref(),
            value: self.value.as_deref(),
            partition: self.partition,
            headers: Headers::new(&headers),
            record_key: key,
        };
        writer.outgoing(table, header, &outgoing);
    }
}

/// What a column holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// What the source did not send, because it did not change.
    Unchanged,
    /// A boolean.
    Bool(bool),
    /// An integer of any size.
    Integer(i64),
    /// A float of either size.
    Float(f64),
    /// A decimal.
    Number(Number),
    /// Text, a label, or the text of a type without a form of its own.
    Text(&'a str),
    /// A document, as text.
    Json(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A date, a time of day or a point in time.
    Moment(Moment),
    /// An interval.
    Interval(Interval),
    /// A UUID.
    Uuid([u8; 16]),
    /// An array in the batch's form, which [`tarn_batch::value::ArrayReader`] reads.
    Array(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&'a str> {
        match self {
            Self::Text(text) | Self::Json(text) => Some(text),
            _ => None,
        }
    }

    fn read(data_type: &Type, cell: Cell<'a>) -> Result<Self, DecodeError> {
        let value = match cell {
            Cell::Null => return Ok(Self::Null),
            Cell::Unchanged => return Ok(Self::Unchanged),
            Cell::Value(value) => value,
        };
        let text = || std::str::from_utf8(value).map_err(|_| DecodeError::NotUtf8("text value"));
        let moment = |kind, value| Self::Moment(Moment::new(kind, value));
        Ok(match data_type {
            Type::Bool => Self::Bool(read_bool(value)?),
            Type::Int2 => Self::Integer(read_i16(value)?.into()),
            Type::Int4 => Self::Integer(read_i32(value)?.into()),
            Type::Int8 => Self::Integer(read_i64(value)?),
            Type::Float4 => Self::Float(read_f32(value)?.into()),
            Type::Float8 => Self::Float(read_f64(value)?),
            Type::Numeric { .. } => {
                Self::Number(Number::parse(text()?).ok_or(DecodeError::Invalid("numeric value"))?)
            }
            Type::Text | Type::Enum | Type::Other => Self::Text(text()?),
            Type::Json => Self::Json(text()?),
            Type::Bytes => Self::Bytes(value),
            Type::Date => moment(MomentKind::Date, read_i32(value)?.into()),
            Type::Time => moment(MomentKind::Time, read_i64(value)?),
            Type::TimeTz => Self::Moment(Moment::time_tz(read_time_tz(value)?)),
            Type::Timestamp => moment(MomentKind::Timestamp, read_i64(value)?),
            Type::TimestampTz => moment(MomentKind::TimestampTz, read_i64(value)?),
            Type::Interval => Self::Interval(read_interval(value)?),
            Type::Uuid => Self::Uuid(read_uuid(value)?),
            Type::Array(_) => Self::Array(value),
        })
    }
}

impl<'a> From<&'a str> for Given<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.as_bytes())
    }
}

impl From<i64> for Given<'_> {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<f64> for Given<'_> {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<bool> for Given<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Number> for Given<'_> {
    fn from(value: Number) -> Self {
        Self::Number(value)
    }
}

impl From<Moment> for Given<'_> {
    fn from(value: Moment) -> Self {
        Self::Moment(value)
    }
}

/// What a value that was given is called.
fn kind(given: &Given<'_>) -> &'static str {
    match given {
        Given::Bool(_) => "boolean",
        Given::Integer(_) => "integer",
        Given::Float(_) => "float",
        Given::Text(_) => "string",
        Given::Number(_) => "decimal",
        Given::Moment(_) => "time",
        Given::Interval(_) => "interval",
        Given::Uuid(_) => "UUID",
        Given::Other => "other",
    }
}

/// The record that a script looks at.
pub struct Record<'a> {
    bindings: &'a mut Bindings,
    current: &'a mut Current,
    row: Row<'a>,
}

impl Record<'_> {
    /// What happened.
    pub fn op(&self) -> Op {
        self.row.op()
    }

    /// Version, commit time and transaction.
    pub fn header(&self) -> RowHeader {
        self.row.header()
    }

    /// The row that people mean: the one after the change, or of a delete the one before it.
    pub fn row(&self) -> Which {
        row_of(self.op())
    }

    /// Whether the record has that row.
    pub fn has(&self, which: Which) -> bool {
        self.current.has(which)
    }

    fn binding(&self) -> &Binding {
        self.bindings.get(self.current.binding())
    }

    /// The table's name at the source: `public.users`.
    pub fn source(&self) -> &str {
        &self.binding().source
    }

    /// The table's name at the destination.
    pub fn target(&self) -> &str {
        &self.binding().target
    }

    /// The columns, with those that the script adds.
    pub fn columns(&self) -> &[Column] {
        &self.binding().table.columns
    }

    /// Of a message in the source's log: what it says.
    ///
    /// # Errors
    /// It is damaged.
    pub fn log_message(&self) -> Result<Option<LogMessage<'_>>, Problem> {
        Ok(self.row.log_message()?)
    }

    fn column(&self, name: &str) -> Result<usize, Problem> {
        let binding = self.binding();
        let found = binding.table.columns.iter().position(|column| column.name == name);
        found.ok_or_else(|| Problem(format!("table {} has no column \"{name}\"", binding.source)))
    }

    /// What a column holds, as the script has it by now.
    ///
    /// # Errors
    /// There is no such column or row, or the value is damaged.
    pub fn get(&mut self, which: Which, name: &str) -> Result<Value<'_>, Problem> {
        let column = self.column(name)?;
        if !self.has(which) {
            return Err(Problem(format!("the record of {} has no such row", self.source())));
        }
        let data_type = &self.bindings.get(self.current.binding()).table.columns[column].data_type;
        let damaged = |error| Problem(format!("column {name}: {error}"));
        let cell = self.current.cell(which, column).map_err(damaged)?;
        Value::read(data_type, cell).map_err(damaged)
    }

    /// Assigns to a column, exactly or not at all.
    ///
    /// # Errors
    /// Why the column cannot hold the value.
    pub fn set<'g>(&mut self, which: Which, name: &str, given: impl Into<Given<'g>>) -> Result<(), Problem> {
        let given = given.into();
        self.assign(which, name, |data_type, out| write(&given, kind(&given), data_type, out))
    }

    /// Assigns NULL.
    ///
    /// # Errors
    /// The column cannot be null.
    pub fn set_null(&mut self, which: Which, name: &str) -> Result<(), Problem> {
        let column = self.column(name)?;
        let columns = self.columns().len();
        if !self.columns()[column].nullable {
            return Err(self.refused(column, &Refusal::NotNull));
        }
        self.current.set_null(which, column, columns);
        Ok(())
    }

    /// Assigns what `write` appends in the form of the column's type: arrays, and whatever else has no [`Given`].
    ///
    /// # Errors
    /// What `write` refuses.
    pub fn assign(
        &mut self,
        which: Which,
        name: &str,
        write: impl FnOnce(&Type, &mut Vec<u8>) -> Result<(), Refusal>,
    ) -> Result<(), Problem> {
        let column = self.column(name)?;
        if !self.has(which) {
            return Err(Problem(format!("the record of {} has no such row", self.source())));
        }
        let columns = &self.bindings.get(self.current.binding()).table.columns;
        let data_type = &columns[column].data_type;
        let written = self.current.set_value(which, column, columns.len(), |out| write(data_type, out));
        written.map_err(|refusal| self.refused(column, &refusal))
    }

    fn refused(&self, column: usize, refusal: &Refusal) -> Problem {
        let binding = self.binding();
        let described = binding.describe(&binding.table.columns[column]);
        Problem(format!("{described} of {} {refusal}", binding.source))
    }

    /// A row as JSON, its columns in order.
    ///
    /// # Errors
    /// A value has no JSON form.
    pub fn json(&mut self, which: Which, options: Options) -> Result<Vec<u8>, Problem> {
        let (mut out, mut text) = (Vec::new(), String::new());
        let binding = self.bindings.get_mut(self.current.binding());
        let (table, names) = binding.json_names(names);
        let written =
            RowWriter { out: &mut out, text: &mut text, options }.row(self.current, which, table, names);
        match written {
            Ok(()) => Ok(out),
            Err(Unfit::NotFinite) => Err(Problem::new("NaN and infinities have no JSON form")),
            Err(Unfit::NotUtf8) => Err(Problem::new("bytes that are not UTF-8 have no JSON form")),
            Err(Unfit::TooLong) => Err(Problem::new("the row is too long for JSON")),
            Err(Unfit::Damaged) => Err(Problem::new("the row is damaged")),
        }
    }

    /// A UUID that is derived from the record: another for each call, the same when the record is delivered again.
    pub fn uuid(&mut self) -> [u8; 16] {
        uuid::derive(self.current, self.bindings).unwrap_or_default()
    }
}

/// A script with what it remembers of tables and of the current record.
pub struct Author<T> {
    script: T,
    output: Output,
    bindings: Bindings,
    added: Vec<Added>,
    current: Current,
}

impl<T: Transform> Author<T> {
    /// A script for tables, by their qualified names at source and destination.
    ///
    /// # Errors
    /// A column cannot be added as it was declared.
    pub fn new(script: T, targets: Vec<(String, String)>, output: Output) -> Result<Self, Problem> {
        let mut added = Vec::new();
        for (table, name, type_name) in script.added_columns() {
            declare(&mut added, table.to_owned(), name.to_owned(), type_name.to_owned()).map_err(Problem)?;
        }
        let mut bindings = Bindings::default();
        bindings.set_targets(targets);
        Ok(Self { script, output, bindings, added, current: Current::default() })
    }

    /// Transforms the rows of a batch.
    ///
    /// # Errors
    /// The batch is damaged.
    pub fn apply(&mut self, batch: &[u8]) -> Result<Applied, DecodeError> {
        transform::apply(self, batch)
    }
}

impl<T: Transform> Engine for Author<T> {
    type Message = Message;

    fn records(&mut self) -> Records<'_> {
        Records { bindings: &mut self.bindings, added: &self.added, current: &mut self.current }
    }

    fn run(&mut self, row: &Row<'_>, binding: usize) -> Verdict<Message> {
        let Self { script, bindings, current, output, .. } = self;
        current.begin(row, binding, bindings.get(binding).table.columns.len());
        match (script.on_record(&mut Record { bindings, current, row: *row }), *output) {
            (Ok(Becomes::Kept), Output::Rows) => Verdict::Kept,
            (Ok(Becomes::Kept), Output::Messages) => {
                Verdict::rejected("the script keeps the row: a queue takes messages")
            }
            (Ok(Becomes::Messages(_)), Output::Rows) => {
                Verdict::rejected("the script makes messages: a table takes rows")
            }
            (Ok(Becomes::Messages(messages)), Output::Messages) => Verdict::Sent(messages),
            (Ok(Becomes::Dropped), _) => Verdict::Dropped,
            (Err(Problem(message)), _) => Verdict::Rejected(Fault::new(message)),
        }
    }

    fn rest(&mut self, _: bool) {}
}
