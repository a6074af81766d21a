//! The `tarn` binary: one process that serves the API and runs the mirrors.

mod certificate;
mod config;
mod demo;
mod logging;
mod password;
mod serve;
mod settings;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use settings::Settings;

/// Replicates PostgreSQL into ClickHouse through WebAssembly components.
#[derive(Debug, Parser)]
#[command(name = "tarn", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves the API and runs the mirrors until SIGTERM or SIGINT.
    Serve {
        /// Settings file (TOML). The TARN_… environment variables win over it.
        #[arg(long, env = "TARN_CONFIG")]
        config: Option<PathBuf>,
        /// Serve without any password. Only on a loopback address.
        #[arg(long)]
        without_password: bool,
    },
    /// Shows the main job between two servers: load, live changes, comparison.
    Demo(Box<demo::DemoArgs>),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("the operating system gives threads");
    let outcome = runtime.block_on(async {
        match arguments.command {
            Command::Serve { config, without_password } => serve(config, without_password).await,
            Command::Demo(args) => demo::run(*args).await.map_err(|error| error.to_string()),
        }
    });
    // Blocking work that is still under way, such as a script that compiles, holds nothing up.
    runtime.shutdown_background();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            complain(&message);
            ExitCode::FAILURE
        }
    }
}

async fn serve(config: Option<PathBuf>, without_password: bool) -> Result<(), String> {
    let settings = Settings::load(config.as_deref(), std::env::vars()).map_err(|error| error.to_string())?;
    logging::start(&settings);
    serve::run(settings, without_password).await.map_err(|error| error.to_string())
}

#[expect(clippy::print_stderr, reason = "the last word of a command that failed")]
fn complain(message: &str) {
    eprintln!("tarn: {message}");
}
