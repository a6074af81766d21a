//! Logs of mirrors.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::{Control, LogRequest};
use tarn_model::{LogEntry, LogLevel};
use utoipa::ToSchema;

use crate::answer::{Answer, Answered};
use crate::operation::{Operation, example};
use crate::request::Input;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/api/v1/mirrors/logs", example!("list_logs"), list)
            .about("Lists what happened to mirrors, newest first; what is about dropped ones stays.")
            .takes::<LogsRequest>()
            .answers::<LogList>(),
    ]
}

/// Which entries to list.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct LogsRequest {
    /// Exactly this mirror; empty for all.
    flow_job_name: String,
    /// ALL, INFO, WARN or ERROR in any case; empty for all.
    level: String,
    /// The page, from 1; 0 counts as 1.
    page: i32,
    /// Entries of a page, at most 1,000; 0 for the total alone.
    num_per_page: i64,
    /// Only entries before this one; 0 or less for no filter.
    before_id: i64,
    /// Only entries after this one; 0 or less for no filter.
    after_id: i64,
}

/// A page of entries.
#[derive(Serialize, ToSchema)]
pub(super) struct LogList {
    /// Entries of every level, whatever the name says.
    errors: Vec<Entry>,
    /// Entries that match mirror and level.
    total: u32,
    /// The page's number.
    page: u32,
}

/// An entry.
#[derive(Serialize, ToSchema)]
#[schema(as = LogEntry)]
struct Entry {
    /// The mirror.
    flow_name: String,
    /// What happened.
    error_message: String,
    /// How much it matters.
    error_type: LogLevel,
    /// When, in milliseconds since 1970.
    error_timestamp: f64,
    /// Grows with every entry.
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

pub(super) async fn list(
    State(control): State<Control>,
    Input(request): Input<LogsRequest>,
) -> Answered<LogList> {
    let answer = control
        .list_logs(LogRequest {
            mirror: request.flow_job_name,
            level: request.level,
            page: request.page.into(),
            num_per_page: request.num_per_page,
            before_id: request.before_id,
            after_id: request.after_id,
        })
        .await?;
    Ok(Answer(LogList {
        errors: answer.page.entries.into_iter().map(Entry::from).collect(),
        total: u32::try_from(answer.page.total).unwrap_or(u32::MAX),
        page: u32::try_from(answer.number).unwrap_or(u32::MAX),
    }))
}
