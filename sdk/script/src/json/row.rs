//! The JSON text of rows: an object with the columns in order, each written by its type.

use tarn_batch::text::write_text;
use tarn_batch::value::{ArrayReader, Elements, read_bool, read_f32, read_f64, read_i16, read_i32, read_i64};
use tarn_batch::{Cell, Table, Type};

use super::Unfit;
use super::options::{Documents, Options};
use super::scalar::{write_bytes, write_decimal, write_float, write_integer, write_quoted, write_string};
use crate::current::{Current, Which};

/// What comes before the values of a table's columns: `"name":`.
pub fn names(table: &Table) -> Vec<Vec<u8>> {
    let name = |name: &str| {
        let mut written = Vec::with_capacity(name.len() + 3);
        write_string(&mut written, name.as_bytes()).expect("a column's name is text");
        written.push(b':');
        written
    };
    table.columns.iter().map(|column| name(&column.name)).collect()
}

/// Where a row is written, and how.
pub struct RowWriter<'a> {
    /// What is appended to.
    pub out: &'a mut Vec<u8>,
    /// Room for a text.
    pub text: &'a mut String,
    /// How.
    pub options: Options,
}

impl RowWriter<'_> {
    /// Appends a row of the current record, without the columns that the source did not send.
    /// `names` are what comes before the columns' values ([`names`]).
    pub fn row(
        &mut self,
        current: &mut Current,
        which: Which,
        table: &Table,
        names: &[Vec<u8>],
    ) -> Result<(), Unfit> {
        self.out.push(b'{');
        let mut first = true;
        for (at, column) in table.columns.iter().enumerate() {
            let cell = current.cell(which, at).map_err(|_| Unfit::Damaged)?;
            if cell == Cell::Unchanged {
                continue;
            }
            if !std::mem::take(&mut first) {
                self.out.push(b',');
            }
            self.out.extend_from_slice(&names[at]);
            match cell.value() {
                Some(value) => self.value(&column.data_type, value)?,
                None => self.out.extend_from_slice(b"null"),
            }
        }
        self.out.push(b'}');
        Ok(())
    }

    /// Appends a value of a type.
    pub fn value(&mut self, data_type: &Type, value: &[u8]) -> Result<(), Unfit> {
        let damaged = |_| Unfit::Damaged;
        match data_type {
            Type::Bool => {
                let word: &[u8] = if read_bool(value).map_err(damaged)? { b"true" } else { b"false" };
                self.out.extend_from_slice(word);
            }
            Type::Int2 => write_integer(self.out, read_i16(value).map_err(damaged)?.into()),
            Type::Int4 => write_integer(self.out, read_i32(value).map_err(damaged)?.into()),
            Type::Int8 => write_integer(self.out, read_i64(value).map_err(damaged)?),
            Type::Float4 => {
                let single = read_f32(value).map_err(damaged)?;
                // The shortest text of the single, not of the double that it is among.
                let shortest = single.to_string().parse().unwrap_or(f64::from(single));
                let exact = if single.fract() == 0.0 { f64::from(single) } else { shortest };
                write_float(self.out, exact, self.options)?;
            }
            Type::Float8 => write_float(self.out, read_f64(value).map_err(damaged)?, self.options)?,
            Type::Numeric { .. } => write_decimal(self.out, value, self.options)?,
            Type::Text | Type::Enum | Type::Other => write_string(self.out, value)?,
            Type::Json => match self.options.documents {
                Documents::Text => write_string(self.out, value)?,
                Documents::Nested => self.out.extend_from_slice(value),
            },
            Type::Bytes => write_bytes(self.out, value, self.options),
            Type::Array(element) => {
                let reader = ArrayReader::new(value).map_err(damaged)?;
                let lengths: Vec<u32> = reader.dimensions().collect();
                self.dimension(element, &lengths, &mut reader.elements())?;
            }
            _ => self.said(data_type, value)?,
        }
        Ok(())
    }

    /// Appends what has a text as PostgreSQL writes it; a point in time has its zone in four digits.
    fn said(&mut self, data_type: &Type, value: &[u8]) -> Result<(), Unfit> {
        self.text.clear();
        write_text(data_type, value, self.text).map_err(|_| Unfit::Damaged)?;
        if *data_type == Type::TimestampTz && self.text.ends_with("+00") {
            self.text.push_str("00");
        }
        // These texts hold nothing that is escaped in JSON.
        write_quoted(self.out, self.text.as_bytes());
        Ok(())
    }

    fn dimension(
        &mut self,
        element: &Type,
        lengths: &[u32],
        elements: &mut Elements<'_>,
    ) -> Result<(), Unfit> {
        self.out.push(b'[');
        let (length, inner) = lengths.split_first().map_or((0, lengths), |(&length, inner)| (length, inner));
        for item in 0..length {
            if item > 0 {
                self.out.push(b',');
            }
            if !inner.is_empty() {
                self.dimension(element, inner, elements)?;
                continue;
            }
            match elements.next() {
                Some(Ok(Some(value))) => self.value(element, value)?,
                Some(Ok(None)) => self.out.extend_from_slice(b"null"),
                Some(Err(_)) | None => return Err(Unfit::Damaged),
            }
        }
        self.out.push(b']');
        Ok(())
    }
}
