//! The limits: what PostgreSQL itself gives a client that throws everything away.

use std::process::{Command, Stdio};
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

/// One connection's `COPY … (FORMAT binary)` of the table to nowhere.
pub fn copy_binary(postgres: &Postgres) -> Duration {
    let mut command = tool("psql", postgres);
    command.args(["-qAt", "-c", "COPY bench TO STDOUT (FORMAT binary)"]);
    let (status, time) = timed(|| command.status().expect("psql runs"));
    assert!(status.success(), "psql ended with {status}");
    time
}

/// `pg_recvlogical` reading a slot up to a position, to nowhere.
pub fn receive(postgres: &Postgres, slot: &str, publication: &str, end: &str) -> Duration {
    let mut command = tool("pg_recvlogical", postgres);
    command.args(["--slot", slot, "--start", "--no-loop", "-f", "-", "--endpos", end]);
    command.args(["-o", "proto_version=1", "-o", &format!("publication_names={publication}")]);
    let (status, time) = timed(|| command.status().expect("pg_recvlogical runs"));
    assert!(status.success(), "pg_recvlogical ended with {status}");
    time
}
