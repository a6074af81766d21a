//! Facts about the server.

use tarn_sdk::Failure;

use crate::lsn::Lsn;
use crate::peer::{Peer, number, single, text};
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

/// Where the server's log ends now.
pub(crate) fn current_lsn<P: Peer>(side: &mut Side<P>) -> Result<Lsn, Failure> {
    let row = single(side.read("SELECT pg_current_wal_insert_lsn()")?, "the end of the log")?;
    lsn(&row, 0)
}

/// A column that is a log sequence number.
pub(crate) fn lsn(row: &tarn_sdk::postgres::Row, column: usize) -> Result<Lsn, Failure> {
    let text = text(row, column)?;
    text.parse()
        .map_err(|_| Failure::permanent("postgres_answer", "the server answered with no log position"))
}
