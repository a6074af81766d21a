//! Rows as maps, their columns in order, each by its type.

use tarn_batch::text::write_text as say;
use tarn_batch::value::{
    ArrayReader, Elements, read_bool, read_f32, read_f64, read_i16, read_i32, read_i64, read_time_tz,
};
use tarn_batch::{Cell, Table, Type};

use super::Unfit;
use super::form::{
    begin_array, begin_map, write_bytes, write_double, write_signed, write_single, write_text, write_time,
    write_unsigned,
};
use crate::current::{Current, Which};
use crate::moment::{Moment, MomentKind};
use crate::number::Number;

/// Where a row is written.
pub struct RowPacker<'a> {
    /// What is appended to.
    pub out: &'a mut Vec<u8>,
    /// Room for a text.
    pub text: &'a mut String,
}

impl RowPacker<'_> {
    /// Appends a row of the current record, without the columns that the source did not send.
    pub fn row(&mut self, current: &mut Current, which: Which, table: &Table) -> Result<(), Unfit> {
        let mut count = 0;
        for at in 0..table.columns.len() {
            count += usize::from(current.cell(which, at)? != Cell::Unchanged);
        }
        begin_map(self.out, count)?;
        for (at, column) in table.columns.iter().enumerate() {
            let cell = current.cell(which, at)?;
            if cell == Cell::Unchanged {
                continue;
            }
            write_text(self.out, column.name.as_bytes())?;
            match cell.value() {
                Some(value) => self.value(&column.data_type, value)?,
                None => self.out.push(0xc0),
            }
        }
        Ok(())
    }

    fn value(&mut self, data_type: &Type, value: &[u8]) -> Result<(), Unfit> {
        match data_type {
            Type::Bool => self.out.push(if read_bool(value)? { 0xc3 } else { 0xc2 }),
            Type::Int2 => write_signed(self.out, read_i16(value)?.into()),
            Type::Int4 => write_signed(self.out, read_i32(value)?.into()),
            Type::Int8 => write_signed(self.out, read_i64(value)?),
            Type::Float4 => write_single(self.out, read_f32(value)?),
            Type::Float8 => write_double(self.out, read_f64(value)?),
            Type::Numeric { .. } | Type::Text | Type::Enum | Type::Other | Type::Json => {
                write_text(self.out, value)?;
            }
            Type::Bytes | Type::Uuid => write_bytes(self.out, value)?,
            Type::Interval => {
                self.text.clear();
                say(data_type, value, self.text)?;
                write_text(self.out, self.text.as_bytes())?;
            }
            Type::Date => self.moment(Moment::new(MomentKind::Date, read_i32(value)?.into()))?,
            Type::Time => self.moment(Moment::new(MomentKind::Time, read_i64(value)?))?,
            Type::TimeTz => self.moment(Moment::time_tz(read_time_tz(value)?))?,
            Type::Timestamp => self.moment(Moment::new(MomentKind::Timestamp, read_i64(value)?))?,
            Type::TimestampTz => self.moment(Moment::new(MomentKind::TimestampTz, read_i64(value)?))?,
            Type::Array(element) => {
                let reader = ArrayReader::new(value)?;
                let lengths: Vec<u32> = reader.dimensions().collect();
                self.dimension(element, &lengths, &mut reader.elements())?;
            }
        }
        Ok(())
    }

    fn moment(&mut self, moment: Moment) -> Result<(), Unfit> {
        write_moment(self.out, &moment, self.text)
    }

    fn dimension(
        &mut self,
        element: &Type,
        lengths: &[u32],
        elements: &mut Elements<'_>,
    ) -> Result<(), Unfit> {
        let (length, inner) = lengths.split_first().map_or((0, lengths), |(&length, inner)| (length, inner));
        begin_array(self.out, length as usize)?;
        for _ in 0..length {
            if !inner.is_empty() {
                self.dimension(element, inner, elements)?;
                continue;
            }
            match elements.next().ok_or(Unfit::Damaged)?? {
                Some(value) => self.value(element, value)?,
                None => self.out.push(0xc0),
            }
        }
        Ok(())
    }
}

/// A whole number in 64 bits where it fits, else as text.
pub fn write_big_integer(out: &mut Vec<u8>, text: &str) -> Result<(), Unfit> {
    let Some(Number::Finite(number)) = Number::parse(text) else { return Err(Unfit::Damaged) };
    match number.to_i64() {
        Some(value) => write_signed(out, value),
        None if number.sign() > 0 && number.magnitude().len() <= 8 => write_unsigned(out, number.low_bits()),
        None => write_text(out, text.as_bytes())?,
    }
    Ok(())
}

/// A point in time is a timestamp, a date the one of its midnight, a time of day that of the first day;
/// one with a zone keeps it as text.
pub fn write_moment(out: &mut Vec<u8>, moment: &Moment, text: &mut String) -> Result<(), Unfit> {
    match moment.kind() {
        MomentKind::TimeTz => {
            text.clear();
            moment.write_text(text);
            write_text(out, text.as_bytes())
        }
        MomentKind::Time => write_time(out, moment.value()),
        _ if !moment.is_finite() => Err(Unfit::Infinite),
        _ => {
            let point = moment.convert(MomentKind::TimestampTz).ok_or(Unfit::TimeOutOfRange("time"))?;
            write_time(out, point.value())
        }
    }
}
