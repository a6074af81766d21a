//! The server as this plugin reaches it: through the host, or in tests through anything else.

use tarn_sdk::postgres::{Error, Row};
use tarn_sdk::{Failure, spool};

/// Opens sessions with one server.
pub trait Peer {
    /// What it opens.
    type Session: Session;

    /// A session for SQL and COPY.
    ///
    /// # Errors
    /// What the server, or the way to it, answered.
    fn open(&self) -> Result<Self::Session, Error>;

    /// A session that speaks the replication protocol too.
    ///
    /// # Errors
    /// What the server, or the way to it, answered.
    fn open_replication(&self) -> Result<Self::Session, Error>;

    /// Where what is too much to hold can be put aside.
    fn spool(&self) -> &impl Spool;
}

/// Bytes put aside in files: the interface `spool` of `wit/v0.1/capabilities.wit`.
#[expect(clippy::missing_errors_doc, reason = "each says that there is no room, or what the disk answered")]
pub trait Spool {
    /// Puts bytes at the end of a file.
    fn append(&self, file: u64, bytes: &[u8]) -> Result<(), spool::Error>;
    /// Bytes of a file from an offset on; empty at its end.
    fn read(&self, file: u64, offset: u64, bytes_max: u32) -> Result<Vec<u8>, spool::Error>;
    /// Gives up a file.
    fn remove(&self, file: u64);
    /// Gives up all files.
    fn clear(&self);
}

/// One connection: the resource `session` of `wit/v0.1/capabilities.wit`, which says what each function
/// promises. Dropping it closes the connection.
#[expect(clippy::missing_errors_doc, reason = "each returns what the server, or the way to it, answered")]
pub trait Session {
    /// Runs SQL or a replication command.
    fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error>;
    /// Starts `COPY … TO STDOUT`.
    fn copy_out(&mut self, sql: &str) -> Result<(), Error>;
    /// The next payloads of the copy; empty at its end.
    fn copy_read(&mut self, bytes_max: u32) -> Result<Vec<u8>, Error>;
    /// Starts `START_REPLICATION`.
    fn stream(&mut self, command: &str) -> Result<(), Error>;
    /// The next messages of the stream.
    fn stream_read(&mut self, bytes_max: u32, wait_ms: u32) -> Result<Vec<u8>, Error>;
    /// Sends a standby status.
    fn stream_confirm(&mut self, written: u64, flushed: u64, applied: u64) -> Result<(), Error>;
}

/// What answers statements that only read: a session as of now, or as of a point that it holds.
pub(crate) trait Reads {
    /// Reads.
    fn read(&mut self, sql: &str) -> Result<Vec<Row>, Error>;
}

/// The server that the host has bound this plugin to.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostPeer;

impl Peer for HostPeer {
    type Session = tarn_sdk::postgres::Session;

    fn open(&self) -> Result<Self::Session, Error> {
        Self::Session::open()
    }

    fn open_replication(&self) -> Result<Self::Session, Error> {
        Self::Session::open_replication()
    }

    fn spool(&self) -> &impl Spool {
        self
    }
}

impl Spool for HostPeer {
    fn append(&self, file: u64, bytes: &[u8]) -> Result<(), spool::Error> {
        spool::append(file, bytes)
    }

    fn read(&self, file: u64, offset: u64, bytes_max: u32) -> Result<Vec<u8>, spool::Error> {
        spool::read(file, offset, bytes_max)
    }

    fn remove(&self, file: u64) {
        spool::remove(file);
    }

    fn clear(&self) {
        spool::clear();
    }
}

impl Session for tarn_sdk::postgres::Session {
    fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        Self::query(self, sql)
    }

    fn copy_out(&mut self, sql: &str) -> Result<(), Error> {
        Self::copy_out(self, sql)
    }

    fn copy_read(&mut self, bytes_max: u32) -> Result<Vec<u8>, Error> {
        Self::copy_read(self, bytes_max)
    }

    fn stream(&mut self, command: &str) -> Result<(), Error> {
        Self::stream(self, command)
    }

    fn stream_read(&mut self, bytes_max: u32, wait_ms: u32) -> Result<Vec<u8>, Error> {
        Self::stream_read(self, bytes_max, wait_ms)
    }

    fn stream_confirm(&mut self, written: u64, flushed: u64, applied: u64) -> Result<(), Error> {
        Self::stream_confirm(self, written, flushed, applied)
    }
}

/// The columns of the only row of an answer.
pub(crate) fn single(rows: Vec<Row>, what: &str) -> Result<Row, Failure> {
    rows.into_iter().next().ok_or_else(|| unexpected(what))
}

/// A column that the statement never leaves NULL.
pub(crate) fn text(row: &Row, column: usize) -> Result<&str, Failure> {
    row.get(column).and_then(Option::as_deref).ok_or_else(|| unexpected("a value"))
}

/// A column that is a number.
pub(crate) fn number<T: std::str::FromStr>(row: &Row, column: usize) -> Result<T, Failure> {
    text(row, column)?.parse().map_err(|_| unexpected("a number"))
}

/// A column that is a boolean; NULL is false.
pub(crate) fn flag(row: &Row, column: usize) -> bool {
    row.get(column).and_then(Option::as_deref) == Some("t")
}

fn unexpected(what: &str) -> Failure {
    Failure::permanent("postgres_answer", format!("the server's catalog did not answer with {what}"))
}
