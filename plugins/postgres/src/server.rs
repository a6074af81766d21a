//! Facts about the server.

use tarn_sdk::Failure;

use crate::lsn::Lsn;
use crate::peer::{Peer, Reads, flag, number, single, text};
use crate::side::Side;

/// What stays the same while the server runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Server {
    /// Its version text, such as `15.13 (Debian 15.13-0+deb12u1)`.
    pub(crate) version: String,
    /// Its version as a number, such as 150013.
    pub(crate) number: u32,
}

impl Server {
    pub(crate) fn read<P: Peer>(side: &mut Side<P>) -> Result<Self, Failure> {
        let rows =
            side.read("SELECT current_setting('server_version'), current_setting('server_version_num')")?;
        let row = single(rows, "the server's version")?;
        Ok(Self { version: text(&row, 0)?.to_owned(), number: number(&row, 1)? })
    }

    /// Its major version.
    pub(crate) fn major(&self) -> u32 {
        self.number / 10_000
    }
}

/// How far the server's log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogEnd {
    /// Where it ends; on a standby, up to where it was replayed.
    pub(crate) lsn: Lsn,
    /// Whether the server is a standby now. It may be promoted at any time.
    pub(crate) is_standby: bool,
}

/// How far the server's log is now.
pub(crate) fn log_end(reads: &mut impl Reads) -> Result<LogEnd, Failure> {
    let rows = reads.read(&format!("SELECT {LOG_END}, pg_catalog.pg_is_in_recovery()"))?;
    let row = single(rows, "the end of the log")?;
    Ok(LogEnd { lsn: lsn(&row, 0)?, is_standby: flag(&row, 1) })
}

/// The end of the log, in SQL.
pub(crate) const LOG_END: &str = "CASE WHEN pg_catalog.pg_is_in_recovery() \
    THEN pg_catalog.pg_last_wal_replay_lsn() ELSE pg_catalog.pg_current_wal_insert_lsn() END";

/// A column that is a log sequence number.
pub(crate) fn lsn(row: &tarn_sdk::postgres::Row, column: usize) -> Result<Lsn, Failure> {
    let text = text(row, column)?;
    text.parse()
        .map_err(|_| Failure::permanent("postgres_answer", "the server answered with no log position"))
}
