//! How rows of one version of a source's table become rows of its target.

use std::cell;

use tarn_batch::{Before, Cell, Cells, DecodeError, Op, Row, Table, Version};
use tarn_sdk::Failure;
use tarn_sdk::sql::clickhouse::ident;

use crate::calendar_range::CalendarRange;
use crate::config::{PENDING_ROWS_MAX, READ_BACK_BYTES, READ_BACK_GROWTH};
use crate::design::{Design, Engine, OwnColumns};
use crate::emptied;
use crate::encoder::Encoder;
use crate::existing::Existing;
use crate::fault::Fault;
use crate::row_binary::{write_bytes, write_length};
use crate::target_type::TargetType;

/// The encoders of a table's columns and the statement their rows go to.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The source's table in the version that the plan is for.
    pub(crate) table: Table,
    pub(crate) target: String,
    pub(crate) engine: Engine,
    pub(crate) own: OwnColumns,
    /// The table's comment, and the version at which it was last emptied.
    pub(crate) comment: String,
    pub(crate) emptied: Option<u128>,
    /// For each of the source's columns how it is written; `None` for those that are not.
    columns: Vec<Option<PlannedColumn>>,
    /// The source's columns in the order of the insert, where that is another one.
    order: Option<Vec<usize>>,
    /// The source's columns that rows are told apart by, in the order of the sorting key.
    pub(crate) key: Vec<usize>,
    /// `INSERT INTO … FORMAT RowBinaryWithNamesAndTypes`.
    pub(crate) insert_sql: String,
    /// What an insert begins with: the names and types of its columns. The server compares them with the
    /// table's, so that rows are not read by other types where the table was changed meanwhile.
    pub(crate) header: Vec<u8>,
    /// What the server calls the types of the columns that every target has, in their order.
    pub(crate) own_types: [String; 3],
    pub(crate) settings: Vec<(String, String)>,
    /// Rows that values are read back for together, by what those of before took.
    pending_max: cell::Cell<usize>,
}

/// What is done about a target that has not followed its source yet.
pub(crate) const CHANGES_HINT: &str = "where the source's columns changed, `tarn mirror plan` shows what the mirror does \
     about it when it comes to the change; where that waits, `tarn mirror approve` lets it";

/// How one column is written.
#[derive(Debug)]
pub(crate) struct PlannedColumn {
    pub(crate) name: String,
    /// The type that the target has, and what the server calls it.
    pub(crate) data_type: TargetType,
    pub(crate) type_text: String,
    encoder: Encoder,
    /// What stands in a tombstone; `None` for a column of the key.
    nothing: Option<Vec<u8>>,
    /// Columns that hold the values of rows from before the source's column had its type.
    pub(crate) beside: Vec<String>,
}

/// Why a row was not written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RowError {
    /// The source did not send a stored value; it has to be read back.
    Unchanged,
    /// A value cannot be stored; which of the source's columns it is in.
    Fault { column: usize, fault: Fault },
    /// The batch is damaged.
    Damaged(DecodeError),
}

impl From<DecodeError> for RowError {
    fn from(error: DecodeError) -> Self {
        Self::Damaged(error)
    }
}

/// What follows a row's own columns: whether it is deleted, and when it was written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp {
    /// Microseconds since 1970.
    pub(crate) synced_at: i64,
}

impl Plan {
    /// How many rows may wait for values that are read back.
    pub(crate) fn pending_max(&self) -> usize {
        self.pending_max.get()
    }

    /// Notes what the values of so many rows took.
    pub(crate) fn note_read_back(&self, rows: usize, bytes: usize) {
        let fitting = READ_BACK_BYTES / (bytes / rows.max(1)).max(1);
        let most = (self.pending_max.get() * READ_BACK_GROWTH).min(PENDING_ROWS_MAX);
        self.pending_max.set(fitting.clamp(1, most));
    }

    /// Puts a design and the table that is there together. Rows go to the insert of an earlier plan of the target where they
    /// have its columns: partitions may have them in another order each.
    pub(crate) fn new(
        design: &Design,
        existing: &Existing,
        table: &Table,
        range: CalendarRange,
        earlier: Option<&Self>,
    ) -> Result<Self, Failure> {
        let refused = |message: String, hint: String| {
            Failure::permanent("target_incompatible", format!("table {}: {message}", design.target))
                .with_hint(hint)
                .with_table(table.qualified_name())
        };
        if let Some((message, hint)) = existing.differences(design, table, range).into_iter().next() {
            return Err(refused(message, format!("{hint}; {CHANGES_HINT}")));
        }
        let mut columns: Vec<Option<PlannedColumn>> = table.columns.iter().map(|_| None).collect();
        for column in &design.columns {
            let source = &table.columns[column.source];
            let data_type = existing.type_of(&column.name).cloned();
            let new = if source.key > 0 { Encoder::of_key } else { Encoder::new };
            let encoder = data_type.as_ref().and_then(|found| new(&source.data_type, found, range));
            let (Some(data_type), Some(encoder)) = (data_type, encoder) else {
                return Err(refused(format!("column {} is missing", column.name), CHANGES_HINT.to_owned()));
            };
            let nothing = (source.key == 0).then(|| {
                let mut nothing = Vec::new();
                data_type.write_default(&mut nothing);
                nothing
            });
            let type_text = existing.type_text(&column.name).to_owned();
            columns[column.source] = Some(PlannedColumn {
                name: column.name.clone(),
                data_type,
                type_text,
                encoder,
                nothing,
                beside: column.beside.clone(),
            });
        }
        let own = design.own.types();
        let own_types = own.each_ref().map(|(name, _)| existing.type_text(name).to_owned());
        let order = earlier.and_then(|earlier| order_like(earlier, &columns));
        let named = in_order(&columns, order.as_deref())
            .map(|(_, column)| (column.name.as_str(), column.type_text.as_str()));
        let owned = own.iter().zip(&own_types).map(|((name, _), type_text)| (*name, type_text.as_str()));
        let written: Vec<_> = named.chain(owned).collect();
        let header = header(&written);
        let names = written.iter().map(|(name, _)| ident(name)).collect::<Vec<_>>().join(", ");
        Ok(Self {
            table: table.clone(),
            target: design.target.clone(),
            engine: design.engine,
            own: design.own.clone(),
            comment: existing.comment().to_owned(),
            emptied: emptied::read(existing.comment()),
            key: design.sorting_key.iter().map(|&at| design.columns[at].source).collect(),
            // The columns are named: their order at the target is its own affair (B197).
            insert_sql: format!(
                "INSERT INTO {} ({names}) FORMAT RowBinaryWithNamesAndTypes",
                ident(&design.target)
            ),
            header,
            own_types,
            settings: settings(&columns),
            pending_max: cell::Cell::new(1),
            columns,
            order,
        })
    }

    /// How a column of the source is written.
    pub(crate) fn column(&self, source: usize) -> Option<&PlannedColumn> {
        self.columns.get(source)?.as_ref()
    }

    /// The columns that are written, in the order of the insert, each with the source's column that it is.
    pub(crate) fn written(&self) -> impl Iterator<Item = (usize, &PlannedColumn)> {
        in_order(&self.columns, self.order.as_deref())
    }

    /// Whether the plan's rows can go to an insert of another plan.
    pub(crate) fn shares_insert(&self, other: &Self) -> bool {
        self.insert_sql == other.insert_sql && self.header == other.header
    }

    /// Appends what a row of the batch becomes: for an insert or update the row as it is now, for a
    /// changed key a tombstone of the old one too, for a delete a tombstone. On an error `out` may hold
    /// a part of it.
    pub(crate) fn write(&self, row: &Row<'_>, stamp: Stamp, out: &mut Vec<u8>) -> Result<u32, RowError> {
        if row.op() == Op::Delete {
            self.write_tombstone(row, stamp, out)?;
            return Ok(1);
        }
        self.each_cell(row.after(), |source, column, cell| match cell {
            Cell::Unchanged => column.write(source, self.cell_kept(row, source)?, out),
            cell => column.write(source, cell, out),
        })?;
        self.write_own(row.version(), false, stamp, out);
        if self.changes_key(row)? {
            self.write_tombstone(row, stamp, out)?;
            return Ok(2);
        }
        Ok(1)
    }

    /// What an answer with these columns of the source, the version and the delete flag begins with.
    pub(crate) fn answer_header(&self, sources: impl Iterator<Item = usize>) -> Vec<u8> {
        let columns = sources.filter_map(|source| self.column(source));
        let columns = columns.map(|column| (column.name.as_str(), column.type_text.as_str()));
        let [version_type, deleted_type, _] = &self.own_types;
        let own = [(self.own.version.as_str(), version_type.as_str()), (&self.own.deleted, deleted_type)];
        header(&columns.chain(own).collect::<Vec<_>>())
    }

    /// Appends the mark that the row of the before-image's key is gone since the row's version (B193).
    /// Only the key is taken from the image: other columns may be absent from it, and hold nothing that
    /// a deleted row is asked for (B052, B089).
    pub(crate) fn write_tombstone(
        &self,
        row: &Row<'_>,
        stamp: Stamp,
        out: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        let (_, before) = row.before().ok_or(DecodeError::Invalid("row without a before-image"))?;
        self.each_cell(before, |source, column, cell| match (&column.nothing, cell) {
            (Some(nothing), _) => {
                out.extend_from_slice(nothing);
                Ok(())
            }
            // A key's column that did not change may be missing before and present after.
            (None, Cell::Unchanged) => {
                let after = row.after().nth(source).transpose()?;
                column.write(source, after.unwrap_or(Cell::Unchanged), out)
            }
            (None, cell) => column.write(source, cell, out),
        })?;
        self.write_own(row.version(), true, stamp, out);
        Ok(())
    }

    /// Visits the cells that are written, in the order of the insert.
    #[inline]
    fn each_cell<'a>(
        &self,
        cells: Cells<'a>,
        mut visit: impl FnMut(usize, &PlannedColumn, Cell<'a>) -> Result<(), RowError>,
    ) -> Result<(), RowError> {
        let Some(order) = &self.order else {
            return self.columns.iter().enumerate().zip(cells).try_for_each(|((source, column), cell)| {
                let cell = cell?;
                column.as_ref().map_or(Ok(()), |column| visit(source, column, cell))
            });
        };
        let cells = cells.collect::<Result<Vec<_>, _>>()?;
        in_order(&self.columns, Some(order)).try_for_each(|(source, column)| {
            let cell = cells.get(source).copied().ok_or(DecodeError::Invalid("row without a cell"))?;
            visit(source, column, cell)
        })
    }

    /// Appends the columns that every target has.
    pub(crate) fn write_own(&self, version: Version, deleted: bool, stamp: Stamp, out: &mut Vec<u8>) {
        out.extend_from_slice(&version.to_u128().to_le_bytes());
        out.push(deleted.into());
        out.extend_from_slice(&stamp.synced_at.to_le_bytes());
    }

    /// Whether an update gave the row another key, as the target holds keys: a tombstone of an equal one
    /// would have the row's own version, and either of the two could win.
    pub(crate) fn changes_key(&self, row: &Row<'_>) -> Result<bool, RowError> {
        let Some((_, before)) = row.before().filter(|_| row.op() == Op::Update) else { return Ok(false) };
        let columns = self.table.columns.iter().enumerate();
        for (((source, column), before), after) in columns.zip(before).zip(row.after()) {
            let (before @ Cell::Value(_), after @ Cell::Value(_)) = (before?, after?) else { continue };
            if column.key > 0 && before != after && !self.holds_as_one(source, before, after)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether two values of a column are the same at the target.
    fn holds_as_one(&self, source: usize, one: Cell<'_>, other: Cell<'_>) -> Result<bool, RowError> {
        let column = self.column(source).ok_or(DecodeError::Invalid("key"))?;
        let mut written = Vec::new();
        column.write(source, one, &mut written)?;
        let bytes = written.len();
        column.write(source, other, &mut written)?;
        Ok(written[..bytes] == written[bytes..])
    }

    /// Appends the key of one image, as the target holds it. Columns that the image lacks are taken from
    /// the other one.
    pub(crate) fn write_key(&self, row: &Row<'_>, image: Image, out: &mut Vec<u8>) -> Result<(), RowError> {
        for &source in &self.key {
            let column = self.column(source).ok_or(DecodeError::Invalid("key"))?;
            column.write(source, self.key_cell(row, image, source)?, out)?;
        }
        Ok(())
    }

    /// One key column's cell in an image.
    pub(crate) fn key_cell<'a>(
        &self,
        row: &Row<'a>,
        image: Image,
        source: usize,
    ) -> Result<Cell<'a>, RowError> {
        let find = |mut cells: Cells<'a>| cells.nth(source).unwrap_or(Ok(Cell::Unchanged));
        let after = find(row.after())?;
        let before = match row.before() {
            Some((_, cells)) => find(cells)?,
            None => Cell::Unchanged,
        };
        let (first, second) = match image {
            Image::After => (after, before),
            Image::Before => (before, after),
        };
        Ok(if first == Cell::Unchanged { second } else { first })
    }

    /// A value that the update did not touch, where the before-image has it (B074).
    pub(crate) fn cell_kept<'a>(&self, row: &Row<'a>, source: usize) -> Result<Cell<'a>, RowError> {
        match row.before() {
            Some((kind, mut cells)) if kind == Before::Full || self.key.contains(&source) => {
                Ok(cells.nth(source).unwrap_or(Ok(Cell::Unchanged))?)
            }
            _ => Ok(Cell::Unchanged),
        }
    }

    /// Whether the target still has its columns in the types that rows are written in.
    pub(crate) fn is_of(&self, existing: &Existing) -> bool {
        self.columns.iter().flatten().all(|column| existing.type_of(&column.name) == Some(&column.data_type))
    }

    /// The failure of a row; it names table, key and column, and no value but the key's.
    pub(crate) fn row_failure(&self, row: &Row<'_>, error: RowError) -> Failure {
        let key = self.key_text(row);
        match error {
            RowError::Fault { column, fault: Fault::Damaged(error) } => {
                let name = &self.table.columns[column].name;
                Failure::permanent("batch_damaged", format!("row {key}, column {name}: {error}"))
            }
            RowError::Fault { column, fault } => {
                let name = &self.table.columns[column].name;
                let table = self.table.qualified_name();
                let target = self.column(column).map_or_else(String::new, |column| fault.describe(&column.data_type));
                Failure::record("value_not_representable", format!("row {key}: column {name} {target}"))
                    .with_hint(format!(
                        "correct the value at the source; or have the column hold it by `tarn mirror edit … --column-type \
                         {table}:{name}=String` and `tarn mirror resync`"
                    ))
            }
            RowError::Unchanged => Failure::record(
                "unchanged_value_missing",
                format!("row {key}: a stored value was not sent, and the target has no earlier row to keep it from"),
            )
            .with_hint("ALTER TABLE … REPLICA IDENTITY FULL at the source, or resync the mirror"),
            RowError::Damaged(error) => Failure::permanent("batch_damaged", format!("row {key}: {error}")),
        }
        .with_table(self.table.qualified_name())
    }

    /// `(id = 5)` for people.
    fn key_text(&self, row: &Row<'_>) -> String {
        let image = if row.op() == Op::Delete { Image::Before } else { Image::After };
        let columns = self.key.iter().map(|&source| {
            let column = &self.table.columns[source];
            let mut text = String::new();
            let shown = match self.key_cell(row, image, source) {
                Ok(Cell::Value(value)) => {
                    tarn_batch::text::write_text(&column.data_type, value, &mut text).is_ok()
                }
                _ => false,
            };
            format!("{} = {}", column.name, if shown { &text } else { "?" })
        });
        format!("({})", columns.collect::<Vec<_>>().join(", "))
    }
}

/// Which image of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Image {
    Before,
    After,
}

impl PlannedColumn {
    /// Appends a cell.
    #[inline]
    pub(crate) fn write(&self, source: usize, cell: Cell<'_>, out: &mut Vec<u8>) -> Result<(), RowError> {
        let written = match cell {
            Cell::Value(value) => self.encoder.value(value, out),
            Cell::Null => self.encoder.null(out),
            Cell::Unchanged => return Err(RowError::Unchanged),
        };
        written.map_err(|fault| RowError::Fault { column: source, fault })
    }
}

/// The columns that are written in an order, else in the source's.
fn in_order<'p>(
    columns: &'p [Option<PlannedColumn>],
    order: Option<&'p [usize]>,
) -> impl Iterator<Item = (usize, &'p PlannedColumn)> {
    (0..order.map_or(columns.len(), <[usize]>::len)).filter_map(move |at| {
        let source = order.map_or(at, |order| order[at]);
        Some((source, columns.get(source)?.as_ref()?))
    })
}

/// The order in which an earlier plan writes just these columns, where that is not the source's.
fn order_like(earlier: &Plan, columns: &[Option<PlannedColumn>]) -> Option<Vec<usize>> {
    let at = |name: &str| columns.iter().position(|column| column.as_ref().is_some_and(|it| it.name == name));
    let order = earlier.written().map(|(_, column)| at(&column.name)).collect::<Option<Vec<_>>>()?;
    let has_all = order.len() == columns.iter().flatten().count();
    (has_all && !order.is_sorted()).then_some(order)
}

/// How many columns there are, their names, and their types as the server calls them.
pub(crate) fn header(columns: &[(&str, &str)]) -> Vec<u8> {
    let mut header = Vec::new();
    write_length(&mut header, columns.len());
    for (name, _) in columns {
        write_bytes(&mut header, name.as_bytes());
    }
    for (_, type_text) in columns {
        write_bytes(&mut header, type_text.as_bytes());
    }
    header
}

fn settings(columns: &[Option<PlannedColumn>]) -> Vec<(String, String)> {
    let json =
        columns.iter().flatten().any(|column| matches!(column.data_type.value_type(), TargetType::Json(_)));
    // The answer comes when the rows are in the table, whatever the server's default. Versions of a key
    // within one insert are told apart as those of several are, by whoever reads and by merges: looking for
    // them at every insert costs the server a third more.
    let mut settings = vec![
        ("async_insert", "0"),
        ("optimize_on_insert", "0"),
        // A load meets all of a table's partitions, and the server's hundred would stop it for good.
        ("max_partitions_per_insert_block", "0"),
        ("input_format_with_names_use_header", "1"),
        ("input_format_with_types_use_header", "1"),
    ];
    if json {
        settings.push(("input_format_binary_read_json_as_string", "1"));
    }
    settings.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
