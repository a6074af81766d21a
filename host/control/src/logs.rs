//! Logs: what happened to mirrors, dropped ones included.

use tarn_catalog::{LogPage, LogQuery};
use tarn_model::{Enumerated as _, LogLevel};

use crate::config::LOG_PAGE_MAX;
use crate::{Control, ControlError};

/// What a client asks of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogRequest {
    /// Exactly this mirror; empty for all.
    pub mirror: String,
    /// `ALL`, `INFO`, `WARN`, `ERROR` in any case; empty for all.
    pub level: String,
    /// From 1; 0 counts as 1. Pages count from the given id, else from the newest entry.
    pub page: i64,
    /// 0 returns the total only.
    pub num_per_page: i64,
    /// Only entries before this one; 0 or less is no filter.
    pub before_id: i64,
    /// Only entries after this one; 0 or less is no filter.
    pub after_id: i64,
}

/// A page of the log with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogAnswer {
    /// The entries and their total.
    pub page: LogPage,
    /// The page's number, from 1.
    pub number: u64,
}

impl Control {
    /// A page of the log, newest entry first.
    ///
    /// # Errors
    /// [`ControlError::InvalidArgument`] for level and numbers; [`ControlError::Catalog`].
    pub async fn list_logs(&self, request: LogRequest) -> Result<LogAnswer, ControlError> {
        let level = level(&request.level)?;
        let limit = u64::try_from(request.num_per_page)
            .map_err(|_| ControlError::invalid("num_per_page", "must not be negative"))?;
        let limit = u32::try_from(limit).unwrap_or(u32::MAX).min(LOG_PAGE_MAX);
        let asked =
            u64::try_from(request.page).map_err(|_| ControlError::invalid("page", "must not be negative"))?;
        let query = LogQuery {
            mirror: request.mirror,
            level,
            before: Some(request.before_id).filter(|id| *id > 0),
            after: Some(request.after_id).filter(|id| *id > 0),
            limit,
            offset: asked.saturating_sub(1).saturating_mul(u64::from(limit)),
        };
        let page = self.catalog().logs(&query).await?;
        // Without a page asked for, it is the one that the first entry falls on.
        let number = match asked {
            0 => page.skipped.checked_div(u64::from(limit)).unwrap_or(0) + 1,
            asked => asked,
        };
        Ok(LogAnswer { page, number })
    }
}

fn level(text: &str) -> Result<Option<LogLevel>, ControlError> {
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        "" | "all" => Ok(None),
        other => match LogLevel::from_name(other) {
            Some(level) => Ok(Some(level)),
            None => Err(ControlError::invalid("level", "must be ALL, INFO, WARN or ERROR")),
        },
    }
}
