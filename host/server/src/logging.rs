//! Log lines of the process: readable on a terminal, JSON elsewhere or when asked.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::settings::{LogFormat, Settings};

/// Starts the log on standard error.
pub fn start(settings: &Settings) {
    let filter = EnvFilter::new(&settings.log);
    let on_terminal = std::io::stderr().is_terminal();
    let format = settings.log_format.unwrap_or(if on_terminal { LogFormat::Human } else { LogFormat::Json });
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Human => builder.with_ansi(on_terminal).with_target(false).init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
}
