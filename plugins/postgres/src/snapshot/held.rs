//! A point in time that is held for others to read at.

use tarn_sdk::{Failure, Snapshot};

use crate::peer::{Session, single, text};

/// A session whose open transaction keeps a snapshot alive.
#[derive(Debug)]
pub(crate) struct Held<S> {
    /// Never used again: it is what holds the snapshot.
    _session: S,
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
        let rows = session.query(
            "SELECT pg_catalog.pg_export_snapshot(),
                    pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())",
        )?;
        let row = single(rows, "an exported snapshot")?;
        let snapshot = Snapshot { token: text(&row, 0)?.to_owned(), horizon: text(&row, 1)?.to_owned() };
        Ok(Self { _session: session, snapshot })
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.snapshot.clone()
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
