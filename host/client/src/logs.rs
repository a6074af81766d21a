//! `tarn logs`: what happened to one mirror or to all.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use tarn_model::Timestamp;
use tokio::time::sleep;

use crate::answer::{LogEntry, LogPage};
use crate::config::{FAILED_LOOKS_MAX, LOG_PAGE, LOG_POLL};
use crate::error::Error;
use crate::http::Client;
use crate::output::{Reader, Report, print, remark};
use crate::table::one_line;

/// Which entries.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// The mirror, dropped ones included; all mirrors by default.
    #[arg(default_value = "", hide_default_value = true)]
    mirror: String,
    /// Entries of this level only.
    #[arg(long, value_enum, default_value_t = Level::All)]
    level: Level,
    /// How many of the newest entries.
    #[arg(short = 'n', long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(..=i64::from(LOG_PAGE)))]
    lines: u32,
    /// Go on with new entries as they come.
    #[arg(short, long)]
    follow: bool,
}

/// A level of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// Every level.
    All,
    /// For the record.
    Info,
    /// Passing trouble.
    Warn,
    /// What could not go on.
    Error,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Self::All => "ALL",
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
        }
    }
}

impl LogsArgs {
    /// Prints entries, oldest first; for programs one JSON object a line.
    pub(crate) async fn run(self, client: &Client, reader: Reader) -> Result<Report, Error> {
        let mut last = 0;
        let entries = self.page(client, self.lines, &json!({"page": 1})).await?;
        if entries.is_empty() && !self.mirror.is_empty() && !self.follow {
            let Self { mirror, .. } = &self;
            remark(&format!(
                "there are no such entries of a mirror {mirror}; tarn mirror list names the mirrors"
            ));
        }
        self.print(entries, reader, &mut last)?;
        if self.follow {
            self.follow(client, reader, last).await?;
        }
        Ok(Report::nothing())
    }

    /// Prints new entries as they come, until the server is away for too long.
    async fn follow(&self, client: &Client, reader: Reader, mut last: i64) -> Result<(), Error> {
        let mut failed = 0;
        loop {
            sleep(LOG_POLL).await;
            match self.news(client, last).await {
                Ok(entries) => {
                    failed = 0;
                    self.print(entries, reader, &mut last)?;
                }
                // A server that is started again is waited for.
                Err(error) if error.is_passing() && failed < FAILED_LOOKS_MAX => {
                    failed += 1;
                    remark(&error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Everything after an entry, newest first, page by page.
    async fn news(&self, client: &Client, last: i64) -> Result<Vec<(LogEntry, Value)>, Error> {
        let mut entries = Vec::new();
        for page in 1.. {
            let found = self.page(client, LOG_PAGE, &json!({"after_id": last, "page": page})).await?;
            let is_last = found.len() < LOG_PAGE as usize;
            entries.extend(found);
            if is_last {
                break;
            }
        }
        Ok(entries)
    }

    async fn page(
        &self,
        client: &Client,
        count: u32,
        which: &Value,
    ) -> Result<Vec<(LogEntry, Value)>, Error> {
        let mut body =
            json!({"flow_job_name": self.mirror, "level": self.level.name(), "num_per_page": count});
        for (key, value) in which.as_object().into_iter().flatten() {
            body[key] = value.clone();
        }
        let answer = client.post("mirrors/logs", &body).await?;
        let entries = client.read::<LogPage>(&answer)?.errors;
        let values = answer["errors"].as_array().cloned().unwrap_or_default();
        Ok(entries.into_iter().zip(values).collect())
    }

    fn print(
        &self,
        mut entries: Vec<(LogEntry, Value)>,
        reader: Reader,
        last: &mut i64,
    ) -> Result<(), Error> {
        // An entry may be seen again where pages shifted under new ones.
        entries.sort_by_key(|(entry, _)| entry.id);
        entries.dedup_by_key(|(entry, _)| entry.id);
        for (entry, value) in entries.iter().filter(|(entry, _)| entry.id > *last) {
            match reader {
                Reader::Programs => print(&format!("{value}\n"))?,
                Reader::People => print(&line(entry, self.mirror.is_empty()))?,
            }
        }
        *last = entries.last().map_or(*last, |(entry, _)| entry.id.max(*last));
        Ok(())
    }
}

fn line(entry: &LogEntry, names_mirror: bool) -> String {
    let at = Timestamp::from_micros(entry.error_timestamp.saturating_mul(1000));
    let mirror = if names_mirror { format!("  {}", entry.flow_name) } else { String::new() };
    format!("{at}  {:<5}{mirror}  {}\n", entry.error_type, one_line(&entry.error_message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_line_whatever_its_message_holds() {
        let entry = LogEntry {
            id: 1,
            flow_name: "orders".into(),
            error_message: "line 1\nline 2\u{1b}[31m".into(),
            error_type: "warn".into(),
            error_timestamp: 1_800_000_000_123,
        };
        assert_eq!(line(&entry, true), "2027-01-15T08:00:00.123Z  warn   orders  line 1 line 2 [31m\n");
        assert_eq!(line(&entry, false), "2027-01-15T08:00:00.123Z  warn   line 1 line 2 [31m\n");
    }
}
