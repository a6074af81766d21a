//! Both sides, row by row: equal, or what differs.
//!
//! Each side prints its rows as lines in key order, every value in one agreed text form, a range of keys
//! at a time. The source prints what the script must have made of the e-mail column. Two sorted lists of
//! lines are then merged; the first differing keys are kept for people.

use std::fmt;

use tarn_clickhouse::Client;
use tarn_postgres::Connection;

use super::{DemoError, dataset};
use crate::config::{COPY_BYTES, RANGE_KEYS, SHOWN_DIFFERENCES};

/// What the comparison found.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Rows that are the same on both sides.
    pub equal: u64,
    /// Rows that are missing, too many or different at the destination.
    pub differing: u64,
    /// The first of them.
    pub first: Vec<Difference>,
}

/// One row that is not the same, as both sides printed it.
#[derive(Debug)]
pub struct Difference {
    /// The source's row; empty when the destination has one too many.
    pub source: String,
    /// The destination's row; empty when it is missing.
    pub destination: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "source      {}\ndestination {}", shown(&self.source), shown(&self.destination))
    }
}

fn shown(line: &str) -> &str {
    if line.is_empty() { "(no row)" } else { line }
}

/// Compares every row; `progress` hears how many rows of the source were looked at.
///
/// # Errors
/// [`DemoError::Postgres`] or [`DemoError::ClickHouse`] when a side cannot be read.
pub async fn compare(
    source: &mut Connection,
    destination: &Client,
    mut progress: impl FnMut(u64),
) -> Result<Comparison, DemoError> {
    let mut result = Comparison::default();
    let mut looked_at = 0;
    let (mut lower, highest) = key_bounds(source, destination).await?;
    while lower <= highest {
        let upper = lower + RANGE_KEYS;
        let left = source_lines(source, lower, upper).await?;
        let right = destination_lines(destination, lower, upper).await?;
        looked_at += left.lines().count() as u64;
        merge(&left, &right, &mut result);
        progress(looked_at);
        lower = upper;
    }
    Ok(result)
}

async fn key_bounds(source: &mut Connection, destination: &Client) -> Result<(i64, i64), DemoError> {
    let sql = format!("SELECT coalesce(min(id), 0), coalesce(max(id), -1) FROM {}", dataset::SOURCE_TABLE);
    let rows = source.query(&sql).await?;
    let number = |index: usize| -> i64 {
        rows.first().and_then(|row| row.get(index)?.as_deref()?.parse().ok()).unwrap_or_default()
    };
    let sql = format!("SELECT min(id), max(id) FROM {} FINAL FORMAT TSV", dataset::DESTINATION_TABLE);
    let answer = destination.query(&sql).await?;
    let text = String::from_utf8_lossy(&answer);
    let mut bounds = text.split_whitespace().map(|number| number.parse::<i64>().unwrap_or_default());
    let (low, high) = (bounds.next().unwrap_or_default(), bounds.next().unwrap_or_default());
    Ok((number(0).min(low), number(1).max(high)))
}

async fn source_lines(source: &mut Connection, lower: i64, upper: i64) -> Result<String, DemoError> {
    let sql = format!(
        "COPY (SELECT id, left(email, 1) || '***' || substr(email, position('@' in email)), \
           coalesce(name, 'NULL'), balance, visits, coalesce(score::text, 'NULL'), active::int, \
           coalesce(born::text, 'NULL'), to_char(updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), \
           device, array_to_string(tags, '|'), coalesce(profile::text, 'NULL') \
         FROM {} WHERE id >= {lower} AND id < {upper} ORDER BY id) TO STDOUT",
        dataset::SOURCE_TABLE
    );
    source.copy_out(&sql).await?;
    let mut text = Vec::new();
    loop {
        let chunk = source.copy_read(COPY_BYTES as usize).await?;
        if chunk.is_empty() {
            return Ok(String::from_utf8_lossy(&text).into_owned());
        }
        text.extend_from_slice(&chunk);
    }
}

async fn destination_lines(destination: &Client, lower: i64, upper: i64) -> Result<String, DemoError> {
    let sql = format!(
        "SELECT id, email, coalesce(name, 'NULL'), balance, visits, coalesce(toString(score), 'NULL'), \
           toUInt8(active), coalesce(toString(born), 'NULL'), toString(updated_at), toString(device), \
           arrayStringConcat(tags, '|'), coalesce(toString(profile), 'NULL') \
         FROM {} FINAL WHERE id >= {lower} AND id < {upper} ORDER BY id \
         SETTINGS output_format_decimal_trailing_zeros = 1 FORMAT TSV",
        dataset::DESTINATION_TABLE
    );
    let answer = destination.query(&sql).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Merges two lists of lines in key order into the result.
fn merge(left: &str, right: &str, result: &mut Comparison) {
    let (mut lefts, mut rights) = (left.lines().peekable(), right.lines().peekable());
    loop {
        let (source, destination) = match (lefts.peek(), rights.peek()) {
            (None, None) => return,
            (Some(source), Some(destination)) if source == destination => {
                result.equal += 1;
                lefts.next();
                rights.next();
                continue;
            }
            (Some(source), Some(destination)) => match key(source).cmp(&key(destination)) {
                std::cmp::Ordering::Less => (lefts.next(), None),
                std::cmp::Ordering::Greater => (None, rights.next()),
                std::cmp::Ordering::Equal => (lefts.next(), rights.next()),
            },
            _ => (lefts.next(), rights.next()),
        };
        result.differing += 1;
        if result.first.len() < SHOWN_DIFFERENCES {
            let owned = |line: Option<&str>| line.unwrap_or_default().to_owned();
            result.first.push(Difference { source: owned(source), destination: owned(destination) });
        }
    }
}

fn key(line: &str) -> i64 {
    line.split('\t').next().and_then(|key| key.parse().ok()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lists_have_no_difference() {
        let mut result = Comparison::default();
        merge("1\ta\n2\tb\n", "1\ta\n2\tb\n", &mut result);
        assert_eq!((result.equal, result.differing), (2, 0));
    }

    #[test]
    fn a_missing_an_extra_and_a_changed_row_are_each_named() {
        let mut result = Comparison::default();
        merge("1\ta\n2\tb\n4\td\n", "2\tx\n3\tc\n4\td\n", &mut result);
        assert_eq!((result.equal, result.differing), (1, 3));
        let named: Vec<_> =
            result.first.iter().map(|d| (d.source.as_str(), d.destination.as_str())).collect();
        assert_eq!(named, [("1\ta", ""), ("2\tb", "2\tx"), ("", "3\tc")]);
    }
}
