//! Real services for tests: PostgreSQL, the ClickHouse engine, a Kafka broker, an SSH server, a bucket of S3 and `tarn` itself, each started in a
//! folder of its own on loopback, each able to be stopped, killed as by a power cut, and started
//! again on the same port and data.
//!
//! `tests/harness/setup` installs what the fixtures run. `TARN_TEST_POSTGRES_URL` and
//! `TARN_TEST_CLICKHOUSE_URL` point the same tests at servers of one's own; every fixture then makes
//! a database there and drops it.
//!
//! Not here: assertions and knowledge of what Tarn does. The fixtures are synchronous and use only
//! the standard library's sockets, so that a test's own runtime is its own affair.
//!
//! Invariants: a fixture's processes and folder never outlive the test process, whatever ends it
//! ([`leash`] explains how); only processes that a fixture started are ended, by their ids; nothing
//! sleeps a fixed time, everything waits for a condition under a deadline.
//!
//! A fixture that cannot do its work panics and says why: a test could do nothing else.
//!
//! Public: [`Postgres`], [`Session`], [`Attempt`], [`ClickHouse`], [`Kafka`], [`Bucket`], [`Sshd`], [`Tarn`], [`Schemathesis`], [`HttpAnswer`],
//! [`Row`], [`until`], [`until_within`], [`peak_mib`], [`reset_peak`].

mod bucket;
mod clickhouse;
mod compiled;
mod config;
mod http;
mod kafka;
mod leash;
mod memory;
mod port;
mod postgres;
mod process;
mod schemathesis;
mod server_url;
mod small_disk;
mod sshd;
mod tarn;
mod tsv;
mod unprivileged;
mod venv;
mod wait;

pub use bucket::Bucket;
pub use clickhouse::ClickHouse;
pub use http::HttpAnswer;
pub use kafka::Kafka;
pub use memory::{peak_mib, reset_peak};
pub use postgres::{Attempt, Postgres, Session};
pub use schemathesis::Schemathesis;
pub use sshd::Sshd;
pub use tarn::Tarn;
pub use wait::{until, until_within};

/// A result's row: each column's text, `None` where it is NULL.
pub type Row = Vec<Option<String>>;
