//! How many rows a mirror moved, and how many its tables have.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::{Control, SideRows, TableRows};
use tarn_model::RowCounts;
use utoipa::{IntoParams, ToSchema};

use crate::answer::{Answer, Answered};
use crate::error::Code;
use crate::operation::{Operation, example};
use crate::request::{Input, Name, QueryInput};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get(
            "/api/v1/mirrors/cdc/table_total_counts/{flow_job_name}",
            example!("count_table_changes"),
            table_total_counts,
        )
        .about("Counts the rows that changes brought, by table and kind.")
        .names("flow_job_name", "The mirror.")
        .answers::<TableTotalCounts>()
        .refuses(&[Code::NotFound]),
        Operation::get(
            "/api/v1/mirrors/total_rows_synced/{flow_job_name}",
            example!("count_rows_synced"),
            total_rows_synced,
        )
        .about("Counts the rows that a mirror brought, by its snapshot and by changes.")
        .names("flow_job_name", "The mirror.")
        .asks::<TotalRowsFilter>()
        .answers::<TotalRows>()
        .refuses(&[Code::NotFound]),
        Operation::post("/api/v1/mirrors/row_counts", example!("count_rows"), row_counts)
            .about("Asks both stores how many rows a mirror's tables have. It can take most of a minute.")
            .takes::<RowCountsRequest>()
            .answers::<TableRowCounts>()
            .refuses(&[Code::NotFound]),
    ]
}

/// Rows that changes brought.
#[derive(Serialize, ToSchema)]
pub(super) struct TableTotalCounts {
    /// Over all tables.
    total_data: RowCounts,
    /// Table by table.
    tables_data: Vec<TableCounts>,
}

/// Rows that changes brought to a table.
#[derive(Serialize, ToSchema)]
struct TableCounts {
    /// The table at the destination.
    table_name: String,
    /// Its rows.
    counts: RowCounts,
}

pub(super) async fn table_total_counts(
    State(control): State<Control>,
    Name(name): Name,
) -> Answered<TableTotalCounts> {
    let mut total_data = RowCounts::default();
    let mut tables_data = Vec::new();
    for (table_name, counts) in control.table_counts(&name).await? {
        total_data.total_count += counts.total_count;
        total_data.inserts_count += counts.inserts_count;
        total_data.updates_count += counts.updates_count;
        total_data.deletes_count += counts.deletes_count;
        tables_data.push(TableCounts { table_name, counts });
    }
    Ok(Answer(TableTotalCounts { total_data, tables_data }))
}

/// What not to count.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default)]
pub(super) struct TotalRowsFilter {
    /// Leave out the rows of changes.
    exclude_cdc: bool,
    /// Leave out the rows of the snapshot.
    exclude_initial_load: bool,
}

/// Rows that a mirror brought.
#[derive(Serialize, ToSchema)]
pub(super) struct TotalRows {
    /// By changes.
    #[serde(rename = "totalCountCDC")]
    total_count_cdc: u64,
    /// By the snapshot.
    total_count_initial_load: u64,
    /// Both.
    total_count: u64,
}

pub(super) async fn total_rows_synced(
    State(control): State<Control>,
    Name(name): Name,
    QueryInput(filter): QueryInput<TotalRowsFilter>,
) -> Answered<TotalRows> {
    let rows = control.total_rows(&name).await?;
    let stream = if filter.exclude_cdc { 0 } else { rows.stream };
    let snapshot = if filter.exclude_initial_load { 0 } else { rows.snapshot };
    Ok(Answer(TotalRows {
        total_count_cdc: stream,
        total_count_initial_load: snapshot,
        total_count: stream + snapshot,
    }))
}

/// Which tables to count.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct RowCountsRequest {
    /// The mirror.
    flow_job_name: String,
    /// Its tables by their source; none for all.
    source_tables: Vec<String>,
}

/// How many rows tables have at both sides.
#[derive(Serialize, ToSchema)]
pub(super) struct TableRowCounts {
    /// Table by table.
    table_counts: Vec<TableRowCount>,
}

/// How many rows a table has at both sides. -1 is a number that its store could not give in time.
#[derive(Serialize, ToSchema)]
struct TableRowCount {
    /// Table at the source.
    source_table: String,
    /// Table at the destination.
    destination_table: String,
    /// Its rows at the source.
    source_count: i64,
    /// Its rows at the destination.
    destination_count: i64,
    /// Whether the source guessed.
    source_is_approximate: bool,
    /// Whether the destination guessed.
    destination_is_approximate: bool,
}

impl From<TableRows> for TableRowCount {
    fn from(rows: TableRows) -> Self {
        let count = |side: SideRows| side.rows.map_or(-1, |rows| i64::try_from(rows).unwrap_or(i64::MAX));
        Self {
            source_count: count(rows.source),
            destination_count: count(rows.destination),
            source_is_approximate: rows.source.approximate,
            destination_is_approximate: rows.destination.approximate,
            source_table: rows.source_table,
            destination_table: rows.destination_table,
        }
    }
}

pub(super) async fn row_counts(
    State(control): State<Control>,
    Input(request): Input<RowCountsRequest>,
) -> Answered<TableRowCounts> {
    let rows = control.row_counts(&request.flow_job_name, &request.source_tables).await?;
    Ok(Answer(TableRowCounts { table_counts: rows.into_iter().map(TableRowCount::from).collect() }))
}
