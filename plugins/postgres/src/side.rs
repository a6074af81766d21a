//! The session for SQL beside the stream.

use tarn_sdk::Failure;
use tarn_sdk::postgres::{Error, Row};

use crate::peer::{Peer, Reads, Session};
use crate::snapshot::held::Held;

/// When rows are read that a change left values out of.
#[derive(Debug)]
enum Moment<S> {
    /// Now, for every change: the table's snapshot still runs.
    Now,
    /// At a held point, for the changes that were committed before it.
    Held(Held<S>),
    /// Never again: the stream has passed the point.
    Passed,
}

/// A session that is opened when it is first needed and again after it was lost.
#[derive(Debug)]
pub(crate) struct Side<P: Peer> {
    peer: P,
    session: Option<P::Session>,
    moment: Moment<P::Session>,
}

impl<P: Peer> Side<P> {
    pub(crate) fn new(peer: P) -> Self {
        Self { peer, session: None, moment: Moment::Now }
    }

    pub(crate) fn peer(&self) -> &P {
        &self.peer
    }

    /// Reads the values that changes left out at a held point from now on.
    pub(crate) fn hold_moment(&mut self, held: Held<P::Session>) {
        self.moment = Moment::Held(held);
    }

    /// Whether tables that are said to load do so now, rather than having been loaded at a held point.
    pub(crate) fn is_beside_load(&self) -> bool {
        matches!(self.moment, Moment::Now)
    }

    /// Whether a table has its load behind it, and the stream has passed the point of that. `loading` is what is said of
    /// the table.
    pub(crate) fn is_after_load(&self, loading: bool) -> bool {
        match &self.moment {
            Moment::Now => !loading,
            Moment::Held(_) => false,
            Moment::Passed => true,
        }
    }

    /// Whether values that a change of this commit left out are to be read. The first commit after the
    /// held point lets go of it.
    pub(crate) fn has_moment_for(&mut self, commit: u64) -> bool {
        match &self.moment {
            Moment::Now => true,
            Moment::Held(held) if commit <= held.sequence() => true,
            Moment::Held(_) | Moment::Passed => {
                self.moment = Moment::Passed;
                false
            }
        }
    }

    /// Lets go of the held point once the stream is past it, also where no row was.
    pub(crate) fn pass(&mut self, position: u64) {
        if matches!(&self.moment, Moment::Held(held) if position > held.sequence()) {
            self.moment = Moment::Passed;
        }
    }

    /// Reads at the moment that left out values are read at.
    pub(crate) fn read_then(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        match &mut self.moment {
            Moment::Held(held) => held.try_read(sql),
            Moment::Now | Moment::Passed => self.read(sql),
        }
    }

    /// Reads. Tried once more with a new session where the old one was lost in the meantime.
    pub(crate) fn read(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        let was_open = self.session.is_some();
        match self.run(sql) {
            Err(error) if was_open && is_lost(&error) => self.run(sql),
            outcome => outcome,
        }
    }

    /// Changes something: never tried twice.
    pub(crate) fn run(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        let session = match &mut self.session {
            Some(session) => session,
            none => none.insert(self.peer.open()?),
        };
        let outcome = session.query(sql);
        if outcome.as_ref().is_err_and(is_lost) {
            self.session = None;
        }
        outcome
    }

    /// Waits on the server, for there is no other clock to sleep by.
    pub(crate) fn pause(&mut self, milliseconds: u32) -> Result<(), Failure> {
        self.read(&format!("SELECT pg_sleep({}.{:03})", milliseconds / 1000, milliseconds % 1000))?;
        Ok(())
    }
}

impl<P: Peer> Reads for Side<P> {
    fn read(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        Self::read(self, sql)
    }
}

/// Whether the connection is gone.
pub(crate) fn is_lost(error: &Error) -> bool {
    error.sqlstate.starts_with("08") || error.sqlstate.starts_with("57P")
}
