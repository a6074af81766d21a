//! The limits: what PostgreSQL itself gives a client that throws everything away.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use tarn_harness::Postgres;

use crate::measure::timed;

fn tool(name: &str, postgres: &Postgres) -> Command {
    let newest = std::fs::read_dir("/usr/lib/postgresql")
        .expect("PostgreSQL is installed")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok()?.parse::<u32>().ok())
        .max()
        .expect("a version of PostgreSQL is installed");
    let mut command = Command::new(format!("/usr/lib/postgresql/{newest}/bin/{name}"));
    command
        .env("PGPASSWORD", postgres.password())
        .args([
            "-h",
            postgres.host(),
            "-p",
            &postgres.port().to_string(),
            "-U",
            postgres.user(),
            "-d",
            postgres.database(),
        ])
        .stdout(Stdio::null());
    command
}

/// The table by `COPY … (FORMAT binary)` to nowhere: by one connection, or by several at once, each its
/// share of the table's blocks.
pub fn copy_binary(postgres: &Postgres, connections: u64) -> Duration {
    let sizes = "SELECT pg_relation_size('bench') / current_setting('block_size')::int";
    let blocks: u64 = postgres.scalar(sizes).and_then(|text| text.parse().ok()).expect("a number of blocks");
    let copy = |part| {
        let [from, to] = [part, part + 1].map(|part| blocks * part / connections);
        let rows = match connections {
            1 => "bench".to_owned(),
            _ => format!("(SELECT * FROM bench WHERE ctid >= '({from},0)' AND ctid < '({to},0)')"),
        };
        format!("COPY {rows} TO STDOUT (FORMAT binary)")
    };
    let copies: Vec<String> = (0..connections).map(copy).collect();
    let start = |sql: &String| tool("psql", postgres).args(["-qAt", "-c", sql]).spawn().expect("psql runs");
    let (statuses, time) = timed(|| {
        let mut readers: Vec<Child> = copies.iter().map(start).collect();
        readers.iter_mut().map(|reader| reader.wait().expect("psql ends")).collect::<Vec<_>>()
    });
    assert!(statuses.iter().all(ExitStatus::success), "psql ended with {statuses:?}");
    time
}

/// `pg_recvlogical` reading what `change` commits, to nowhere: from a slot of its own, which is dropped again.
pub fn receive_changes(postgres: &Postgres, publication: &str, change: impl FnOnce()) -> Duration {
    const SLOT: &str = "bench_limit";
    postgres.query(&format!("SELECT pg_create_logical_replication_slot('{SLOT}', 'pgoutput')"));
    change();
    let end = postgres.scalar("SELECT pg_current_wal_flush_lsn()").expect("a position");
    let took = receive(postgres, SLOT, publication, &end);
    postgres.query(&format!("SELECT pg_drop_replication_slot('{SLOT}')"));
    took
}

/// The same up to a position.
fn receive(postgres: &Postgres, slot: &str, publication: &str, end: &str) -> Duration {
    let mut command = tool("pg_recvlogical", postgres);
    command.args(["--slot", slot, "--start", "--no-loop", "-f", "-", "--endpos", end]);
    command.args(["-o", "proto_version=1", "-o", &format!("publication_names={publication}")]);
    let (status, time) = timed(|| command.status().expect("pg_recvlogical runs"));
    assert!(status.success(), "pg_recvlogical ended with {status}");
    time
}
