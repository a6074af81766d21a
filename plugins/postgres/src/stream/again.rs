//! Rows that are read again, beside the stream.
//!
//! What a table's rows got when the server wrote them anew is in no change. So the whole table is read once more, by turns
//! with the stream, and delivered with versions between the transactions before and those after the place where that
//! began ([`version`]). What is read is later than that place, and so are the changes that the stream brings from there on: a
//! row that has changed, gone or come in the meantime has these later versions, whichever of the two arrives first. That is
//! how a load beside the stream comes out right, too.
//!
//! It begins between two transactions, and only where the host knows the columns that the table has: then the stream is not
//! behind a change of them that the rows that are read have in them. Where the stream has not described the table yet, and
//! its columns are those that it had, the host is told of them with the first rows. The statement that looks holds the table's lock from
//! before it reads, so the columns stay until the end. Where the stream has another description or a TRUNCATE before
//! that, the reading is given up and begun again later.
//!
//! Until it has ended, and the stream has passed that end, a change that leaves values out may leave out one that the
//! destination has not, or has of before: it is read from the table as it is now ([`super::loading`]).
//!
//! Nothing of it is kept but that it is due ([`crate::mark::Again`]), in the position: an instance that starts there begins
//! it anew.

use tarn_batch::Version;
use tarn_sdk::postgres::{Error, Row};
use tarn_sdk::{Changes, Description, Failure, Limits, clock, log};

use super::{Relations, Stream};
use crate::attributes::Attributes;
use crate::catalog::{self, Kind};
use crate::config::{AGAIN_LOCK_MS, AGAIN_PAUSE_US};
use crate::fill;
use crate::lsn::Lsn;
use crate::mapped::{Mapped, wanted_types};
use crate::mark::{Again, Marks};
use crate::peer::{Peer, Reads, Session};
use crate::publication;
use crate::server::{Server, log_end};
use crate::settings::{MappedTable, Publication, Settings};
use crate::side::Side;
use crate::snapshot::reader::{Reader, copy_of};
use crate::table_name::TableName;
use crate::type_catalog::Types;

/// The reading that is under way, and when one may begin.
#[derive(Debug)]
pub(super) struct Rereading<S> {
    running: Option<Running<S>>,
    /// Tables that were read to their ends, and how many rows they had, until these are durable.
    ended: Vec<(TableName, u64)>,
    /// When it may be tried, by the growing clock.
    next_us: u64,
    turn: Turn,
}

/// A table that is read again.
#[derive(Debug)]
struct Running<S> {
    table: TableName,
    /// Its number, and the version of its columns.
    id: u32,
    columns: u32,
    reader: Reader<S>,
    rows: u64,
    /// What the host has to be told before the rows.
    description: Option<Description>,
}

/// Whose rows are delivered next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Table,
    Stream,
}

/// A session in a transaction of which each statement sees what is there when it begins.
struct Begun<S>(S);

impl<S: Session> Reads for Begun<S> {
    fn read(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        self.0.query(sql)
    }
}

impl<S> Default for Rereading<S> {
    fn default() -> Self {
        Self { running: None, ended: Vec::new(), next_us: 0, turn: Turn::Table }
    }
}

impl<S> Rereading<S> {
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Whether the next rows are the table's; they are the stream's after that.
    pub(super) fn takes_turn(&mut self) -> bool {
        let turn = self.turn;
        self.turn = if turn == Turn::Table { Turn::Stream } else { Turn::Table };
        self.is_running() && turn == Turn::Table
    }

    /// Tells of the tables whose rows are durable where the stream is durable up to a place with these marks.
    pub(super) fn tell_ended(&mut self, durable: &Marks) {
        self.ended.retain(|(table, rows)| {
            let is_due = durable.get(table).is_some_and(|mark| mark.again == Again::Due);
            if !is_due {
                log::info(&format!("the rows of {table} were read again: {rows}"));
            }
            is_due
        });
    }

    /// Gives the reading up where the stream has emptied its table or described it otherwise: it remains due.
    pub(super) fn heed(&mut self, relations: &mut Relations) {
        let emptied = relations.take_emptied();
        let is_void = self.running.as_ref().is_some_and(|running| {
            emptied.contains(&running.table) || !relations.knows(running.id, running.columns)
        });
        if is_void {
            self.running = None;
        }
    }
}

impl<S: Session> Stream<S> {
    /// The next changes, by turns with the rows of a table that is read again.
    pub(crate) fn read<P: Peer<Session = S>>(
        &mut self,
        side: &mut Side<P>,
        settings: &Settings,
        limits: Limits,
    ) -> Result<Changes, Failure> {
        if self.surroundings.look_after(side, settings, self.decoding.relations.marks_mut())? {
            self.decoding.relations.follow_marks();
        }
        self.begin_again(side, settings)?;
        if self.rereading.takes_turn() {
            return self.read_again(side, limits);
        }
        if !self.rereading.is_running() {
            return self.read_changes(side, settings, limits);
        }
        // What is there, and no waiting for more.
        let changes = self.read_changes(side, settings, Limits { wait_ms: 0, ..limits })?;
        self.rereading.heed(&mut self.decoding.relations);
        if changes.rows > 0 || !changes.schema.is_empty() || !self.rereading.is_running() {
            return Ok(changes);
        }
        self.read_again(side, limits)
    }

    /// Begins to read a table again that is due, if one can be.
    pub(super) fn begin_again<P: Peer<Session = S>>(
        &mut self,
        side: &mut Side<P>,
        settings: &Settings,
    ) -> Result<(), Failure> {
        let now = clock::monotonic();
        if self.rereading.is_running()
            || !self.decoding.is_between()
            || now < self.rereading.next_us
            || !self.decoding.relations.marks().is_any_due()
        {
            return Ok(());
        }
        self.rereading.next_us = now.saturating_add(AGAIN_PAUSE_US);
        let server = self.surroundings.server().clone();
        let end = self.decoding.end;
        for mapping in &settings.tables {
            let mark = self.decoding.relations.marks().get(&mapping.name);
            let Some(oid) = mark.filter(|mark| mark.again == Again::Due).map(|mark| mark.oid) else {
                continue;
            };
            if !side.is_after_load(mapping.loading) {
                continue;
            }
            let relations = &self.decoding.relations;
            match start(side, &server, settings, mapping, oid, end, relations) {
                Ok(Some(running)) => {
                    log::info(&format!("reading the rows of {} again", running.table));
                    let told = running.description.as_ref().map(|description| &description.table);
                    self.decoding.relations.deliver(told);
                    self.rereading.running = Some(running);
                    // What was emptied before this is empty, or has rows that are read.
                    self.decoding.relations.take_emptied();
                    self.rereading.next_us = 0;
                    return Ok(());
                }
                Ok(None) => {}
                // The lock was not to be had, a connection was not: later.
                Err(failure) if failure.class == tarn_sdk::FailureClass::Retry => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    /// The next rows of the table that is read again; none at its end.
    pub(super) fn read_again<P: Peer<Session = S>>(
        &mut self,
        side: &mut Side<P>,
        limits: Limits,
    ) -> Result<Changes, Failure> {
        let mut changes = self.nothing_new();
        let Some(running) = &mut self.rereading.running else { return Ok(changes) };
        changes.schema.extend(running.description.take());
        if let Some(writer) = running.reader.next(limits)? {
            changes.rows = writer.rows();
            running.rows += u64::from(changes.rows);
            changes.batch = writer.finish();
            return Ok(changes);
        }
        // Whatever the reading saw was committed before now.
        let until = log_end(side)?.lsn;
        if let Some(Running { table, rows, .. }) = self.rereading.running.take() {
            self.decoding.relations.mark_again(&table, Again::Until(until));
            self.rereading.ended.push((table, rows));
        }
        Ok(Changes { schema: changes.schema, ..self.nothing_new() })
    }

    /// No rows, and where the stream is.
    fn nothing_new(&self) -> Changes {
        let position = self.decoding.position();
        Changes {
            schema: Vec::new(),
            batch: Vec::new(),
            rows: 0,
            sequence: position.sequence().0,
            position: position.to_bytes(),
        }
    }
}

/// Starts to read a table; nothing where the host does not know its columns.
fn start<P: Peer>(
    side: &mut Side<P>,
    server: &Server,
    settings: &Settings,
    mapping: &MappedTable,
    oid: u32,
    end: Lsn,
    relations: &Relations,
) -> Result<Option<Running<P::Session>>, Failure> {
    let mut session = Begun(side.peer().open()?);
    let name = mapping.name.sql();
    session.read("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY")?;
    session.read(&format!("SET LOCAL lock_timeout = {AGAIN_LOCK_MS}"))?;
    // Reading nothing locks it, and LOCK wants more rights. What follows sees what is there then.
    session.read(&format!("SELECT FROM {name} LIMIT 0")).map_err(passing)?;
    let Some(table) = catalog::tables_named(&mut session, [&mapping.name])?.remove(&mapping.name) else {
        return Ok(None);
    };
    let published = match &settings.publication {
        Publication::Managed(_) => None,
        Publication::Given(given) => publication::tables(&mut session, server, given)?.remove(&mapping.name),
    };
    let mut types = Types::default();
    types.look_up(side, wanted_types(&table, mapping, published.as_ref()))?;
    let mapped = Mapped::from_catalog(&table, mapping, published.as_ref(), &types);
    let (id, columns) = (mapped.table.id, mapped.table.version);
    let numbers: Attributes = mapped.table.columns.iter().map(|column| column.attribute).collect();
    let description = if relations.knew(&mapping.name, id, &numbers) {
        let fills = fill::fills(&mapped.table, &mapped.decoders, &table, &Attributes::default());
        Some(Description { fills, ..mapped.table.clone().into() })
    } else {
        None
    };
    if table.oid != oid || (description.is_none() && !relations.knows(id, columns)) {
        return Ok(None);
    }
    let only = if table.kind == Kind::Partitioned { "" } else { "ONLY " };
    // B170: the stream has only rows that meet it.
    let filter = published.and_then(|published| published.row_filter).map(|filter| format!("({filter})"));
    let conditions: Vec<String> = filter.into_iter().collect();
    let sql = copy_of(&format!("{only}{name}"), &mapped, &conditions);
    let version = version(end, log_end(&mut session)?.lsn);
    let mut reader = Reader::new(session.0);
    reader.open_now(&sql, mapped, version)?;
    Ok(Some(Running { table: mapping.name.clone(), id, columns, reader, rows: 0, description }))
}

/// A table that cannot be looked at now: somebody has its lock, or it is gone, which the stream's own look tells.
fn passing(error: Error) -> Failure {
    Failure::retry("table_not_readable_now", error.message)
}

/// The version of rows that are read again: after every change that ended before `end`, and after the rows of every load,
/// which have small ordinals; before every change that ends later, and after those that were read again before, where the
/// log was shorter.
fn version(end: Lsn, now: Lsn) -> Version {
    Version { commit: end.0.saturating_sub(1), ordinal: (1 << 32) + now.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_after_what_was_before_and_before_what_follows() {
        let read = version(Lsn(100), Lsn(500));
        // The commit record of the transaction that ended there, the rows of a load from there, the next transaction.
        assert!(read > Version { commit: 60, ordinal: 9 });
        assert!(read > Version { commit: 99, ordinal: u64::from(u32::MAX) });
        assert!(read < Version { commit: 100, ordinal: 0 });
        assert!(read < version(Lsn(100), Lsn(508)));
    }
}
