//! The stream: from the walsender's messages to batches.
//!
//! Transactions come whole and in the order of their commits, or are put aside until they commit
//! ([`in_progress`]). A row's version is the place of its
//! transaction's commit record and its number within the transaction, so that replaying gives the same
//! versions. Memory holds one read of the stream and one batch, whatever the size of a transaction:
//! batches are cut anywhere, and [`crate::position`] says how the rest is found again.

mod again;
mod ahead;
mod asked;
mod deferred;
mod described;
mod doubt;
mod due;
mod history;
pub(crate) mod identity;
mod in_progress;
mod joined;
mod leaf;
mod loading;
mod logged;
mod numbers;
mod outgoing;
mod relation_records;
mod relations;
mod replicated;
mod required;
mod rows;
mod stored;
mod succession;
mod unnamed;
mod visibility;

use tarn_batch::{BatchWriter, Op, RowHeader, Version};
use tarn_sdk::{Changes, Failure, Limits, clock, log};

use crate::cluster::Cluster;
use crate::config::{PAUSE_MS, READ_BYTES_MAX, batch_room};
use crate::lsn::Lsn;
use crate::peer::{Peer, Session};
use crate::pgoutput::{
    Frame, Message, Old, Relation, Tuple, ends_block, frame, message, message_in_progress, split_frame,
};
use crate::position::{Partial, Place, Position};
use crate::settings::Settings;
use crate::side::Side;
use crate::slot;
use crate::surroundings::Surroundings;
use crate::type_catalog::Types;
use again::Rereading;
use deferred::Deferred;
use history::History;
use in_progress::{Committed, InProgress};
use loading::{Found, When};
use outgoing::Outgoing;
use relations::Learned;
pub(crate) use relations::Relations;
pub(crate) use succession::compare;
use unnamed::Unnamed;

/// An open stream.
#[derive(Debug)]
pub(crate) struct Stream<S> {
    session: S,
    /// What was read, and how much of it was taken.
    inbox: Vec<u8>,
    taken: usize,
    decoding: Decoding,
    confirmed: Lsn,
    surroundings: Surroundings,
    rereading: Rereading<S>,
    unnamed: Unnamed,
    /// The transaction whose TRUNCATE was last told to wait.
    told_to_wait: Option<Lsn>,
}

/// What is known of the stream up to here.
#[derive(Debug)]
struct Decoding {
    cluster: Cluster,
    /// The end of the last complete transaction, or later where nothing replicated follows it.
    end: Lsn,
    transaction: Option<Transaction>,
    /// A transaction of which an earlier instance delivered a part, until it comes again.
    resume: Option<Partial>,
    history: History,
    in_progress: InProgress,
    /// The transaction that is read back: it comes before what is in the inbox.
    committed: Option<Committed>,
    deferred: Deferred,
    relations: Relations,
    types: Types,
}

/// The transaction that is coming in.
#[derive(Debug, Clone, Copy)]
struct Transaction {
    commit: Lsn,
    commit_time_us: i64,
    number: u32,
    /// Rows of it that came.
    rows: u64,
    /// Messages of the log in it that came.
    messages: u64,
    /// Rows of mapped tables that were delivered of it.
    replicated: u64,
    /// What of it was delivered before.
    before: Partial,
}

impl Transaction {
    /// What a row of it says before its cells.
    fn header(&self, op: Op, ordinal: u64) -> RowHeader {
        RowHeader {
            op,
            version: Version { commit: self.commit.0, ordinal },
            commit_time_us: self.commit_time_us,
            transaction: u64::from(self.number),
        }
    }
}

/// Whether what comes was delivered before, as a part of the transaction that the position is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Again,
    First,
}

/// A row as it came.
#[derive(Debug, Clone, Copy)]
struct Change<'a> {
    op: Op,
    new: Option<Tuple<'a>>,
    old: Old<'a>,
}

impl Change<'_> {
    /// The delete of the row that this change found.
    fn as_delete(&self) -> Self {
        let old = match (self.old, self.new) {
            (Old::None, Some(new)) => Old::Key(new),
            (old, _) => old,
        };
        Self { op: Op::Delete, new: None, old }
    }
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Taken,
    /// It belongs into the next batch.
    Left,
    /// It is a TRUNCATE of a table that still loads.
    Waits,
}

/// What is left of what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inbox {
    /// Nothing.
    Empty,
    /// What belongs into the next batch.
    NextBatch,
    /// What must not be taken yet.
    Waiting,
}

impl<S: Session> Stream<S> {
    /// A stream that was started for a position, and begins at `begins`.
    pub(crate) fn new(
        session: S,
        cluster: Cluster,
        place: Place,
        begins: Lsn,
        relations: Relations,
        surroundings: Surroundings,
    ) -> Self {
        let Place { end, partial, past, .. } = place;
        let decoding = Decoding {
            cluster,
            end,
            transaction: None,
            resume: partial,
            history: History::new(past, begins),
            in_progress: InProgress::default(),
            committed: None,
            deferred: Deferred::default(),
            relations,
            types: Types::default(),
        };
        Self {
            session,
            inbox: Vec::new(),
            taken: 0,
            decoding,
            confirmed: Lsn(0),
            surroundings,
            rereading: Rereading::default(),
            unnamed: Unnamed::default(),
            told_to_wait: None,
        }
    }

    /// The next changes. Waits for a first row; what else is delivered moves the position meanwhile.
    fn read_changes<P: Peer>(
        &mut self,
        side: &mut Side<P>,
        settings: &Settings,
        limits: Limits,
    ) -> Result<Changes, Failure> {
        let until = clock::monotonic().saturating_add(u64::from(limits.wait_ms) * 1000);
        let mut out = self.outgoing(limits);
        loop {
            let inbox = self.take(side, settings, &mut out)?;
            if out.writer.rows() > 0 {
                break;
            }
            if inbox == Inbox::Waiting {
                self.tell_to_wait();
                side.pause(limits.wait_ms.min(PAUSE_MS))?;
                break;
            }
            debug_assert_eq!(inbox, Inbox::Empty, "only a full batch leaves messages behind");
            let left_ms = until.saturating_sub(clock::monotonic()).div_ceil(1000);
            let wait_ms = u32::try_from(left_ms).unwrap_or(limits.wait_ms).min(limits.wait_ms);
            let bytes_max = limits.bytes_max.clamp(1, READ_BYTES_MAX);
            // A large row is not held beside the next one.
            self.inbox = Vec::new();
            self.inbox = self
                .session
                .stream_read(bytes_max, wait_ms)
                .map_err(|error| slot::stream_failure(side, error, settings))?;
            self.taken = 0;
            if self.inbox.len() > limits.bytes_max as usize {
                out.writer.make_room(batch_room(0, self.inbox.len(), limits.bytes_max));
            }
            if self.inbox.is_empty() {
                break;
            }
            if left_ms == 0 {
                // Waiting is over, but what has come is delivered.
                self.take(side, settings, &mut out)?;
                break;
            }
        }
        let sequence = self.decoding.place().sequence().0;
        side.pass(sequence);
        let rows = out.writer.rows();
        Ok(Changes {
            schema: out.schema,
            batch: if rows == 0 { Vec::new() } else { out.writer.finish() },
            rows,
            sequence,
            position: self.decoding.position(),
        })
    }

    /// Everything delivered so far is before this position.
    pub(crate) fn position(&mut self) -> Vec<u8> {
        self.decoding.position()
    }

    /// Lets the server forget what is before a position.
    pub(crate) fn confirm(&mut self, position: &Position) -> Result<(), Failure> {
        // The end of complete transactions: one that is delivered in part must be sent again.
        // Never backward, for older servers would follow.
        self.confirmed = self.confirmed.max(position.place.end);
        self.rereading.tell_ended(&position.marks);
        if self.decoding.history.is_in_doubt() {
            return Ok(());
        }
        let Lsn(end) = self.confirmed;
        Ok(self.session.stream_confirm(end, end, end)?)
    }

    fn outgoing(&mut self, limits: Limits) -> Outgoing {
        let waiting = self.inbox.len() - self.taken;
        let capacity = batch_room(waiting + waiting / 4, waiting, limits.bytes_max);
        Outgoing {
            generation: self.decoding.relations.next_generation(),
            writer: BatchWriter::with_capacity(capacity),
            schema: Vec::new(),
            log: None,
            limits,
        }
    }

    /// Takes messages until the batch is full or none are left. A message that cannot be taken waits for
    /// the next read where rows are before it: they go out first, and the position is right before it.
    fn take<P: Peer>(
        &mut self,
        side: &mut Side<P>,
        settings: &Settings,
        out: &mut Outgoing,
    ) -> Result<Inbox, Failure> {
        while !out.is_full() {
            let before = self.decoding.transaction;
            let told = out.schema.len();
            let step = if self.decoding.committed.is_some() {
                self.decoding.read_back(side, settings, out)
            } else {
                let Some((payload, _)) = split_frame(&self.inbox[self.taken..]) else {
                    return Ok(Inbox::Empty);
                };
                let step = self.decoding.apply(payload, side, settings, out);
                if matches!(step, Ok(Step::Taken)) {
                    self.taken += 4 + payload.len();
                }
                step
            };
            if matches!(step, Ok(Step::Taken)) && out.schema.len() > told {
                self.decoding.describe_ahead(&self.inbox[self.taken..], side, settings, out);
            }
            match step {
                Ok(Step::Taken) => {}
                Ok(Step::Left) => return Ok(Inbox::NextBatch),
                Ok(Step::Waits) => return Ok(Inbox::Waiting),
                Err(failure) => {
                    self.decoding.transaction = before;
                    return if out.writer.rows() > 0 { Ok(Inbox::NextBatch) } else { Err(failure) };
                }
            }
        }
        Ok(Inbox::NextBatch)
    }

    /// Says once what the stream waits for.
    fn tell_to_wait(&mut self) {
        let commit = self.decoding.transaction.map(|transaction| transaction.commit);
        if self.told_to_wait != commit {
            self.told_to_wait = commit;
            log::warn(
                "a table that still loads was truncated: changes of all tables wait until the load is complete, \
                 so that no row it read before comes back",
            );
        }
    }
}

impl Decoding {
    /// Whether the stream is between two transactions.
    fn is_between(&self) -> bool {
        self.transaction.is_none() && self.committed.is_none() && self.resume.is_none()
    }

    /// Where the stream is.
    fn place(&self) -> Place {
        let begun = |transaction: &Transaction| Partial {
            commit: transaction.commit,
            rows: transaction.rows.max(transaction.before.rows),
            messages: transaction.messages.max(transaction.before.messages),
        };
        let partial = match &self.transaction {
            Some(transaction) if !self.is_passing() => Some(begun(transaction)).filter(Partial::is_begun),
            _ => self.resume,
        };
        Place { cluster: self.cluster, end: self.end, partial, past: self.history.past() }
    }

    /// The position of it.
    fn position(&mut self) -> Vec<u8> {
        let place = self.place();
        place.to_bytes_with(self.relations.marks_mut().written(place.end))
    }

    fn apply<P: Peer>(
        &mut self,
        payload: &[u8],
        side: &mut Side<P>,
        settings: &Settings,
        out: &mut Outgoing,
    ) -> Result<Step, Failure> {
        let data = match frame(payload)? {
            Frame::Data(data) => data,
            Frame::Keepalive { end } => {
                self.advance(Lsn(end))?;
                return Ok(Step::Taken);
            }
        };
        if self.in_progress.is_in_block() && !ends_block(data) {
            self.in_progress.put(data, side.peer().spool())?;
            return Ok(Step::Taken);
        }
        let message = message(data)?;
        if self.is_passing() && self.passes(&message) {
            return Ok(Step::Taken);
        }
        self.take_message(message, side, settings, out)
    }

    /// Takes the next message of a transaction that is read back.
    fn read_back<P: Peer>(
        &mut self,
        side: &mut Side<P>,
        settings: &Settings,
        out: &mut Outgoing,
    ) -> Result<Step, Failure> {
        let Some(mut committed) = self.committed.take() else { return Ok(Step::Taken) };
        match committed.fill(side.peer().spool()) {
            Ok(true) => {}
            Ok(false) => {
                let ended = self.end(committed.end);
                committed.forget(side.peer().spool());
                return ended.map(|()| Step::Taken);
            }
            Err(failure) => {
                self.committed = Some(committed);
                return Err(failure);
            }
        }
        let step = match message_in_progress(committed.message()) {
            Ok((part, message))
                if (committed.is_undone(part) || self.is_passing()) && self.passes(&message) =>
            {
                Ok(Step::Taken)
            }
            Ok((_, message)) => self.take_message(message, side, settings, out),
            Err(damaged) => Err(damaged.into()),
        };
        if matches!(step, Ok(Step::Taken)) {
            committed.pass();
        }
        self.committed = Some(committed);
        step
    }

    fn take_message<P: Peer>(
        &mut self,
        message: Message<'_>,
        side: &mut Side<P>,
        settings: &Settings,
        out: &mut Outgoing,
    ) -> Result<Step, Failure> {
        if !self.deferred.is_empty() && self.describe_deferred(&message, side, settings, out)? == Step::Left {
            return Ok(Step::Left);
        }
        match message {
            Message::Insert { relation, new } => {
                self.row(relation, &Change { op: Op::Insert, new: Some(new), old: Old::None }, side, out)?;
            }
            Message::Update { relation, old, new } => {
                self.row(relation, &Change { op: Op::Update, new: Some(new), old }, side, out)?;
            }
            Message::Delete { relation, old } => {
                self.row(relation, &Change { op: Op::Delete, new: None, old }, side, out)?;
            }
            Message::Begin { commit, commit_time_us, transaction } => {
                self.begin(Lsn(commit), commit_time_us, transaction);
            }
            Message::Commit { end } => self.end(Lsn(end))?,
            Message::Relation(relation) => return self.describe(relation, side, settings, out),
            Message::Type { oid } => self.types.forget(oid),
            Message::Truncate { relations } if self.waits_for_load(relations, side)? => {
                return Ok(Step::Waits);
            }
            Message::Truncate { relations } => self.truncate(relations, out)?,
            Message::Logged(logged) => self.logged(&logged, out)?,
            Message::StreamStart { transaction } => self.in_progress.start(transaction),
            Message::StreamStop => self.in_progress.stop(side.peer().spool())?,
            Message::StreamCommit { transaction, commit, end, commit_time_us } => {
                self.begin(Lsn(commit), commit_time_us, transaction);
                self.committed = Some(self.in_progress.commit(transaction, Lsn(end)));
            }
            Message::StreamAbort { transaction, part } => {
                self.in_progress.abort(transaction, part, side.peer().spool())?;
            }
            Message::Other => {}
        }
        Ok(Step::Taken)
    }

    fn describe<P: Peer>(
        &mut self,
        relation: Relation<'_>,
        side: &mut Side<P>,
        settings: &Settings,
        out: &mut Outgoing,
    ) -> Result<Step, Failure> {
        let (oid, turn) = (relation.oid, self.turn());
        let (transaction, types) = (self.transaction, &mut self.types);
        let learned = self.relations.learn(relation, turn, transaction, side, settings, types)?;
        self.deferred.doubt(&relation, self.relations.is_in_doubt(&learned, oid));
        if let Learned::Changed(changed) = learned {
            if out.writer.rows() > 0 {
                return Ok(Step::Left);
            }
            out.schema.retain(|described| described.table.id != changed.table().id);
            out.schema.push(changed.description());
            self.relations.keep(changed, turn);
        }
        self.relation_record(oid, turn, settings.relations, out)?;
        Ok(Step::Taken)
    }

    fn turn(&self) -> Turn {
        match &self.transaction {
            Some(transaction) if transaction.rows < transaction.before.rows => Turn::Again,
            _ => Turn::First,
        }
    }

    /// Counts a row; its header, unless it was delivered before.
    fn count(&mut self, op: Op) -> Result<Option<RowHeader>, Failure> {
        let transaction = self.transaction.as_mut().ok_or_else(outside_of_transaction)?;
        let ordinal = transaction.rows;
        transaction.rows += 1;
        let is_new = ordinal >= transaction.before.rows;
        Ok(is_new.then(|| transaction.header(op, ordinal)))
    }

    fn row<P: Peer>(
        &mut self,
        relation: u32,
        change: &Change<'_>,
        side: &mut Side<P>,
        out: &mut Outgoing,
    ) -> Result<(), Failure> {
        let Some(header) = self.count(change.op)? else { return Ok(()) };
        let Some(replicated) = self.relations.get(relation)? else { return Ok(()) };
        if replicated.is_loaded_with(header.transaction as u32, Lsn(header.version.commit)) {
            return Ok(());
        }
        if let Some(transaction) = self.transaction.as_mut().filter(|_| !replicated.is_loading()) {
            transaction.replicated += 1;
        }
        let found = match change.new {
            Some(new) if replicated.lacks(Lsn(header.version.commit)) => {
                loading::fetch(side, When::Now, replicated, new, change.old)?
            }
            Some(new)
                if replicated.may_lack(Lsn(header.version.commit))
                    && side.has_moment_for(header.version.commit) =>
            {
                loading::fetch(side, When::Then, replicated, new, change.old)?
            }
            _ => Found::Values(Vec::new()),
        };
        match found {
            Found::Values(fetched) => rows::write(out, replicated, &header, change, &fetched),
            Found::Gone => {
                let header = RowHeader { op: Op::Delete, ..header };
                rows::write(out, replicated, &header, &change.as_delete(), &[])
            }
        }
    }

    /// Whether a table that was truncated loads beside this stream. Its workers may hold rows that they read
    /// before; written after the destination was emptied, these would stay. Once the load has ended they are
    /// all there, and all go.
    fn waits_for_load<P: Peer>(&mut self, relations: &[u8], side: &Side<P>) -> Result<bool, Failure> {
        let Some(Transaction { number, commit, .. }) = self.transaction else { return Ok(false) };
        for oid in oids(relations) {
            let loads = self.relations.get(oid)?.is_some_and(|replicated| {
                replicated.is_loading() && !replicated.is_loaded_with(number, commit)
            });
            if loads && side.is_beside_load() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn truncate(&mut self, relations: &[u8], out: &mut Outgoing) -> Result<(), Failure> {
        let relations = oids(relations);
        // All or nothing: the message is not taken in part.
        for oid in relations.clone() {
            if let Some(replicated) = self.relations.get(oid)? {
                replicated.refuse_partial_truncate()?;
            }
        }
        for oid in relations {
            let Some(header) = self.count(Op::Truncate)? else { continue };
            let Some(replicated) = self.relations.get(oid)? else { continue };
            if replicated.is_loaded_with(header.transaction as u32, Lsn(header.version.commit)) {
                continue;
            }
            let table = replicated.index_in(out);
            let name = replicated.name();
            out.writer.begin_row(table, &header);
            out.writer.end_row();
            self.relations.note_emptied(name);
        }
        Ok(())
    }
}

/// The numbers of the relations that a TRUNCATE names.
fn oids(relations: &[u8]) -> impl Iterator<Item = u32> + Clone + use<'_> {
    relations.as_chunks::<4>().0.iter().map(|oid| u32::from_be_bytes(*oid))
}

fn outside_of_transaction() -> Failure {
    Failure::permanent("stream_unreadable", "the stream has a row outside of a transaction")
}
