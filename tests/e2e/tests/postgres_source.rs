//! The PostgreSQL source: plugin and driver together, natively, against a real server.
//!
//! Each file tests promises of one part; all share a server, and each test has tables and a mirror of its
//! own.

#[path = "postgres_source/fixture.rs"]
mod fixture;

#[path = "postgres_source/added.rs"]
mod added;
#[path = "postgres_source/behind.rs"]
mod behind;
#[path = "postgres_source/columns.rs"]
mod columns;
#[path = "postgres_source/doubt.rs"]
mod doubt;
#[path = "postgres_source/every_type.rs"]
mod every_type;
#[path = "postgres_source/excluded.rs"]
mod excluded;
#[path = "postgres_source/first_rows.rs"]
mod first_rows;
#[path = "postgres_source/in_progress.rs"]
mod in_progress;
#[path = "postgres_source/inspection.rs"]
mod inspection;
#[path = "postgres_source/key_ranges.rs"]
mod key_ranges;
#[path = "postgres_source/left.rs"]
mod left;
#[path = "postgres_source/lifecycle.rs"]
mod lifecycle;
#[path = "postgres_source/lookup.rs"]
mod lookup;
#[path = "postgres_source/messages.rs"]
mod messages;
#[path = "postgres_source/names.rs"]
mod names;
#[path = "postgres_source/narrowed.rs"]
mod narrowed;
#[path = "postgres_source/partitioned.rs"]
mod partitioned;
#[path = "postgres_source/published.rs"]
mod published;
#[path = "postgres_source/rekeyed.rs"]
mod rekeyed;
#[path = "postgres_source/replaced.rs"]
mod replaced;
#[path = "postgres_source/restored.rs"]
mod restored;
#[path = "postgres_source/resume.rs"]
mod resume;
#[path = "postgres_source/retyped.rs"]
mod retyped;
#[path = "postgres_source/rows.rs"]
mod rows;
#[path = "postgres_source/snapshot.rs"]
mod snapshot;
#[path = "postgres_source/standby.rs"]
mod standby;
#[path = "postgres_source/validation.rs"]
mod validation;

use std::sync::OnceLock;

use tarn_harness::Postgres;

/// The server that the tests share. The harness ends it with the process.
fn server() -> &'static Postgres {
    static SERVER: OnceLock<Postgres> = OnceLock::new();
    SERVER.get_or_init(|| {
        Postgres::start_with(&[
            ("max_replication_slots", "100"),
            ("max_wal_senders", "100"),
            ("max_connections", "300"),
        ])
    })
}

/// The server's major version: some promises need what only newer ones have.
fn major() -> u32 {
    let number = server().scalar("SELECT current_setting('server_version_num')::int / 10000");
    number.and_then(|number| number.parse().ok()).expect("a number")
}
