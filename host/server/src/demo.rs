//! `tarn demo`: the main job between two servers, from an empty table to a comparison of both sides.
//!
//! It starts the very server that `tarn serve` starts, on a port of its own and with a password made for
//! it, and then only uses the API, as any client would: peers, a script, a mirror. It shows each call as
//! the `tarn` command and as the `curl` line that make it.

mod client;
mod comparison;
mod dataset;
mod endpoint;
mod steps;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use endpoint::EndpointUrl;

/// What `tarn demo` is told.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// PostgreSQL to read from: `postgres://user:password@host:port/database`, a role that may create
    /// tables and replicate.
    #[arg(long, env = "TARN_DEMO_POSTGRES", hide_env_values = true, value_name = "URL")]
    postgres: EndpointUrl,
    /// ClickHouse to write to: `http://user:password@host:port/database`.
    #[arg(long, env = "TARN_DEMO_CLICKHOUSE", hide_env_values = true, value_name = "URL")]
    clickhouse: EndpointUrl,
    /// Rows of the table that is loaded first.
    #[arg(long, default_value_t = 1_000_000)]
    rows: u64,
    /// How long rows keep changing after the load, in seconds.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Folder for the server's data; a new one under the system's temporary folder by default.
    #[arg(long)]
    data_dir: Option<PathBuf>,
    /// End after the comparison even on a terminal.
    #[arg(long)]
    once: bool,
}

/// Why a demo ended early.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A URL is none.
    #[error("{option}: {reason}")]
    Url {
        /// The option that has it.
        option: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The source could not be used.
    #[error("PostgreSQL: {0}")]
    Postgres(#[from] tarn_postgres::Error),
    /// The destination could not be used.
    #[error("ClickHouse: {0}")]
    ClickHouse(#[from] tarn_clickhouse::Error),
    /// The API refused a call.
    #[error("API call {path}: {reason}")]
    Api {
        /// The call's path under `/api/v1/`.
        path: String,
        /// Status and message.
        reason: String,
    },
    /// The mirror failed.
    #[error("the mirror stopped: {0}")]
    Mirror(String),
    /// Somebody dropped the mirror while the demo waited for it.
    #[error("the mirror was dropped while the demo ran")]
    Dropped,
    /// Something that should have happened by now did not.
    #[error("{what} did not happen within {} s", .after.as_secs())]
    Late {
        /// What was waited for.
        what: String,
        /// For how long.
        after: Duration,
    },
    /// The server could not start.
    #[error(transparent)]
    Server(#[from] crate::serve::ServeError),
    /// The two sides are not the same.
    #[error("{0} rows differ between source and destination")]
    Different(u64),
    /// A file of the demo could not be made.
    #[error("cannot make the demo's folder: {0}")]
    Folder(#[from] std::io::Error),
}

/// Runs the demo.
///
/// # Errors
/// [`DemoError`]; in particular [`DemoError::Different`] when the comparison finds a difference.
pub async fn run(args: DemoArgs) -> Result<(), DemoError> {
    steps::Demo::start(args).await?.run().await
}
