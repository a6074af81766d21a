//! A mirror as its guests are told of it: JSON in the form that `wit/README.md` lists.

use serde_json::json;
use tarn_model::{MirrorSpec, Peer, PeerConfig, Position, TableEngine, TableMapping};

use crate::{queue_settings, usual_types};

/// The mirror's `env` that says whether large transactions are taken before they commit.
const IN_PROGRESS: &str = "TARN_STREAM_IN_PROGRESS";

/// The mirror's `env` that says whether tables whose rows the source wrote anew are read again.
const REREAD: &str = "TARN_REREAD";

/// Those that are `true` or `false`.
pub(crate) const SWITCHES: [&str; 2] = [IN_PROGRESS, REREAD];

/// What an instance of a destination is for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Errand<'a> {
    /// The load that goes into tables beside; empty for none.
    pub(crate) beside: &'a str,
    /// A name of the mirror that no other one has; empty where nothing is written.
    pub(crate) delivery: &'a str,
    /// Whether records come again long after they were due.
    pub(crate) replays: bool,
}

/// What the source is configured with. `loading` are the tables of which the destination may lack rows
/// that the stream changes; `load_start` is where loads start, where that is known.
pub(crate) fn source(
    spec: &MirrorSpec,
    destination: &Peer,
    loading: &[String],
    load_start: Option<&Position>,
) -> String {
    // A table has its columns; only who reads messages one by one has to be told of them.
    let relations = if destination.config.is_queue() { queue_settings::relations(spec) } else { "none" };
    let table = |table: &TableMapping| {
        let keeps_none = !spec.do_initial_snapshot || table.engine == TableEngine::Null;
        let lacks_rows = keeps_none && !destination.config.is_queue();
        json!({"source": table.source, "exclude": table.exclude, "lacksRows": lacks_rows})
    };
    json!({
        "mirror": spec.name,
        "slot": spec.slot(),
        "publication": spec.publication(),
        "publicationManaged": spec.publication_managed(),
        "tables": spec.tables.iter().map(table).collect::<Vec<_>>(),
        "loading": loading,
        "loadWorkers": if spec.do_initial_snapshot { spec.snapshot_max_parallel_workers } else { 0 },
        "loadStart": load_start.map_or(&[][..], Position::as_bytes),
        // Without a script nobody takes them: they need not come.
        "messages": !spec.script.is_empty(),
        "relations": relations,
        "inProgress": spec.env.get(IN_PROGRESS).is_some_and(|value| value == "true"),
        "rereads": rereads(spec, destination),
        "wholeRows": !spec.script.is_empty(),
    })
    .to_string()
}

/// What is read again of tables whose rows the source wrote anew.
fn rereads(spec: &MirrorSpec, destination: &Peer) -> &'static str {
    if destination.config.is_queue() {
        // There they would be changes that nobody made.
        return "none";
    }
    if spec.env.get(REREAD).is_some_and(|value| value == "false") { "leftOut" } else { "all" }
}

/// What the destination is configured with.
pub(crate) fn destination(spec: &MirrorSpec, peer: &Peer, errand: Errand<'_>) -> String {
    let (cluster, replicated) = match &peer.config {
        PeerConfig::Clickhouse(config) => (config.cluster.as_str(), config.replicated),
        PeerConfig::Postgres(_) | PeerConfig::Kafka(_) => ("", false),
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
        "beside": errand.beside,
        "usualTypes": usual_types::destination(spec),
        "queue": queue_settings::destination(spec, errand.delivery, errand.replays),
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
pub(crate) fn script(spec: &MirrorSpec, destination: &Peer) -> String {
    let output = if destination.config.is_queue() { "messages" } else { "rows" };
    let table = |table: &TableMapping| json!({"source": table.source, "destination": table.destination});
    json!({
        "mirror": spec.name,
        "sourcePeer": spec.source_peer,
        "destinationPeer": spec.destination_peer,
        "tables": spec.tables.iter().map(table).collect::<Vec<_>>(),
        "output": output,
    })
    .to_string()
}
