//! The log people read. It is bounded per mirror, and outlives its mirror.

use sqlx::any::AnyRow;
use sqlx::{Any, Transaction};
use tarn_model::{Enumerated as _, LogEntry, LogLevel, Timestamp};

use crate::config::{LOG_ENTRIES_PER_MIRROR_MAX, LOG_MESSAGE_BYTES_MAX, LOG_TRIM_EVERY};
use crate::database::{integer, next, now, text, unsigned};
use crate::{Catalog, CatalogError};

/// Which entries to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogQuery {
    /// Exactly this mirror; empty for all.
    pub mirror: String,
    /// Exactly this level.
    pub level: Option<LogLevel>,
    /// Only entries before this one.
    pub before: Option<i64>,
    /// Only entries after this one.
    pub after: Option<i64>,
    /// Most entries to return.
    pub limit: u32,
    /// Entries to pass over, counted from the given id, or from the newest.
    pub offset: u64,
}

/// A page of entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPage {
    /// Newest first.
    pub entries: Vec<LogEntry>,
    /// Entries that match mirror and level.
    pub total: u64,
    /// Matching entries that are newer than the first one here.
    pub skipped: u64,
}

impl Catalog {
    /// Appends entries about a mirror, oldest first. A long message is cut.
    ///
    /// # Errors
    /// [`CatalogError::Query`].
    pub async fn log(&self, mirror: &str, entries: &[(LogLevel, String)]) -> Result<(), CatalogError> {
        if entries.is_empty() {
            return Ok(());
        }
        let count = i64::try_from(entries.len()).map_err(|_| CatalogError::Range("a count of entries"))?;
        let mut transaction = self.database().begin().await?;
        let last = next(&mut transaction, "logs", count).await?;
        for (id, (level, message)) in (last - count + 1..).zip(entries) {
            sqlx::query("INSERT INTO logs (id, mirror, level, message, at_us) VALUES ($1, $2, $3, $4, $5)")
                .bind(id)
                .bind(mirror)
                .bind(i64::from(level.number()))
                .bind(shortened(message))
                .bind(now().micros())
                .execute(&mut *transaction)
                .await
                .map_err(CatalogError::query("log entry"))?;
        }
        let first = last - count + 1;
        if (first - 1) / LOG_TRIM_EVERY < last / LOG_TRIM_EVERY {
            trim_since(&mut transaction, (first - 1) / LOG_TRIM_EVERY * LOG_TRIM_EVERY).await?;
        }
        transaction.commit().await.map_err(CatalogError::query("log entry"))
    }

    /// Entries, newest first. With only `after`, those right after it.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn logs(&self, query: &LogQuery) -> Result<LogPage, CatalogError> {
        let total = self.count_logs(query, 0).await?;
        if query.limit == 0 {
            return Ok(LogPage { total, ..LogPage::default() });
        }
        let from_oldest = query.before.is_none() && query.after.is_some();
        let statement = if from_oldest {
            "SELECT id, mirror, level, message, at_us FROM logs
             WHERE ($1 = '' OR mirror = $1) AND ($2 = 0 OR level = $2) AND id < $3 AND id > $4
             ORDER BY id LIMIT $5 OFFSET $6"
        } else {
            "SELECT id, mirror, level, message, at_us FROM logs
             WHERE ($1 = '' OR mirror = $1) AND ($2 = 0 OR level = $2) AND id < $3 AND id > $4
             ORDER BY id DESC LIMIT $5 OFFSET $6"
        };
        let rows = sqlx::query(statement)
            .bind(&query.mirror)
            .bind(level_number(query.level))
            .bind(query.before.unwrap_or(i64::MAX))
            .bind(query.after.unwrap_or(0))
            .bind(i64::from(query.limit))
            .bind(i64::try_from(query.offset).unwrap_or(i64::MAX))
            .fetch_all(self.database().reader())
            .await
            .map_err(CatalogError::query("log list"))?;
        let mut entries = rows.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
        if from_oldest {
            entries.reverse();
        }
        let skipped = match entries.first() {
            Some(first) => self.count_logs(query, first.id).await?,
            None => 0,
        };
        Ok(LogPage { entries, total, skipped })
    }

    /// Names of all mirrors that the log speaks of.
    ///
    /// # Errors
    /// [`CatalogError::Query`].
    pub async fn logged_mirrors(&self) -> Result<Vec<String>, CatalogError> {
        let rows = sqlx::query("SELECT DISTINCT mirror FROM logs ORDER BY mirror")
            .fetch_all(self.database().reader())
            .await
            .map_err(CatalogError::query("log list"))?;
        rows.iter().map(|row| text(row, 0)).collect()
    }

    async fn count_logs(&self, query: &LogQuery, after: i64) -> Result<u64, CatalogError> {
        let row = sqlx::query(
            "SELECT COUNT(*) FROM logs
             WHERE ($1 = '' OR mirror = $1) AND ($2 = 0 OR level = $2) AND id > $3",
        )
        .bind(&query.mirror)
        .bind(level_number(query.level))
        .bind(after)
        .fetch_one(self.database().reader())
        .await
        .map_err(CatalogError::query("log list"))?;
        unsigned(&row, 0)
    }
}

/// Trims the logs of all mirrors that wrote an entry after that one.
async fn trim_since(transaction: &mut Transaction<'static, Any>, id: i64) -> Result<(), CatalogError> {
    let writers = sqlx::query("SELECT DISTINCT mirror FROM logs WHERE id > $1")
        .bind(id)
        .fetch_all(&mut **transaction)
        .await
        .map_err(CatalogError::query("log entry"))?;
    for writer in &writers {
        trim(transaction, &text(writer, 0)?).await?;
    }
    Ok(())
}

async fn trim(transaction: &mut Transaction<'static, Any>, mirror: &str) -> Result<(), CatalogError> {
    sqlx::query(
        "DELETE FROM logs WHERE mirror = $1 AND id <= (SELECT id FROM logs WHERE mirror = $1
             ORDER BY id DESC LIMIT 1 OFFSET $2)",
    )
    .bind(mirror)
    .bind(LOG_ENTRIES_PER_MIRROR_MAX)
    .execute(&mut **transaction)
    .await
    .map_err(CatalogError::query("log entry"))?;
    Ok(())
}

fn level_number(level: Option<LogLevel>) -> i64 {
    level.map_or(0, |level| i64::from(level.number()))
}

fn entry(row: &AnyRow) -> Result<LogEntry, CatalogError> {
    let level = unsigned(row, 2)?;
    let known = LogLevel::from_number(level);
    Ok(LogEntry {
        id: integer(row, 0)?,
        mirror: text(row, 1)?,
        level: known.ok_or(level.to_string()).map_err(CatalogError::content("logs.level"))?,
        message: text(row, 3)?,
        at: Timestamp::from_micros(integer(row, 4)?),
    })
}

/// The message, cut at a character's edge where it is too long. NUL is no text for PostgreSQL.
fn shortened(message: &str) -> String {
    let mut end = message.len().min(LOG_MESSAGE_BYTES_MAX);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    let mut short = message[..end].replace('\0', "\u{fffd}");
    if end < message.len() {
        short.push('…');
    }
    short
}
