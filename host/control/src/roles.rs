//! Which kinds of peers the installed connectors serve, and as what.

use tarn_model::{Enumerated as _, PeerKind};

/// Kinds that records can come from.
const SOURCES: &[PeerKind] = &[PeerKind::Postgres];
/// Kinds that records can go to.
const DESTINATIONS: &[PeerKind] = &[PeerKind::ClickHouse, PeerKind::Kafka];

/// Whether records can come from peers of the kind.
pub fn is_source(kind: PeerKind) -> bool {
    SOURCES.contains(&kind)
}

/// Whether records can go to peers of the kind.
pub fn is_destination(kind: PeerKind) -> bool {
    DESTINATIONS.contains(&kind)
}

/// What a person reads who wants a peer of a kind that no connector serves.
pub fn unserved_kind(kind: &str) -> String {
    format!(
        "no installed connector serves peers of kind {kind}; installed are {}. To install one, add its plugin \
         to the server (see CONTRIBUTING.md, \"A connector\") and start it again",
        served()
    )
}

/// The names of the kinds that are sources, for a remedy.
pub(crate) fn source_names() -> String {
    names(SOURCES.iter())
}

/// The names of the kinds that are destinations, for a remedy.
pub(crate) fn destination_names() -> String {
    names(DESTINATIONS.iter())
}

fn served() -> String {
    names(SOURCES.iter().chain(DESTINATIONS))
}

fn names<'a>(kinds: impl Iterator<Item = &'a PeerKind>) -> String {
    kinds.map(|kind| kind.name()).collect::<Vec<_>>().join(", ")
}
