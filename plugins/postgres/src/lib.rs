//! PostgreSQL as a source of records: snapshot by COPY, changes by logical replication.
//!
//! The plugin decodes what the server sends into batches and says the SQL that sets replication up; the
//! connections are the host's. It holds no credential and no socket. Invariants: a row has the
//! same cells, whether it came by snapshot or by stream; what cannot be decoded is an error that names it, never
//! a default; a position is confirmed only when the host says so; a slot that cannot serve a position is
//! never started.
//!
//! A record's way: [`source`] has the functions of the contract in the order they are called in,
//! `snapshot` reads tables, `stream` reads changes, `value` turns text into values and `sent_value` binary
//! forms. Everything is generic over [`Peer`], so that the same code runs against a real server without a host.

mod added;
mod attributes;
mod catalog;
mod cluster;
mod config;
mod connections;
mod entry;
mod excluded;
mod fill;
mod inspection;
mod lsn;
mod mapped;
mod mark;
mod names;
mod partitions;
mod peer;
mod pgoutput;
mod position;
mod publication;
mod restated;
mod rewrite;
mod sent_value;
mod server;
mod settings;
mod shapes;
mod side;
mod slot;
mod snapshot;
mod source;
mod stream;
mod surroundings;
mod table_name;
mod teardown;
mod type_catalog;
mod unreadable;
mod validate;
mod value;

pub use inspection::inspect;
pub use peer::{HostPeer, Peer, Session, Spool};
pub use source::PostgresSource;

tarn_sdk::export_source!(PostgresSource, lookup);
tarn_sdk::export_inspection!(PostgresSource);
