//! What is in the stores of peers.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::{Control, SlotFilter};
use tarn_model::{ActivityInfo, ColumnInfo, SlotInfo, TableInfo};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{Answer, Answered};
use crate::error::Code;
use crate::operation::{Operation, example};
use crate::request::{Name, QueryInput};

/// What each of them refuses with: the peer is not known, or its store does not answer.
const REFUSALS: &[Code] = &[Code::NotFound, Code::FailedPrecondition];

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/v1/peers/schemas", example!("list_schemas"), schemas)
            .about("Lists the schemas of a source.")
            .asks::<PeerQuery>()
            .answers::<SchemaList>()
            .refuses(REFUSALS),
        Operation::get("/api/v1/peers/publications", example!("list_publications"), publications)
            .about("Lists the publications of a source.")
            .asks::<PeerQuery>()
            .answers::<PublicationList>()
            .refuses(REFUSALS),
        Operation::get("/api/v1/peers/tables", example!("list_tables"), tables)
            .about("Lists the tables of a schema that a mirror can take.")
            .asks::<TablesQuery>()
            .answers::<TableList>()
            .refuses(REFUSALS),
        Operation::get("/api/v1/peers/tables/all", example!("list_all_tables"), all_tables)
            .about("Lists everything in a source that can be read like a table, as schema.name.")
            .asks::<PeerQuery>()
            .answers::<TableNames>()
            .refuses(REFUSALS),
        Operation::get("/api/v1/peers/columns", example!("list_columns"), columns)
            .about("Lists the columns of a table.")
            .asks::<ColumnsQuery>()
            .answers::<ColumnList>()
            .refuses(REFUSALS),
        Operation::get("/api/v1/peers/slots/{peer_name}", example!("list_slots"), slots)
            .about("Lists the replication slots of a source's database.")
            .names("peer_name", "The peer.")
            .asks::<SlotsQuery>()
            .answers::<SlotList>()
            .refuses(REFUSALS),
        Operation::get("/api/v1/peers/stats/{peer_name}", example!("list_activity"), activity)
            .about("Lists what the service's connections to a source are doing.")
            .names("peer_name", "The peer.")
            .answers::<ActivityList>()
            .refuses(REFUSALS),
    ]
}

#[derive(Default, Deserialize, IntoParams)]
#[serde(default)]
pub(super) struct PeerQuery {
    /// The peer.
    #[param(required)]
    peer_name: String,
}

/// Schemas.
#[derive(Serialize, ToSchema)]
pub(super) struct SchemaList {
    /// Their names.
    schemas: Vec<String>,
}

pub(super) async fn schemas(
    State(control): State<Control>,
    QueryInput(query): QueryInput<PeerQuery>,
) -> Answered<SchemaList> {
    Ok(Answer(SchemaList { schemas: control.peer_schemas(&query.peer_name).await? }))
}

/// Publications.
#[derive(Serialize, ToSchema)]
pub(super) struct PublicationList {
    /// Their names.
    publication_names: Vec<String>,
}

pub(super) async fn publications(
    State(control): State<Control>,
    QueryInput(query): QueryInput<PeerQuery>,
) -> Answered<PublicationList> {
    let publication_names = control.peer_publications(&query.peer_name).await?;
    Ok(Answer(PublicationList { publication_names }))
}

#[derive(Default, Deserialize, IntoParams)]
#[serde(default)]
pub(super) struct TablesQuery {
    /// The peer.
    #[param(required)]
    peer_name: String,
    /// The schema.
    #[param(required)]
    schema_name: String,
    /// Whether the tables are for a stream of changes: then those that have none cannot be mirrored.
    cdc_enabled: bool,
}

/// Tables of a schema.
#[derive(Serialize, ToSchema)]
pub(super) struct TableList {
    /// By name.
    tables: Vec<TableInfo>,
}

pub(super) async fn tables(
    State(control): State<Control>,
    QueryInput(query): QueryInput<TablesQuery>,
) -> Answered<TableList> {
    let mut tables = control.peer_tables(&query.peer_name, &query.schema_name).await?;
    if !query.cdc_enabled {
        tables.iter_mut().for_each(|table| table.can_mirror = true);
    }
    Ok(Answer(TableList { tables }))
}

/// Names of tables.
#[derive(Serialize, ToSchema)]
pub(super) struct TableNames {
    /// Each as schema.name.
    tables: Vec<String>,
}

pub(super) async fn all_tables(
    State(control): State<Control>,
    QueryInput(query): QueryInput<PeerQuery>,
) -> Answered<TableNames> {
    Ok(Answer(TableNames { tables: control.peer_all_tables(&query.peer_name).await? }))
}

#[derive(Default, Deserialize, IntoParams)]
#[serde(default)]
pub(super) struct ColumnsQuery {
    /// The peer.
    #[param(required)]
    peer_name: String,
    /// The table's schema.
    #[param(required)]
    schema_name: String,
    /// The table.
    #[param(required)]
    table_name: String,
}

/// Columns of a table.
#[derive(Serialize, ToSchema)]
pub(super) struct ColumnList {
    /// In the table's order.
    columns: Vec<ColumnInfo>,
}

pub(super) async fn columns(
    State(control): State<Control>,
    QueryInput(query): QueryInput<ColumnsQuery>,
) -> Answered<ColumnList> {
    let ColumnsQuery { peer_name, schema_name, table_name } = query;
    Ok(Answer(ColumnList { columns: control.peer_columns(&peer_name, &schema_name, &table_name).await? }))
}

#[derive(Default, Deserialize, IntoParams)]
#[serde(default)]
pub(super) struct SlotsQuery {
    /// Only those that mirrors of this server read.
    peerdb_managed_only: bool,
}

/// Replication slots.
#[derive(Serialize, ToSchema)]
pub(super) struct SlotList {
    /// By name.
    slot_data: Vec<SlotInfo>,
}

pub(super) async fn slots(
    State(control): State<Control>,
    Name(peer): Name,
    QueryInput(query): QueryInput<SlotsQuery>,
) -> Answered<SlotList> {
    let filter = if query.peerdb_managed_only { SlotFilter::OfMirrors } else { SlotFilter::All };
    Ok(Answer(SlotList { slot_data: control.peer_slots(&peer, filter).await? }))
}

/// What connections are doing.
#[derive(Serialize, ToSchema)]
pub(super) struct ActivityList {
    /// Connection by connection.
    stat_data: Vec<ActivityInfo>,
}

pub(super) async fn activity(State(control): State<Control>, Name(peer): Name) -> Answered<ActivityList> {
    Ok(Answer(ActivityList { stat_data: control.peer_activity(&peer).await? }))
}
