//! What a target should look like: the source's table and the mapping's settings, put together.

use std::collections::HashSet;

use tarn_batch::{Table, Type};
use tarn_sdk::{DestinationColumn, DestinationConfig, DestinationTable, Problem};

use crate::calendar_range::CalendarRange;
use crate::column_type::usual_type;
use crate::encoder::Encoder;
use crate::origin::Origin;
use crate::target_type::TargetType;

/// A target as it is to be made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Design {
    /// The target's name in the peer's database.
    pub(crate) target: String,
    pub(crate) engine: Engine,
    /// Whether the engine's replicated form was asked for.
    pub(crate) replicated: bool,
    /// The source's columns that are written, in the source's order.
    pub(crate) columns: Vec<DesignColumn>,
    /// The sorting key: the source's key, as indexes of `columns`.
    pub(crate) sorting_key: Vec<usize>,
    pub(crate) partition_key: String,
    pub(crate) own: OwnColumns,
}

/// One column of a design.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DesignColumn {
    /// Its index at the source.
    pub(crate) source: usize,
    pub(crate) origin: Option<Origin>,
    /// Its name at the target.
    pub(crate) name: String,
    pub(crate) data_type: TargetType,
    /// How the server is to compress it, as its `CODEC(…)`; empty for its own choice.
    pub(crate) codec: String,
    /// Other columns of the target that hold values of the source's column in another of its types; known of a target
    /// that is there.
    pub(crate) beside: Vec<String>,
}

/// The names of the columns that every target has.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OwnColumns {
    pub(crate) version: String,
    pub(crate) deleted: String,
    pub(crate) synced_at: String,
}

/// How a target keeps its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    /// The row of the greatest version wins; deleted ones are hidden by FINAL.
    ReplacingMergeTree,
    /// Every version stays: a history.
    MergeTree,
    /// Nothing is kept; materialized views on the table see the rows.
    Null,
}

impl Engine {
    fn parse(name: &str) -> Option<Self> {
        let plain = name.trim().trim_start_matches("CH_ENGINE_").replace('_', "").to_ascii_lowercase();
        match plain.as_str() {
            "" | "replacingmergetree" | "replicatedreplacingmergetree" => Some(Self::ReplacingMergeTree),
            "mergetree" | "replicatedmergetree" => Some(Self::MergeTree),
            "null" => Some(Self::Null),
            _ => None,
        }
    }

    /// Why no target has an engine of this name, and what to do.
    fn refusal(name: &str) -> (&'static str, &'static str) {
        let coalesces = name.replace('_', "").to_ascii_lowercase().contains("coalescing");
        match coalesces {
            true => (
                "keeps the value from before where the source's becomes NULL, and what is inserted last instead of \
                 what is latest",
                "use ReplacingMergeTree: values that an update leaves out are kept there as well",
            ),
            false => ("is not known", "use ReplacingMergeTree, MergeTree or Null"),
        }
    }
}

impl OwnColumns {
    pub(crate) fn new(config: &DestinationConfig) -> Self {
        Self {
            version: DestinationConfig::VERSION_COLUMN.to_owned(),
            deleted: config.soft_delete_column().to_owned(),
            synced_at: config.synced_at_column().to_owned(),
        }
    }

    /// Their names and types.
    pub(crate) fn types(&self) -> [(&str, TargetType); 3] {
        [
            (&self.version, TargetType::UInt(16)),
            (&self.deleted, TargetType::UInt(1)),
            (&self.synced_at, TargetType::microseconds()),
        ]
    }
}

impl Design {
    /// The design of one mapping's target. Every finding is told; `path` is the mapping's in the API.
    pub(crate) fn new(
        config: &DestinationConfig,
        mapping: &DestinationTable,
        table: &Table,
        path: &str,
    ) -> Result<Self, Vec<Problem>> {
        let mut findings = Findings { path, problems: Vec::new() };
        let engine = Engine::parse(&mapping.engine);
        if engine.is_none() {
            let (why, hint) = Engine::refusal(&mapping.engine);
            findings.add("engine", format!("engine {} {why}", mapping.engine), hint);
        }
        if mapping.destination.is_empty() {
            findings.add("destination_table_identifier", "is empty", "name the table to write to");
        }
        if !is_expression(&mapping.partition_key) {
            findings.add(
                "partition_key",
                "is not one expression",
                "write an expression such as toYYYYMM(created_at)",
            );
        }
        let columns = columns(config, mapping, table, &mut findings);
        let own = OwnColumns::new(config);
        check_names(&columns, &own, table, &mut findings);
        let sorting_key = sorting_key(mapping, table, &columns, &mut findings);
        match engine {
            Some(engine) if findings.problems.is_empty() => Ok(Self {
                target: mapping.destination.clone(),
                engine,
                replicated: mapping.engine.to_ascii_lowercase().contains("replicated"),
                columns,
                sorting_key,
                partition_key: mapping.partition_key.trim().to_owned(),
                own,
            }),
            _ => Err(findings.problems),
        }
    }
}

/// Settings of columns that the source's table does not have. They are mistakes while a mirror is made; later they are
/// those of columns that left the source.
pub(crate) fn unknown_settings(mapping: &DestinationTable, table: &Table, path: &str) -> Vec<Problem> {
    let mut findings = Findings { path, problems: Vec::new() };
    for (at, setting) in mapping.columns.iter().enumerate() {
        if !table.columns.iter().any(|column| column.name == setting.source_name) {
            let message = format!("{} has no column {}", table.qualified_name(), setting.source_name);
            findings.add(&format!("columns[{at}]"), message, "correct the name or remove the setting");
        }
    }
    findings.problems
}

/// Problems of one mapping.
struct Findings<'a> {
    path: &'a str,
    problems: Vec<Problem>,
}

impl Findings<'_> {
    fn add(&mut self, field: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.problems.push(Problem::new(format!("{}.{field}", self.path), message).with_hint(hint));
    }
}

fn columns(
    config: &DestinationConfig,
    mapping: &DestinationTable,
    table: &Table,
    findings: &mut Findings<'_>,
) -> Vec<DesignColumn> {
    let written = table.columns.iter().enumerate().filter(|(_, column)| {
        let excluded = mapping.exclude.contains(&column.name);
        if excluded && column.key > 0 {
            let message = format!("{} is part of the key and excluded", column.name);
            findings.add("exclude", message, "rows are told apart by it: keep it");
        }
        !excluded
    });
    let written: Vec<_> = written.collect();
    let mut columns = Vec::with_capacity(written.len());
    for (source, column) in written {
        let setting = mapping.columns.iter().position(|setting| setting.source_name == column.name);
        let usual = DestinationColumn::default();
        let setting_of = setting.map_or(&usual, |at| &mapping.columns[at]);
        let field = setting.map_or_else(String::new, |at| format!("columns[{at}]"));
        let mut data_type = usual_type(column, &config.usual_types);
        let mut codec = "";
        if !setting_of.destination_type.is_empty() {
            let (type_text, codec_text) = split_codec(&setting_of.destination_type);
            codec = codec_text;
            match chosen_type(&column.data_type, type_text) {
                // The choice is about the value; NULL still follows the source (B191).
                Ok(chosen) if column.nullable => data_type = chosen.nullable(),
                Ok(chosen) => data_type = chosen,
                Err(why) => findings.add(
                    &field,
                    format!("{} is {}, {why}", column.name, column.type_name),
                    "choose a type that holds every value, or leave destination_type out",
                ),
            }
        }
        if setting_of.nullable_enabled && column.key == 0 {
            data_type = data_type.nullable();
        }
        if column.key > 0 && (setting_of.nullable_enabled || data_type.is_nullable() || column.nullable) {
            // B190: a sorting key cannot be Nullable, and a NULL in it would be another row's key.
            let message = format!("key column {} may be NULL", column.name);
            findings.add(
                &field,
                message,
                "make the column NOT NULL at the source and leave nullable_enabled off",
            );
        }
        let name = &setting_of.destination_name;
        let name = if name.is_empty() { column.name.clone() } else { name.clone() };
        let (origin, codec) = (Origin::new(table, column), codec.to_owned());
        columns.push(DesignColumn { source, origin, name, data_type, codec, beside: Vec::new() });
    }
    columns
}

/// A chosen type's text, and the `CODEC(…)` that may stand behind it.
fn split_codec(text: &str) -> (&str, &str) {
    let text = text.trim();
    let is_codec = |(at, _): &(usize, &str)| {
        // A label of an Enum may have the word, too.
        TargetType::parse(&text[..*at]).is_some() && text.ends_with(')') && is_expression(&text[*at..])
    };
    match text.match_indices("CODEC(").find(is_codec) {
        Some((at, _)) => (text[..at].trim_end(), &text[at..]),
        None => (text, ""),
    }
}

/// The type that a setting names, where it holds every value of the source's that the server takes at all.
pub(crate) fn chosen_type(source: &Type, text: &str) -> Result<TargetType, String> {
    let chosen =
        TargetType::parse(text).ok_or_else(|| format!("and {text:?} is no type of a target's column"))?;
    // The range of days decides about values, not about types.
    match Encoder::new(source, &chosen, CalendarRange::CENTURIES) {
        Some(_) => Ok(chosen),
        None => Err(format!("which {chosen} does not hold exactly")),
    }
}

fn check_names(columns: &[DesignColumn], own: &OwnColumns, table: &Table, findings: &mut Findings<'_>) {
    let mut taken: HashSet<&str> = own.types().into_iter().map(|(name, _)| name).collect();
    if taken.len() < 3 {
        findings.add(
            "soft_delete_col_name",
            "two of the mirror's own columns have one name",
            "name them apart",
        );
    }
    for column in columns {
        if !taken.insert(&column.name) {
            let source = &table.columns[column.source].name;
            let message = format!("column {source} would be a second {} at the target", column.name);
            findings.add("columns", message, "give it another destination_name");
        }
    }
}

/// The source's key in the mapping's order: columns with an `ordering` first, by it, then the rest of
/// the key in its own order (B101).
fn sorting_key(
    mapping: &DestinationTable,
    table: &Table,
    columns: &[DesignColumn],
    findings: &mut Findings<'_>,
) -> Vec<usize> {
    let key = table.key_columns();
    if key.is_empty() {
        findings.add(
            "source_table_identifier",
            format!("{} has no key", table.qualified_name()),
            "add a primary key, or a unique index and ALTER TABLE … REPLICA IDENTITY USING INDEX",
        );
    }
    let place = |source: usize| columns.iter().position(|column| column.source == source);
    let mut ordered: Vec<_> =
        mapping.columns.iter().enumerate().filter(|(_, setting)| setting.ordering > 0).collect();
    ordered.sort_by_key(|(_, setting)| setting.ordering);
    let mut sorting = Vec::new();
    for (at, setting) in ordered {
        let source = table.columns.iter().position(|column| column.name == setting.source_name);
        match source {
            Some(source) if key.contains(&source) => sorting.extend(place(source)),
            // One that is not there is told elsewhere.
            None => {}
            Some(_) => findings.add(
                &format!("columns[{at}].ordering"),
                format!("{} is not part of the key of {}", setting.source_name, table.qualified_name()),
                "order by columns of the key only: rows are told apart by the sorting key, and a change of \
                 another column would leave the old row behind",
            ),
        }
    }
    for source in key {
        if matches!(table.columns[source].data_type, Type::Array(_)) {
            let message = format!("key column {} is an array", table.columns[source].name);
            findings.add("columns", message, "set its destination_type to String");
        }
        sorting.extend(place(source).filter(|place| !sorting.contains(place)));
    }
    sorting
}

/// Whether a text can stand as one expression: brackets and quotes close, and nothing ends the
/// statement.
fn is_expression(text: &str) -> bool {
    let mut depth = 0;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            ';' | '#' => return false,
            '-' | '/' if characters.clone().next().is_some_and(|next| next == character || next == '*') => {
                return false;
            }
            '\'' | '`' | '"' => loop {
                match characters.next() {
                    None => return false,
                    Some('\\') => drop(characters.next()),
                    Some(end) if end == character => break,
                    Some(_) => {}
                }
            },
            _ => {}
        }
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

#[cfg(test)]
mod tests;
