//! The `tarn` binary: one process that serves the API and runs the mirrors.

mod certificate;
mod config;
mod demo;
mod logging;
mod operating;
mod password;
mod script_builder;
mod secrets;
mod serve;
mod settings;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use tarn_client::ClientCommand;

use script_builder::BundledRuntimes;
use secrets::SecretsCommand;
use settings::Settings;

/// The exit code of a command that failed.
const FAILED: u8 = 1;

/// Replicates PostgreSQL into ClickHouse and Kafka through WebAssembly components.
///
/// Exit codes: 0 done; 1 refused or failed; 2 the command line, or a file, cannot be used and nothing was sent;
/// 3 no server answers; 4 the server does not take the user name and password.
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
    /// The key that seals what the catalog keeps secret.
    #[command(subcommand)]
    Secrets(SecretsCommand),
    /// Prints every setting of the server with its default.
    Settings {
        /// Write them, and the editions, into the operator's page.
        #[arg(long, value_name = "FILE")]
        write: Option<PathBuf>,
    },
    #[command(flatten)]
    Client(Box<ClientCommand>),
    /// Prints the completions for a shell, to be sourced by it.
    Completions {
        /// bash, zsh, fish, elvish or powershell.
        shell: Shell,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("the operating system gives threads");
    let code = runtime.block_on(async {
        let outcome = match arguments.command {
            Command::Serve { config, without_password } => serve(config, without_password).await,
            Command::Demo(args) => demo::run(*args).await.map_err(|error| error.to_string()),
            Command::Secrets(command) => secrets::run(command).await.and_then(|done| tell(&(done + "\n"))),
            Command::Settings { write } => show_settings(write),
            Command::Client(command) => return tarn_client::run(*command, &BundledRuntimes).await,
            Command::Completions { shell } => complete(shell),
        };
        match outcome {
            Ok(()) => 0,
            Err(message) => {
                complain(&message);
                FAILED
            }
        }
    });
    // Blocking work that is still under way, such as a script that compiles, holds nothing up.
    runtime.shutdown_background();
    ExitCode::from(code)
}

/// Writes a shell's completions to standard output.
fn complete(shell: Shell) -> Result<(), String> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "tarn", &mut script);
    tell(&String::from_utf8_lossy(&script))
}

/// Shows the settings, or writes them into the operator's page.
fn show_settings(page: Option<PathBuf>) -> Result<(), String> {
    let Some(path) = page else { return tell(&operating::settings_for_people()) };
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let page = std::fs::read_to_string(&path).map_err(failed)?;
    std::fs::write(&path, operating::written(&page)?).map_err(failed)
}

fn tell(text: &str) -> Result<(), String> {
    std::io::stdout().write_all(text.as_bytes()).map_err(|error| format!("cannot write: {error}"))
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
