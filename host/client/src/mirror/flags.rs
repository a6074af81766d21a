//! A mirror's settings as flags.

use std::str::FromStr;

use clap::Args;
use tarn_model::{
    ColumnMapping, Enumerated as _, MirrorEdit, MirrorSpec, RecordErrorPolicy, SchemaChangePolicy,
    TableMapping,
};

use crate::error::Error;

/// A table and where it goes: `schema.table:target`, or `schema.table` for a target of the table's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablePair {
    source: String,
    destination: String,
}

impl FromStr for TablePair {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "schema.table:target or schema.table is expected";
        let (source, destination) = match text.rsplit_once(':') {
            Some((source, destination)) => (source, destination),
            None => (text, text.split_once('.').ok_or(FORM)?.1),
        };
        if source.is_empty() || destination.is_empty() {
            return Err(FORM);
        }
        Ok(Self { source: source.into(), destination: destination.into() })
    }
}

/// Columns of a table that are left out: `schema.table:column,column`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusion {
    source: String,
    columns: Vec<String>,
}

impl FromStr for Exclusion {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "schema.table:column,column is expected";
        let (source, columns) = text.rsplit_once(':').ok_or(FORM)?;
        let columns: Vec<String> = columns.split(',').map(|column| column.trim().to_owned()).collect();
        if source.is_empty() || columns.iter().any(String::is_empty) {
            return Err(FORM);
        }
        Ok(Self { source: source.into(), columns })
    }
}

/// What a column is at the destination: `schema.table:column=type`, or `…=name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSetting {
    source: String,
    column: String,
    value: String,
}

impl FromStr for ColumnSetting {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "schema.table:column=… is expected";
        // A type has no = before its first bracket, and a table's name may have a colon.
        let (named, value) = text.split_once('=').ok_or(FORM)?;
        let (source, column) = named.rsplit_once(':').ok_or(FORM)?;
        if [source, column, value].iter().any(|part| part.is_empty()) {
            return Err(FORM);
        }
        Ok(Self { source: source.into(), column: column.into(), value: value.into() })
    }
}

/// A mirror as flags say it.
#[derive(Debug, Args)]
pub struct SpecFlags {
    /// The mirror's name: lower-case letters, digits and _.
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    name: Option<String>,
    /// Peer that records come from.
    #[arg(long, required_unless_present = "file", conflicts_with = "file")]
    source: Option<String>,
    /// Peer that records go to.
    #[arg(long, required_unless_present = "file", conflicts_with = "file")]
    destination: Option<String>,
    /// A table: schema.table:target, or schema.table for a target of the same name. May be repeated.
    #[arg(
        long = "table",
        value_name = "SOURCE[:TARGET]",
        required_unless_present = "file",
        conflicts_with = "file"
    )]
    tables: Vec<TablePair>,
    /// Columns to leave out: schema.table:column,column. May be repeated.
    #[arg(long, value_name = "SOURCE:COLUMNS", conflicts_with = "file")]
    exclude: Vec<Exclusion>,
    /// A column's type at the destination: schema.table:column=type. May be repeated.
    #[arg(long, value_name = "SOURCE:COLUMN=TYPE", conflicts_with = "file")]
    column_type: Vec<ColumnSetting>,
    /// A column's name at the destination: schema.table:column=name. May be repeated.
    #[arg(long, value_name = "SOURCE:COLUMN=NAME", conflicts_with = "file")]
    column_name: Vec<ColumnSetting>,
    /// Stream changes only; rows that exist are not loaded.
    #[arg(long, conflicts_with = "file")]
    no_snapshot: bool,
    /// Load only, and stream no changes.
    #[arg(long, conflicts_with_all = ["file", "no_snapshot"])]
    snapshot_only: bool,
    /// Replace the rows that an earlier mirror brought.
    #[arg(long, conflicts_with = "file")]
    resync: bool,
    /// Scripts that transform records, in their order: name, or name@version, several with commas between them.
    #[arg(long, default_value = "", conflicts_with = "file")]
    script: String,
    /// Records of each table to keep in memory for trying out scripts; none by default.
    #[arg(
        long,
        value_name = "ROWS",
        default_value_t = 0,
        hide_default_value = true,
        conflicts_with = "file"
    )]
    recent_records: u32,
    /// Publication to use; the mirror makes its own by default.
    #[arg(long, default_value = "", conflicts_with = "file")]
    publication: String,
    /// Replication slot to use; the mirror makes its own by default.
    #[arg(long, default_value = "", conflicts_with = "file")]
    slot: String,
    /// Column that marks deleted rows, _tarn_is_deleted by default.
    #[arg(long, value_name = "COLUMN", default_value = "", conflicts_with = "file")]
    soft_delete_column: String,
    /// Column of the write's time, _tarn_synced_at by default.
    #[arg(long, value_name = "COLUMN", default_value = "", conflicts_with = "file")]
    synced_at_column: String,
    #[command(flatten)]
    numbers: NumberFlags,
}

/// The numbers that a mirror is created with, and that an edit may change.
#[derive(Debug, Args)]
pub struct NumberFlags {
    /// Most rows of one write, 250000 by default.
    #[arg(long, value_name = "ROWS", default_value_t = 0, hide_default_value = true)]
    batch_size: u32,
    /// Longest time in seconds that a row waits for company, 10 by default.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, hide_default_value = true)]
    idle_timeout: u64,
    /// Rows of one partition of the snapshot, 1000000 by default.
    #[arg(long, value_name = "ROWS", default_value_t = 0, hide_default_value = true)]
    rows_per_partition: u32,
    /// Partitions loaded at the same time, 4 by default.
    #[arg(long, value_name = "COUNT", default_value_t = 0, hide_default_value = true)]
    workers: u32,
    /// Tables loaded at the same time, 1 by default.
    #[arg(long, value_name = "COUNT", default_value_t = 0, hide_default_value = true)]
    tables_in_parallel: u32,
    /// Instances of each script that changes are shared out to by key, 1 by default.
    #[arg(long, value_name = "COUNT", default_value_t = 0, hide_default_value = true)]
    script_workers: u32,
    /// What becomes of a record that cannot be taken: stop (the default), skip, or dead-letter, which keeps it.
    #[arg(long, value_name = "POLICY", value_parser = policy)]
    record_errors: Option<RecordErrorPolicy>,
    /// Records that may be left out of ten times as many, 1000 by default: one more stops the mirror.
    #[arg(long, value_name = "RECORDS", default_value_t = 0, hide_default_value = true)]
    record_error_limit: u32,
    /// What is done where columns changed at the source: apply (the default), or ask, which stops until it is approved.
    #[arg(long, value_name = "POLICY", value_parser = schema_policy)]
    schema_changes: Option<SchemaChangePolicy>,
}

/// A policy as people write it.
fn policy(text: &str) -> Result<RecordErrorPolicy, String> {
    let name = text.replace('-', "_").to_ascii_uppercase();
    RecordErrorPolicy::from_name(&name).ok_or_else(|| "stop, skip or dead-letter is expected".to_owned())
}

/// A policy for changes of columns as people write it.
fn schema_policy(text: &str) -> Result<SchemaChangePolicy, String> {
    SchemaChangePolicy::from_name(&text.to_ascii_uppercase())
        .ok_or_else(|| "apply or ask is expected".to_owned())
}

/// What an edit changes.
#[derive(Debug, Args)]
pub struct EditFlags {
    /// A table to take in: schema.table:target. May be repeated.
    #[arg(long, value_name = "SOURCE[:TARGET]")]
    add_table: Vec<TablePair>,
    /// A table to let go of, by its name at the source. May be repeated.
    #[arg(long, value_name = "SOURCE")]
    remove_table: Vec<String>,
    /// Columns to leave out from here on: schema.table:column,column. Those of a table that is there stay at the
    /// destination, and later rows hold nothing in them. May be repeated.
    #[arg(long, value_name = "SOURCE:COLUMNS")]
    exclude: Vec<Exclusion>,
    /// Columns that are left out, and of which the source has none any more: schema.table:column,column. May be repeated.
    #[arg(long, value_name = "SOURCE:COLUMNS")]
    forget_excluded: Vec<Exclusion>,
    /// A column's type at the destination: schema.table:column=type; of a table that is there, after the next resync
    /// where its column cannot become that. May be repeated.
    #[arg(long, value_name = "SOURCE:COLUMN=TYPE")]
    column_type: Vec<ColumnSetting>,
    /// A column's name at the destination: schema.table:column=name; one that is there is renamed with the table's next
    /// row. May be repeated.
    #[arg(long, value_name = "SOURCE:COLUMN=NAME")]
    column_name: Vec<ColumnSetting>,
    /// Stream the added tables from now on without the rows that they have.
    #[arg(long, requires = "add_table")]
    no_snapshot: bool,
    /// Other scripts, in their order: name, or name@version, several with commas between them.
    #[arg(long, default_value = "", hide_default_value = true, conflicts_with = "no_script")]
    script: String,
    /// Go on without a script.
    #[arg(long)]
    no_script: bool,
    /// Records of each table to keep in memory for trying out scripts; -1 keeps none any more.
    #[arg(
        long,
        value_name = "ROWS",
        default_value_t = 0,
        hide_default_value = true,
        allow_negative_numbers = true
    )]
    recent_records: i32,
    #[command(flatten)]
    numbers: NumberFlags,
}

impl SpecFlags {
    /// Whether a number is given, which a file would say instead.
    pub(super) fn has_numbers(&self) -> bool {
        self.numbers.is_given()
    }

    /// The mirror, its defaults filled in.
    pub(super) fn spec(self) -> Result<MirrorSpec, Error> {
        let of_columns = OfColumns {
            exclude: self.exclude,
            forgotten: Vec::new(),
            types: self.column_type,
            names: self.column_name,
        };
        let mut spec = MirrorSpec {
            name: self.name.unwrap_or_default(),
            source_peer: self.source.unwrap_or_default(),
            destination_peer: self.destination.unwrap_or_default(),
            tables: of_columns.into_tables(mappings(self.tables), &[])?.given,
            do_initial_snapshot: !self.no_snapshot,
            initial_snapshot_only: self.snapshot_only,
            resync: self.resync,
            max_batch_size: self.numbers.batch_size,
            idle_timeout_seconds: self.numbers.idle_timeout,
            publication_name: self.publication,
            replication_slot_name: self.slot,
            snapshot_num_rows_per_partition: self.numbers.rows_per_partition,
            snapshot_max_parallel_workers: self.numbers.workers,
            snapshot_num_tables_in_parallel: self.numbers.tables_in_parallel,
            soft_delete_col_name: self.soft_delete_column,
            synced_at_col_name: self.synced_at_column,
            script: self.script,
            script_workers: self.numbers.script_workers,
            record_error_policy: self.numbers.record_errors.unwrap_or_default(),
            record_error_limit: self.numbers.record_error_limit,
            schema_changes: self.numbers.schema_changes.unwrap_or_default(),
            recent_records: self.recent_records,
            ..MirrorSpec::default()
        };
        spec.fill_defaults();
        Ok(spec)
    }
}

impl EditFlags {
    /// Refuses an edit of nothing.
    pub(super) fn check(&self) -> Result<(), Error> {
        let is_empty = self.add_table.is_empty()
            && self.remove_table.is_empty()
            && self.exclude.is_empty()
            && self.forget_excluded.is_empty()
            && self.column_type.is_empty()
            && self.column_name.is_empty()
            && self.script.is_empty()
            && !self.no_script
            && self.recent_records == 0
            && !self.numbers.is_given();
        let nothing = "the edit changes nothing; `tarn mirror edit --help` says what it can";
        if is_empty { Err(Error::Usage(nothing.into())) } else { Ok(()) }
    }

    /// The edit of a mirror that is `stored` like this.
    pub(super) fn edit(self, stored: &MirrorSpec) -> Result<MirrorEdit, Error> {
        let removed = self.remove_table.into_iter().map(|source| {
            let known = stored.tables.iter().find(|table| table.source == source);
            // The server says of an unknown one that it is not in the mirror.
            known.cloned().unwrap_or(TableMapping { source, ..TableMapping::default() })
        });
        let of_columns = OfColumns {
            exclude: self.exclude,
            forgotten: self.forget_excluded,
            types: self.column_type,
            names: self.column_name,
        };
        let Tables { given, changed } = of_columns.into_tables(mappings(self.add_table), &stored.tables)?;
        Ok(MirrorEdit {
            removed_tables: removed.collect(),
            additional_tables: given,
            changed_tables: changed,
            batch_size: self.numbers.batch_size,
            idle_timeout: self.numbers.idle_timeout,
            snapshot_num_rows_per_partition: self.numbers.rows_per_partition,
            snapshot_max_parallel_workers: self.numbers.workers,
            snapshot_num_tables_in_parallel: self.numbers.tables_in_parallel,
            skip_initial_snapshot_for_table_additions: self.no_snapshot,
            record_error_policy: self.numbers.record_errors,
            record_error_limit: self.numbers.record_error_limit,
            schema_changes: self.numbers.schema_changes,
            script: self.script,
            remove_script: self.no_script,
            script_workers: self.numbers.script_workers,
            recent_records: self.recent_records,
        })
    }
}

impl NumberFlags {
    /// Whether any is given.
    fn is_given(&self) -> bool {
        let small = [
            self.batch_size,
            self.rows_per_partition,
            self.workers,
            self.tables_in_parallel,
            self.record_error_limit,
            self.script_workers,
        ];
        self.idle_timeout != 0
            || self.record_errors.is_some()
            || self.schema_changes.is_some()
            || small.iter().any(|number| *number != 0)
    }
}

fn mappings(pairs: Vec<TablePair>) -> Vec<TableMapping> {
    let mapping =
        |TablePair { source, destination }| TableMapping { source, destination, ..TableMapping::default() };
    pairs.into_iter().map(mapping).collect()
}

/// Tables with what flags say of their columns.
#[derive(Debug, Default)]
struct Tables {
    /// Those that flags name.
    given: Vec<TableMapping>,
    /// Those of the mirror that become otherwise.
    changed: Vec<TableMapping>,
}

impl Tables {
    fn find(
        &mut self,
        stored: &[TableMapping],
        flag: &str,
        source: &str,
    ) -> Result<&mut TableMapping, Error> {
        let of = |tables: &[TableMapping]| tables.iter().position(|table| table.source == source);
        if let Some(at) = of(&self.given) {
            return Ok(&mut self.given[at]);
        }
        let at = match of(&self.changed) {
            Some(at) => at,
            None => {
                let known = of(stored).map(|at| stored[at].clone());
                let unknown = || Error::Usage(format!("{flag} names {source}, which is none of the tables"));
                self.changed.push(known.ok_or_else(unknown)?);
                self.changed.len() - 1
            }
        };
        Ok(&mut self.changed[at])
    }
}

/// What flags say of columns.
#[derive(Debug, Default)]
struct OfColumns {
    exclude: Vec<Exclusion>,
    forgotten: Vec<Exclusion>,
    types: Vec<ColumnSetting>,
    names: Vec<ColumnSetting>,
}

impl OfColumns {
    /// The tables that are `given`, and of those that are `stored` the ones that become otherwise.
    fn into_tables(self, given: Vec<TableMapping>, stored: &[TableMapping]) -> Result<Tables, Error> {
        let mut tables = Tables { given, changed: Vec::new() };
        for Exclusion { source, columns } in self.exclude {
            let table = tables.find(stored, "--exclude", &source)?;
            // What a mapping says of a column that is left out would contradict it.
            table.columns.retain(|column| !columns.contains(&column.source_name));
            let new = columns.into_iter().filter(|column| !table.exclude.contains(column));
            table.exclude.extend(new.collect::<Vec<_>>());
        }
        for Exclusion { source, columns } in self.forgotten {
            let table = tables.find(stored, "--forget-excluded", &source)?;
            table.exclude.retain(|column| !columns.contains(column));
        }
        for ColumnSetting { source, column, value } in self.types {
            set(tables.find(stored, "--column-type", &source)?, column).destination_type = value;
        }
        for ColumnSetting { source, column, value } in self.names {
            set(tables.find(stored, "--column-name", &source)?, column).destination_name = value;
        }
        Ok(tables)
    }
}

/// What a mapping says of a column.
fn set(table: &mut TableMapping, source_name: String) -> &mut ColumnMapping {
    let known = table.columns.iter().position(|known| known.source_name == source_name);
    let at = known.unwrap_or_else(|| {
        table.columns.push(ColumnMapping { source_name, ..ColumnMapping::default() });
        table.columns.len() - 1
    });
    &mut table.columns[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(source: &str, destination: &str) -> TablePair {
        TablePair { source: source.into(), destination: destination.into() }
    }

    #[test]
    fn a_table_goes_where_it_says_or_to_its_own_name() {
        assert_eq!("public.a:b".parse(), Ok(pair("public.a", "b")));
        assert_eq!("public.a".parse(), Ok(pair("public.a", "a")));
        assert_eq!("public.a:db.b".parse(), Ok(pair("public.a", "db.b")));
        for wrong in ["a", "public.a:", ":b", ""] {
            assert!(wrong.parse::<TablePair>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn excluded_columns_belong_to_a_table_that_is_there() {
        let exclusion: Exclusion = "public.a:x, y".parse().expect("good");
        let given = |source: &str, stored: &[TableMapping]| {
            let of_columns = OfColumns { exclude: vec![exclusion.clone()], ..OfColumns::default() };
            of_columns.into_tables(mappings(vec![pair(source, "a")]), stored)
        };
        assert_eq!(given("public.a", &[]).expect("good").given[0].exclude, ["x", "y"]);
        assert!(given("public.b", &[]).is_err());
        let mut stored = mappings(vec![pair("public.a", "a")]);
        stored[0].exclude = vec!["x".into()];
        let edited = given("public.b", &stored).expect("good");
        assert_eq!(edited.given[0].exclude, [""; 0]);
        assert_eq!(edited.changed[0].exclude, ["x", "y"]);
        let forgotten = vec!["public.a:x".parse().expect("good")];
        let of_columns = OfColumns { forgotten, ..OfColumns::default() };
        let edited = of_columns.into_tables(Vec::new(), &stored).expect("good");
        assert_eq!(edited.changed[0].exclude, [""; 0]);
        assert!("public.a".parse::<Exclusion>().is_err() && "public.a:x,".parse::<Exclusion>().is_err());
    }

    #[test]
    fn a_columns_type_is_added_to_what_is_known_of_the_column() {
        let of = |text: &str| text.parse::<ColumnSetting>();
        let typed = of("public.a:kind=Enum8('a=b' = 1)").expect("good");
        assert_eq!((typed.column.as_str(), typed.value.as_str()), ("kind", "Enum8('a=b' = 1)"));
        let mut stored = mappings(vec![pair("public.a", "a")]);
        let renamed =
            ColumnMapping { source_name: "kind".into(), destination_name: "k".into(), ..Default::default() };
        stored[0].columns = vec![renamed];
        let other = of("public.a:price=Decimal(20, 4)").expect("good");
        let named = of("public.a:price=cost").expect("good");
        let of_columns = OfColumns { types: vec![typed, other], names: vec![named], ..OfColumns::default() };
        let edited = of_columns.into_tables(Vec::new(), &stored).expect("good");
        let columns = edited.changed[0].columns.iter();
        let columns: Vec<_> = columns
            .map(|column| (column.destination_name.as_str(), column.destination_type.as_str()))
            .collect();
        assert_eq!(columns, [("k", "Enum8('a=b' = 1)"), ("cost", "Decimal(20, 4)")]);
        for wrong in ["public.a:x", "public.a=String", "public.a:x=", ":x=String"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
