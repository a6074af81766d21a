//! Reading stored values back by key, for updates that leave large values out.
//!
//! PostgreSQL does not send a stored-apart (TOAST) value that an update did not touch. The row in
//! ClickHouse is written whole, so the value comes from the latest version of the same key.

use std::collections::HashMap;
use std::ops::{Deref, Range};
use std::rc::Rc;

use tarn_batch::{Cell, Row};
use tarn_sdk::Failure;
use tarn_sdk::sql::clickhouse::ident;

use crate::client::Client;
use crate::config::{LOOKUP_KEYS_MAX, LOOKUP_SQL_BYTES_MAX, READ_BACK_BYTES_MAX};
use crate::failure::{code, of_error};
use crate::key_literal;
use crate::plan::{Image, Plan, PlannedColumn, RowError};
use crate::row_binary::split_value;
use crate::target_type::TargetType;

/// Documents come in the form they are sent in: as text. Servers that have no such type have no such setting.
const JSON_AS_TEXT: &str = "output_format_binary_write_json_as_string = 1";

/// A key as the target holds it.
pub(crate) type Key = Vec<u8>;

/// What is known of a key's latest row.
#[derive(Debug, Clone)]
pub(crate) struct Earlier {
    pub(crate) version: u128,
    pub(crate) deleted: bool,
    /// The wanted columns as the target holds them; none of a deleted row that is part of the same write.
    pub(crate) values: Vec<Value>,
}

/// A value as the target holds it: a part of the answer that brought it, which may be large and is not copied.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    answer: Rc<Vec<u8>>,
    range: Range<usize>,
}

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.answer[self.range.clone()]
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self { range: 0..bytes.len(), answer: Rc::new(bytes) }
    }
}

/// A key to look for, as a row of a tuple list.
#[derive(Debug)]
pub(crate) struct Wanted {
    literal: String,
}

impl Wanted {
    /// A key that is an expression already: a tuple of the target's columns.
    pub(crate) fn of_literal(literal: String) -> Self {
        Self { literal }
    }

    /// The expression.
    pub(crate) fn literal(&self) -> &str {
        &self.literal
    }

    /// The key that an image of the row has.
    pub(crate) fn new(plan: &Plan, row: &Row<'_>, image: Image) -> Result<Self, RowError> {
        let mut literal = String::from("(");
        for (at, &source) in plan.key.iter().enumerate() {
            if at > 0 {
                literal.push_str(", ");
            }
            // The key was encoded before: it has values, all of them.
            let (Some(column), Cell::Value(value)) =
                (plan.column(source), plan.key_cell(row, image, source)?)
            else {
                return Err(RowError::Unchanged);
            };
            key_literal::push(&mut literal, &plan.table.columns[source].data_type, &column.data_type, value)?;
        }
        literal.push(')');
        Ok(Self { literal })
    }
}

/// Reads the wanted columns of the latest version of each key.
pub(crate) fn read_back(
    client: &mut impl Client,
    plan: &Plan,
    columns: &[usize],
    wanted: &[Wanted],
) -> Result<HashMap<Key, Earlier>, Failure> {
    let doing = "reading unchanged values back from";
    let bytes_max = READ_BACK_BYTES_MAX;
    let (keys_max, purpose) = (LOOKUP_KEYS_MAX, Purpose::Keeping);
    ReadBack { plan, columns, until: None, keys_max, bytes_max, doing, settings: "", purpose }
        .read(client, wanted)
}

/// What is read of each key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadBack<'a> {
    pub(crate) plan: &'a Plan,
    /// The source's columns that are wanted, beside the key.
    pub(crate) columns: &'a [usize],
    /// The greatest version that counts; nothing for any.
    pub(crate) until: Option<u128>,
    /// Keys of one statement.
    pub(crate) keys_max: usize,
    /// Bytes of all statements' answers; the first one may have more.
    pub(crate) bytes_max: usize,
    /// For people: a fragment that the target's name follows.
    pub(crate) doing: &'static str,
    /// Settings of the statement; may be empty.
    pub(crate) settings: &'static str,
    pub(crate) purpose: Purpose,
}

/// What values are read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To be written again. A row that holds a wanted value in another column, in a type that the source's column had
    /// before, has nothing that could be.
    Keeping,
    /// To be looked at, as they are.
    Looking,
}

impl ReadBack<'_> {
    /// Reads the latest version of each key that counts.
    pub(crate) fn read(
        self,
        client: &mut impl Client,
        wanted: &[Wanted],
    ) -> Result<HashMap<Key, Earlier>, Failure> {
        let mut found = HashMap::with_capacity(wanted.len());
        let mut rest = wanted;
        let mut keys_max = self.keys_max;
        let mut bytes = 0;
        while !rest.is_empty() {
            let count = fitting(rest, keys_max);
            let (chunk, later) = rest.split_at(count);
            match client.query(&self.statement(chunk)) {
                Ok(answer) => {
                    bytes += answer.len();
                    if bytes > self.bytes_max && !later.is_empty() {
                        let message = format!("{} {}: the values are large", self.doing, self.plan.target);
                        return Err(Failure::retry("values_large", message)
                            .with_hint("fewer rows at once are tried")
                            .with_table(self.plan.table.qualified_name()));
                    }
                    self.parse(&Rc::new(answer), &mut found)?;
                    rest = later;
                }
                // The values are large: fewer of them.
                Err(error) if error.code == code::TOO_MANY_ROWS_OR_BYTES && count > 1 => keys_max = count / 2,
                Err(error) if error.code == code::TOO_MANY_ROWS_OR_BYTES => {
                    let message = format!(
                        "{} {}: those of one row are more than can be held: {}",
                        self.doing, self.plan.target, error.message
                    );
                    return Err(Failure::permanent("values_too_large", message)
                        .with_hint(
                            "with REPLICA IDENTITY FULL the source sends such values with each change: set it, then resync \
                             the mirror; or exclude one of the columns",
                        )
                        .with_table(self.plan.table.qualified_name()));
                }
                Err(error) => {
                    let doing = format!("{} {}", self.doing, self.plan.target);
                    return Err(of_error(error, &doing).with_table(self.plan.table.qualified_name()));
                }
            }
        }
        Ok(found)
    }

    /// The latest row of a key is found by its version, not by FINAL: that works for every engine and reads
    /// only the keys' granules.
    fn statement(&self, wanted: &[Wanted]) -> String {
        let plan = self.plan;
        let key = names(plan, &plan.key);
        let columns = match self.columns {
            [] => String::new(),
            columns => format!("{}, ", names(plan, columns)),
        };
        let keys = wanted.iter().map(|wanted| wanted.literal.as_str()).collect::<Vec<_>>().join(", ");
        let version = ident(&plan.own.version);
        let is_json = |source: &usize| {
            plan.column(*source)
                .is_some_and(|column| matches!(column.data_type.value_type(), TargetType::Json(_)))
        };
        let json = if self.columns.iter().any(is_json) { JSON_AS_TEXT } else { "" };
        let settings = [self.settings, json].into_iter().filter(|setting| !setting.is_empty());
        let settings = match settings.collect::<Vec<_>>().join(", ") {
            settings if settings.is_empty() => settings,
            settings => format!(" SETTINGS {settings}"),
        };
        let until = self
            .until
            .map_or_else(String::new, |until| format!(" AND {version} <= CAST('{until}', 'UInt128')"));
        let deleted = ident(&plan.own.deleted);
        let elsewhere = self.elsewhere();
        let (shown, open, close) = match elsewhere.as_str() {
            "" => (format!("{key}, {columns}{version}, {deleted}"), "", String::new()),
            columns_beside => (
                format!("{key}, {columns}{version}, {deleted}, {columns_beside}"),
                "SELECT * EXCEPT (_tarn_elsewhere) FROM (",
                format!(") WHERE NOT _tarn_elsewhere OR {deleted} != 0"),
            ),
        };
        format!(
            "{open}SELECT {shown} FROM {} WHERE ({key}) IN ({keys}){until} \
             ORDER BY {version} DESC LIMIT 1 BY {key}{close}{settings} FORMAT RowBinaryWithNamesAndTypes",
            ident(&plan.target),
        )
    }

    /// Whether a row holds a wanted value where it cannot be taken from, as a column of the statement; empty where none
    /// can.
    fn elsewhere(&self) -> String {
        if self.purpose == Purpose::Looking {
            return String::new();
        }
        let beside = self
            .columns
            .iter()
            .filter_map(|&source| self.plan.column(source))
            .flat_map(|column| &column.beside);
        let held: Vec<_> = beside.map(|name| format!("{} IS NOT NULL", ident(name))).collect();
        if held.is_empty() { String::new() } else { format!("({}) AS _tarn_elsewhere", held.join(" OR ")) }
    }

    fn parse(&self, answer: &Rc<Vec<u8>>, found: &mut HashMap<Key, Earlier>) -> Result<(), Failure> {
        let Self { plan, columns, doing, .. } = *self;
        let types = |sources: &[usize]| -> Vec<_> {
            sources.iter().filter_map(|&source| plan.column(source)).map(column_type).collect()
        };
        let (key_types, value_types) = (types(&plan.key), types(columns));
        let header = plan.answer_header(plan.key.iter().chain(columns).copied());
        let Some(mut rest) = answer.strip_prefix(&header[..]) else {
            let message = format!("{doing} {}: its columns are others by now", plan.target);
            return Err(
                Failure::retry("target_changed_meanwhile", message).with_table(plan.table.qualified_name())
            );
        };
        while !rest.is_empty() {
            let row = parse_row(&key_types, &value_types, answer, rest);
            let Some((key, earlier, after)) = row else {
                let message = format!("{doing} {}: the answer breaks off", plan.target);
                return Err(Failure::retry("clickhouse_unreachable", message));
            };
            found.insert(key, earlier);
            rest = after;
        }
        Ok(())
    }
}

/// Columns of the target by their sources, for a statement.
pub(crate) fn names(plan: &Plan, sources: &[usize]) -> String {
    let columns = sources.iter().filter_map(|&source| plan.column(source));
    columns.map(|column| ident(&column.name)).collect::<Vec<_>>().join(", ")
}

/// How many of the keys fit one statement; at least one.
pub(crate) fn fitting(wanted: &[Wanted], keys_max: usize) -> usize {
    let mut bytes = 0;
    let fits = |wanted: &&Wanted| {
        bytes += wanted.literal.len() + 2;
        bytes <= LOOKUP_SQL_BYTES_MAX
    };
    wanted.iter().take(keys_max).take_while(fits).count().max(1)
}

fn column_type(column: &PlannedColumn) -> &TargetType {
    &column.data_type
}

/// The row at the start of what is left of an answer.
fn parse_row<'a>(
    keys: &[&TargetType],
    values: &[&TargetType],
    answer: &Rc<Vec<u8>>,
    row: &'a [u8],
) -> Option<(Key, Earlier, &'a [u8])> {
    let mut rest = row;
    for data_type in keys {
        rest = split_value(data_type, rest)?.1;
    }
    let key = row[..row.len() - rest.len()].to_vec();
    let mut found = Vec::with_capacity(values.len());
    for data_type in values {
        let (value, after) = split_value(data_type, rest)?;
        let start = answer.len() - rest.len();
        found.push(Value { answer: Rc::clone(answer), range: start..start + value.len() });
        rest = after;
    }
    let (version, rest) = rest.split_first_chunk::<16>()?;
    let (&deleted, rest) = rest.split_first()?;
    let earlier = Earlier { version: u128::from_le_bytes(*version), deleted: deleted != 0, values: found };
    Some((key, earlier, rest))
}
