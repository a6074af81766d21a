//! What rows show in a column that is added after them.
//!
//! The source holds one value in all of them, and sends none. As the column's default it is shown for every row
//! that is written without the column: those that are there, and those from before it that are yet to come.
//! A row of the column's own time always brings its value.

use tarn_batch::Type;

use crate::calendar_range::CalendarRange;
use crate::client::{Client, Error};
use crate::config::FILLING_BYTES_MAX;
use crate::encoder::Encoder;
use crate::target_type::TargetType;
use crate::value_literal;

/// A value as an expression, and what it must come out as.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Filling {
    expression: String,
    bytes: Vec<u8>,
}

impl Filling {
    /// A source's value in a column; nothing where the column cannot hold it, or no statement can.
    pub(crate) fn new(
        source: &Type,
        target: &TargetType,
        value: &[u8],
        range: CalendarRange,
    ) -> Option<Self> {
        let mut bytes = Vec::new();
        Encoder::new(source, target, range)?.value(value, &mut bytes).ok()?;
        let mut expression = String::new();
        value_literal::push(&mut expression, source, target, value).ok()?;
        (expression.len() <= FILLING_BYTES_MAX).then_some(Self { expression, bytes })
    }

    /// The expression, if the server reads it as the very value that rows would be written with.
    pub(crate) fn confirmed(
        &self,
        client: &mut impl Client,
        target: &TargetType,
    ) -> Result<Option<&str>, Error> {
        let sql = format!("SELECT CAST({} AS {target}) FORMAT RowBinary", self.expression);
        match client.query(&sql) {
            Ok(answer) => Ok((answer == self.bytes).then_some(self.expression.as_str())),
            // Nothing was answered: it says nothing about the expression.
            Err(error) if error.code == 0 => Err(error),
            Err(_) => Ok(None),
        }
    }
}
