//! A point in time that is held for others to read at.

use tarn_sdk::postgres::{Error, Row};
use tarn_sdk::{Failure, Snapshot};

use crate::peer::{Reads, Session, single, text};
use crate::server::{LOG_END, lsn};
use crate::side::is_lost;

/// A session whose open transaction keeps a snapshot alive.
#[derive(Debug)]
pub(crate) struct Held<S> {
    /// It holds the snapshot for as long as it lives, and reads at it.
    session: S,
    snapshot: Snapshot,
}

impl<S: Session> Held<S> {
    /// Holds a new point, or that of an exported snapshot. A plain session holds it: unlike the one that
    /// made the slot, it survives being asked something.
    pub(crate) fn new(mut session: S, exported: Option<&str>) -> Result<Self, Failure> {
        session.query(BEGIN)?;
        if let Some(name) = exported {
            adopt(&mut session, name)?;
        }
        let rows = session.query(&format!(
            "SELECT pg_catalog.pg_export_snapshot(),
                    pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot()), {LOG_END}"
        ))?;
        let row = single(rows, "an exported snapshot")?;
        // The stream starts right at an exported point: it brings nothing that the point has.
        let sequence = if exported.is_some() { 0 } else { lsn(&row, 2)?.0 };
        let (token, horizon) = (text(&row, 0)?.to_owned(), text(&row, 1)?.to_owned());
        let snapshot = Snapshot { token, horizon, sequence };
        Ok(Self { session, snapshot })
    }

    /// Reads at the point.
    pub(crate) fn read(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        self.session.query(sql)
    }

    /// Reads at the point what may be refused, and keeps the point where it is.
    pub(crate) fn try_read(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        let outcome = self.session.query(&format!("SAVEPOINT tarn; {sql}; RELEASE SAVEPOINT tarn"));
        if outcome.as_ref().is_err_and(|error| !is_lost(error)) {
            self.session.query("ROLLBACK TO SAVEPOINT tarn; RELEASE SAVEPOINT tarn")?;
        }
        outcome
    }

    /// The last commit that the point may see; 0 where the stream starts right at it.
    pub(crate) fn sequence(&self) -> u64 {
        self.snapshot.sequence
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.snapshot.clone()
    }
}

impl<S: Session> Reads for Held<S> {
    fn read(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        Self::read(self, sql)
    }
}

/// Begins a transaction that sees one point in time.
pub(crate) const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Moves a transaction that has done nothing yet to an exported snapshot.
pub(crate) fn adopt<S: Session>(session: &mut S, name: &str) -> Result<(), Failure> {
    let literal = tarn_sdk::sql::postgres::literal(name);
    match session.query(&format!("SET TRANSACTION SNAPSHOT {literal}")) {
        Ok(_) => Ok(()),
        // Invalid text, or no such snapshot: whoever held it is gone (B221).
        Err(error) if matches!(error.sqlstate.as_str(), "22023" | "42704" | "55000") => {
            Err(Failure::retry("snapshot_lost", "the held snapshot does not exist any more"))
        }
        Err(error) => Err(error.into()),
    }
}
