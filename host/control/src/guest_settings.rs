//! A mirror as its guests are told of it: JSON in the form that `wit/README.md` lists.

use serde_json::json;
use tarn_model::{MirrorSpec, Peer, PeerConfig, TableMapping};

/// The mirror's `env` that says whether large transactions are taken before they commit.
const IN_PROGRESS: &str = "TARN_STREAM_IN_PROGRESS";

/// What the source is configured with. `loading` are the tables of which the destination may lack rows
/// that the stream changes.
pub(crate) fn source(spec: &MirrorSpec, loading: &[String]) -> String {
    let table = |table: &TableMapping| json!({"source": table.source, "exclude": table.exclude});
    json!({
        "mirror": spec.name,
        "slot": spec.slot(),
        "publication": spec.publication(),
        "publicationManaged": spec.publication_managed(),
        "tables": spec.tables.iter().map(table).collect::<Vec<_>>(),
        "loading": loading,
        // Without a script nobody takes them: they need not come.
        "messages": !spec.script.is_empty(),
        "inProgress": spec.env.get(IN_PROGRESS).is_some_and(|value| value == "true"),
    })
    .to_string()
}

/// What the destination is configured with. `beside` names the load that goes into tables beside; empty for none.
pub(crate) fn destination(spec: &MirrorSpec, peer: &Peer, beside: &str) -> String {
    let (cluster, replicated) = match &peer.config {
        PeerConfig::Clickhouse(config) => (config.cluster.as_str(), config.replicated),
        PeerConfig::Postgres(_) => ("", false),
    };
    let existing_rows = match (spec.resync, spec.do_initial_snapshot) {
        (true, _) => "replaced",
        (false, true) => "refused",
        (false, false) => "kept",
    };
    json!({
        "mirror": spec.name,
        "existingRows": existing_rows,
        "tables": spec.tables.iter().map(destination_table).collect::<Vec<_>>(),
        "softDeleteColumn": spec.soft_delete_col_name,
        "syncedAtColumn": spec.synced_at_col_name,
        "cluster": cluster,
        "replicated": replicated,
        "beside": beside,
    })
    .to_string()
}

fn destination_table(table: &TableMapping) -> serde_json::Value {
    let columns: Vec<_> = table
        .columns
        .iter()
        .map(|column| {
            json!({
                "sourceName": column.source_name,
                "destinationName": column.destination_name,
                "destinationType": column.destination_type,
                "ordering": column.ordering,
                "nullableEnabled": column.nullable_enabled,
            })
        })
        .collect();
    json!({
        "source": table.source,
        "destination": table.destination,
        "engine": table.engine.store_name(),
        "partitionKey": table.partition_key,
        "exclude": table.exclude,
        "columns": columns,
    })
}

/// What a script is opened with.
pub(crate) fn script(spec: &MirrorSpec) -> String {
    let table = |table: &TableMapping| json!({"source": table.source, "destination": table.destination});
    json!({
        "mirror": spec.name,
        "sourcePeer": spec.source_peer,
        "destinationPeer": spec.destination_peer,
        "tables": spec.tables.iter().map(table).collect::<Vec<_>>(),
        "output": "rows",
    })
    .to_string()
}
