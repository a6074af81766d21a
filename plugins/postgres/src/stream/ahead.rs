//! Descriptions of the tables whose rows are next.
//!
//! A description that the host does not know cuts the batch: what is before it is made durable, and the destination's table
//! is looked at. Of a transaction with first rows of thousands of tables that would be done for each row. So where one is
//! told of, those that follow in what was read of the transaction are told with it, and the server is asked for all of them
//! at once. They are first ones, so that nothing of their tables is before them; when the stream comes to them, they
//! are known.

use std::collections::HashSet;

use super::in_progress::Committed;
use super::{Decoding, Learned, Outgoing, Turn};
use crate::config::DESCRIBED_AHEAD_MAX;
use crate::peer::Peer;
use crate::pgoutput::{Damaged, Frame, Message, Relation, frame, message, message_in_progress, split_frame};
use crate::settings::Settings;
use crate::side::Side;

/// A message as who looks for descriptions sees it.
enum Ahead<'a> {
    Description(Relation<'a>),
    /// One of a part that was rolled back.
    Undone(u32),
    Type(u32),
    /// Rows, and what stands between them.
    Passed,
    /// The end of the transaction, or parts of others.
    End,
}

impl<'a> Ahead<'a> {
    /// A message of a transaction that came whole.
    fn of_whole(payload: &'a [u8]) -> Self {
        match frame(payload) {
            Ok(Frame::Data(data)) => Self::of(data, || Ok((false, message(data)?))),
            Ok(Frame::Keepalive { .. }) => Self::Passed,
            Err(_) => Self::End,
        }
    }

    /// One of a transaction that is read back.
    fn of_read_back(data: &'a [u8], committed: &Committed) -> Self {
        Self::of(data, || {
            message_in_progress(data).map(|(part, message)| (committed.is_undone(part), message))
        })
    }

    fn of(data: &[u8], read: impl FnOnce() -> Result<(bool, Message<'a>), Damaged>) -> Self {
        match data.first() {
            Some(b'R' | b'Y') => match read() {
                Ok((false, Message::Relation(relation))) => Self::Description(relation),
                Ok((true, Message::Relation(relation))) => Self::Undone(relation.oid),
                Ok((_, Message::Type { oid })) => Self::Type(oid),
                Ok(_) | Err(_) => Self::End,
            },
            Some(b'I' | b'U' | b'D' | b'T' | b'O' | b'M') => Self::Passed,
            _ => Self::End,
        }
    }
}

impl Decoding {
    /// Describes the tables that are described first in the rest of what was read. One that cannot be is left to its place.
    pub(super) fn describe_ahead<P: Peer>(
        &mut self,
        inbox: &[u8],
        side: &mut Side<P>,
        settings: &Settings,
        out: &mut Outgoing,
    ) {
        let turn = self.turn();
        let Some(transaction) = self.transaction.filter(|_| turn == Turn::First) else { return };
        let committed = self.committed.take();
        let relations = match &committed {
            Some(committed) => {
                self.first_ahead(committed.rest(), out, |data| Ahead::of_read_back(data, committed))
            }
            None => self.first_ahead(inbox, out, Ahead::of_whole),
        };
        let columns = relations.iter().flat_map(Relation::columns).flatten();
        let types = columns.map(|column| (column.type_oid, column.type_modifier));
        if self.types.look_up(side, types).is_ok()
            && self.relations.ask(&relations, transaction.number, side, settings).is_ok()
        {
            for relation in relations {
                let types = &mut self.types;
                match self.relations.learn(relation, turn, Some(transaction), side, settings, types) {
                    Ok(Learned::Changed(changed)) => {
                        // A partition is described behind its table, and as that.
                        out.schema.retain(|described| described.table.id != changed.table().id);
                        out.schema.push(changed.description());
                        self.relations.keep(changed, turn);
                    }
                    Ok(Learned::Known) => {}
                    Err(_) => break,
                }
                self.relations.note_ahead(relation.oid);
            }
        }
        self.relations.forget_asked();
        self.committed = committed;
    }

    /// The first descriptions of relations in the rest of a transaction, so many as may be told of at once. Types that are
    /// described there are looked up anew.
    fn first_ahead<'a>(
        &mut self,
        mut rest: &'a [u8],
        out: &Outgoing,
        read: impl Fn(&'a [u8]) -> Ahead<'a>,
    ) -> Vec<Relation<'a>> {
        let room = DESCRIBED_AHEAD_MAX.saturating_sub(out.schema.len());
        let mut relations = Vec::new();
        // The description of an undone part may be that of the rows that follow it.
        let mut passed = HashSet::new();
        while relations.len() < room
            && let Some((payload, after)) = split_frame(rest)
        {
            rest = after;
            match read(payload) {
                Ahead::Description(Relation { oid, .. })
                    if self.relations.is_described(oid) || self.deferred.has(oid) => {}
                Ahead::Description(relation) if passed.insert(relation.oid) => relations.push(relation),
                Ahead::Description(_) | Ahead::Passed => {}
                Ahead::Undone(oid) => {
                    passed.insert(oid);
                }
                Ahead::Type(oid) => self.types.forget(oid),
                Ahead::End => break,
            }
        }
        relations
    }
}
