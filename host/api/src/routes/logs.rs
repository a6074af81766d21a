//! Logs of mirrors.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::{Control, LogRequest};
use tarn_model::{LogEntry, LogLevel};

use crate::answer::{Answer, Answered};
use crate::request::Input;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Request {
    flow_job_name: String,
    level: String,
    page: i64,
    num_per_page: i64,
    before_id: i64,
    after_id: i64,
}

#[derive(Serialize)]
pub(super) struct List {
    /// Entries of every level, whatever the name says.
    errors: Vec<Entry>,
    total: u32,
    page: u32,
}

#[derive(Serialize)]
struct Entry {
    flow_name: String,
    error_message: String,
    error_type: LogLevel,
    /// Milliseconds since 1970.
    error_timestamp: f64,
    id: f64,
}

impl From<LogEntry> for Entry {
    #[expect(clippy::cast_precision_loss, reason = "clients read both as doubles; both are far below 2^53")]
    fn from(entry: LogEntry) -> Self {
        Self {
            flow_name: entry.mirror,
            error_message: entry.message,
            error_type: entry.level,
            error_timestamp: entry.at.millis() as f64,
            id: entry.id as f64,
        }
    }
}

pub(super) async fn list(State(control): State<Control>, Input(request): Input<Request>) -> Answered<List> {
    let answer = control
        .list_logs(LogRequest {
            mirror: request.flow_job_name,
            level: request.level,
            page: request.page,
            num_per_page: request.num_per_page,
            before_id: request.before_id,
            after_id: request.after_id,
        })
        .await?;
    Ok(Answer(List {
        errors: answer.page.entries.into_iter().map(Entry::from).collect(),
        total: u32::try_from(answer.page.total).unwrap_or(u32::MAX),
        page: u32::try_from(answer.number).unwrap_or(u32::MAX),
    }))
}
