//! Rows that are read again, beside the stream.
//!
//! What a table's rows got when the server wrote them anew is in no change. So the whole table is read once more, by turns
//! with the stream, and delivered with versions between the transactions before and those after the place where that
//! began ([`version`]). What is read is later than that place, and so are the changes that the stream brings from there on: a
//! row that has changed, gone or come in the meantime has these later versions, whichever of the two arrives first. That is
//! how a load beside the stream comes out right, too.
//!
//! It begins between two transactions, behind the change that wrote the rows anew and behind every change of the columns that the
//! rows that are read have ([`super::due`]). Where the host does not know these, it is told of them with the first rows. The statement that looks holds the table's lock from
//! before it reads, so the columns stay until the end. Where the stream has another description or a TRUNCATE before
//! that, or the reading fails, it is given up and begun again later: the stream goes on.
//!
//! Until it has ended, and the stream has passed that end, a change that leaves values out may leave out one that the
//! destination has not, or has of before: it is read from the table as it is now ([`super::loading`]).
//!
//! A mirror that reads no rows again ([`Rereads::LeftOut`]) does this one thing, and from there on: what the destination has
//! of such a value may be from before, in the type from before, or nothing.
//!
//! Nothing of it is kept but that it is due ([`crate::mark::Again`]), in the position: an instance that starts there begins
//! it anew.

use tarn_batch::Version;
use tarn_sdk::postgres::{Error, Row};
use tarn_sdk::{Changes, Description, Failure, Limits, Rereads, clock, log};

use super::due::Due;
use super::{Relations, Stream};
use crate::attributes::Attributes;
use crate::catalog::{self, CatalogTable, Kind};
use crate::config::AGAIN_LOCK_MS;
use crate::excluded::require_there;
use crate::fill;
use crate::lsn::Lsn;
use crate::mapped::{Mapped, wanted_types};
use crate::mark::{Again, Mark, Marks};
use crate::partitions;
use crate::peer::{Peer, Reads, Session};
use crate::publication::{self, PublishedTable};
use crate::server::{Server, log_end};
use crate::settings::{MappedTable, Publication, Settings};
use crate::side::Side;
use crate::snapshot::reader::{Reader, copy_of};
use crate::surroundings::changed;
use crate::table_name::TableName;
use crate::type_catalog::Types;

/// The reading that is under way, and when one may begin.
#[derive(Debug)]
pub(super) struct Rereading<S> {
    running: Option<Running<S>>,
    /// Tables that were read to their ends, and how many rows they had, until these are durable.
    ended: Vec<(TableName, u64)>,
    due: Due,
    turn: Turn,
}

/// A table that is read again.
#[derive(Debug)]
struct Running<S> {
    table: TableName,
    /// Its number, and the version of its columns.
    id: u32,
    columns: u32,
    /// How many times it was noticed to be due when it began.
    noticed: u32,
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
        Self { running: None, ended: Vec::new(), due: Due::default(), turn: Turn::Table }
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

    /// Notes of which tables the host is told columns: one that waits for that can be read now.
    fn note_described(&mut self, schema: &[Description]) {
        for Description { table, .. } in schema {
            self.due.hurry(&TableName::new(table.schema.as_str(), table.name.as_str()));
        }
    }

    /// Notes that a table cannot be read now, and says why, once.
    fn delay(&mut self, table: &TableName, now: u64, failure: &Failure) {
        if self.due.delay(table, now, &failure.message) {
            log::warn(&format!(
                "the rows of {table} cannot be read again now, which is tried again: {}",
                failure.message
            ));
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
        let relations = &mut self.decoding.relations;
        if let Some(tables) = self.surroundings.look_after(side, settings, relations.marks_mut())? {
            relations.follow_marks();
            self.unnamed.see(&tables, relations.marks(), || Ok(log_end(side)?.lsn))?;
        }
        self.unnamed.take(relations.marks_mut(), self.decoding.end);
        self.begin_again(side, settings)?;
        if self.rereading.takes_turn() {
            return self.read_again(side, limits);
        }
        if !self.rereading.is_running() {
            let changes = self.read_changes(side, settings, limits)?;
            self.rereading.note_described(&changes.schema);
            return Ok(changes);
        }
        // What is there, and no waiting for more.
        let changes = self.read_changes(side, settings, Limits { wait_ms: 0, ..limits })?;
        self.rereading.heed(&mut self.decoding.relations);
        self.rereading.note_described(&changes.schema);
        if changes.rows > 0 || !changes.schema.is_empty() || !self.rereading.is_running() {
            return Ok(changes);
        }
        self.read_again(side, limits)
    }

    /// Begins to read a table again that is due, if one can be: one attempt, so that the stream does not wait long.
    fn begin_again<P: Peer<Session = S>>(
        &mut self,
        side: &mut Side<P>,
        settings: &Settings,
    ) -> Result<(), Failure> {
        let now = clock::monotonic();
        if settings.rereads != Rereads::All
            || self.rereading.is_running()
            || !self.decoding.is_between()
            || !self.decoding.relations.marks().is_any_due()
            || !self.rereading.due.is_time(now)
        {
            return Ok(());
        }
        let (end, relations) = (self.decoding.end, &self.decoding.relations);
        let due = &mut self.rereading.due;
        let mut first: Option<(u64, &MappedTable, &Mark)> = None;
        for mapping in &settings.tables {
            let Some(mark) = relations.marks().get(&mapping.name).filter(|mark| mark.again == Again::Due)
            else {
                continue;
            };
            due.note(&mapping.name, mark, || Ok(log_end(side)?.lsn))?;
            let turn = due.turn_of(&mapping.name, end, now).filter(|_| side.is_after_load(mapping.loading));
            if let Some(turn) = turn
                && first.is_none_or(|(other, ..)| turn < other)
            {
                first = Some((turn, mapping, mark));
            }
        }
        let Some((_, mapping, mark)) = first else { return Ok(()) };
        let (server, columns) = (self.surroundings.server(), due.columns_of(&mapping.name));
        let attempt = Attempt { server, settings, mapping, mark, end, columns, relations };
        match attempt.start(side) {
            Ok(running) => {
                log::info(&format!("reading the rows of {} again", running.table));
                let told = running.description.as_ref().map(|description| &description.table);
                due.begin(&running.table);
                self.decoding.relations.begin_reading(running.id, told);
                self.rereading.running = Some(running);
                // What was emptied before this is empty, or has rows that are read.
                self.decoding.relations.take_emptied();
            }
            Err(NotNow::Columns(version)) => due.await_columns(&mapping.name, version, log_end(side)?.lsn),
            Err(NotNow::Failed(failure)) => self.rereading.delay(&mapping.name, now, &failure),
        }
        Ok(())
    }

    /// The next rows of the table that is read again; none at its end.
    fn read_again<P: Peer<Session = S>>(
        &mut self,
        side: &mut Side<P>,
        limits: Limits,
    ) -> Result<Changes, Failure> {
        let mut changes = self.nothing_new();
        let Some(running) = &mut self.rereading.running else { return Ok(changes) };
        changes.schema.extend(running.description.take());
        match running.reader.next(limits) {
            Ok(Some(writer)) => {
                changes.rows = writer.rows();
                running.rows += u64::from(changes.rows);
                changes.batch = writer.finish();
            }
            Ok(None) => {
                // Whatever the reading saw was committed before now.
                let until = log_end(side)?.lsn;
                self.end_again(until);
                changes.position = self.decoding.position();
            }
            // The session was lost, or was ended by a limit or a standby: nothing of that concerns the stream.
            Err(failure) if failure.class == tarn_sdk::FailureClass::Retry => {
                let table = running.table.clone();
                self.rereading.running = None;
                if let Some(mark) = self.decoding.relations.marks().get(&table) {
                    self.rereading.due.note(&table, mark, || Ok(log_end(side)?.lsn))?;
                }
                self.rereading.delay(&table, clock::monotonic(), &failure);
            }
            Err(failure) => return Err(failure),
        }
        Ok(changes)
    }

    /// Notes that all rows of the table were read, unless it was noticed meanwhile that there are others.
    fn end_again(&mut self, until: Lsn) {
        let Some(Running { table, rows, noticed, .. }) = self.rereading.running.take() else { return };
        let relations = &mut self.decoding.relations;
        if relations.marks().get(&table).is_some_and(|mark| mark.noticed == noticed) {
            relations.mark_read(&table, until);
            self.rereading.ended.push((table, rows));
        }
    }

    /// No rows, and where the stream is.
    fn nothing_new(&mut self) -> Changes {
        Changes {
            schema: Vec::new(),
            batch: Vec::new(),
            rows: 0,
            sequence: self.decoding.place().sequence().0,
            position: self.decoding.position(),
        }
    }
}

/// What it takes to begin.
struct Attempt<'a> {
    server: &'a Server,
    settings: &'a Settings,
    mapping: &'a MappedTable,
    mark: &'a Mark,
    /// Where the stream is.
    end: Lsn,
    /// The version of its columns that the stream has every change before.
    columns: Option<u32>,
    relations: &'a Relations,
}

/// Why a table cannot be read now.
enum NotNow {
    /// The stream may be behind a change of its columns, which are of this version.
    Columns(u32),
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for NotNow {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// A table as it is read.
struct Ready {
    mapped: Mapped,
    kind: Kind,
    /// What the host has to be told before the rows.
    description: Option<Description>,
}

impl Attempt<'_> {
    /// Starts to read the table.
    ///
    /// # Errors
    /// Why it cannot be read now.
    fn start<P: Peer>(&self, side: &mut Side<P>) -> Result<Running<P::Session>, NotNow> {
        // Without a connection and a lock of its own, for it may be long until it can be read.
        let found = self.look(side)?;
        self.ready(side, found)?;
        let mut session = Begun(side.peer().open()?);
        let name = self.mapping.name.sql();
        session.read("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY")?;
        session.read(&format!("SET LOCAL lock_timeout = {AGAIN_LOCK_MS}"))?;
        // Reading nothing locks it, and LOCK wants more rights. What follows sees what is there then.
        session.read(&format!("SELECT FROM {name} LIMIT 0"))?;
        let found = self.look(&mut session)?;
        let publication = self.settings.publication.name();
        let row_filter = publication::row_filter(&mut session, publication, found.0.oid, found.1.as_ref())?;
        let Ready { mapped, kind, description } = self.ready(side, found)?;
        let (id, columns) = (mapped.table.id, mapped.table.version);
        // B170: the stream has only rows that meet it.
        let conditions: Vec<String> = row_filter.map(|filter| format!("({filter})")).into_iter().collect();
        let only = if kind == Kind::Partitioned { "" } else { "ONLY " };
        // A filter may want columns that are not read.
        let relation = match conditions.is_empty() && !self.mark.partitions.is_empty() {
            true => partitions::rows_of(&mut session, self.mark.oid, &self.mark.partitions, &mapped)?,
            false => format!("{only}{name}"),
        };
        let sql = copy_of(&relation, &mapped, &conditions);
        let version = version(self.end, log_end(&mut session)?.lsn);
        let mut reader = Reader::new(session.0);
        reader.open_now(&sql, mapped, version)?;
        let (table, noticed) = (self.mapping.name.clone(), self.mark.noticed);
        Ok(Running { table, id, columns, noticed, reader, rows: 0, description })
    }

    /// The table in the catalog, and in the publication where that may leave something out.
    fn look(&self, reads: &mut impl Reads) -> Result<(CatalogTable, Option<PublishedTable>), Failure> {
        let name = &self.mapping.name;
        let table = catalog::tables_named(reads, [name])?.remove(name);
        let gone = || Failure::retry("table_gone", "it is not there");
        let published = match &self.settings.publication {
            Publication::Managed(_) => None,
            Publication::Given(given) => publication::tables(reads, self.server, given)?.remove(name),
        };
        Ok((table.ok_or_else(gone)?, published))
    }

    /// What is read of the table, if it is the one that was noticed and the host knows its columns.
    fn ready<P: Peer>(
        &self,
        side: &mut Side<P>,
        (table, published): (CatalogTable, Option<PublishedTable>),
    ) -> Result<Ready, NotNow> {
        // Partitions of a table come and go all the time; what was written anew in between is noticed, and read after this.
        let is_same_file = table.kind == Kind::Partitioned || table.file == self.mark.file;
        if table.oid != self.mark.oid || !is_same_file {
            return Err(changed("it was written anew once more").into());
        }
        let mut types = Types::default();
        types.look_up(side, wanted_types(&table, self.mapping, published.as_ref()))?;
        let mapped = Mapped::from_catalog(&table, self.mapping, published.as_ref(), &types);
        require_there(self.mapping, &table, &self.mark.columns, &mapped.table)?;
        let numbers: Attributes = mapped.table.columns.iter().map(|column| column.attribute).collect();
        let version = mapped.table.version;
        let description = if self.relations.knows(mapped.table.id, version) {
            None
        } else if self.columns == Some(version)
            || self.relations.knew(&self.mapping.name, mapped.table.id, &numbers)
        {
            let fills = fill::fills(&mapped.table, &mapped.decoders, &table, &Attributes::default());
            Some(Description { fills, ..mapped.table.clone().into() })
        } else {
            return Err(NotNow::Columns(version));
        };
        Ok(Ready { mapped, kind: table.kind, description })
    }
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
