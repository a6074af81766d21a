//! Descriptions from parts of transactions that were rolled back.
//!
//! The server describes a relation before the first row of it that it sends of a transaction, and again after it
//! changed, whatever becomes of the part that this row is in. So a description from a part that was rolled back may be the
//! only one of its relation, or tell of columns that never came to be. Which of the two it is shows at the next row
//! that counts: had the part changed the relation, the server would have described it again before that row, for it
//! forgets after each block what the block's transaction changed. Until then the description waits, also beyond the end of
//! the transaction: the server remembers that it sent it.
//!
//! The same goes for a description of which it cannot be told with its own transaction which ones of the table its columns
//! are. It holds for the transactions that follow, and with the number of one of these it may be told: so it waits for the
//! first row of each.

use std::collections::HashMap;

use tarn_sdk::Failure;

use super::{Decoding, Outgoing, Step, oids};
use crate::peer::Peer;
use crate::pgoutput::{Damaged, Message, Relation, message_in_progress};
use crate::settings::Settings;
use crate::side::Side;

/// Descriptions that wait, each as its message from within a block, by the number of the relation.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    waiting: HashMap<u32, Waiting>,
    /// Those that wait for the next transaction.
    in_doubt: HashMap<u32, Vec<u8>>,
}

/// A description that waits for a row.
#[derive(Debug)]
enum Waiting {
    New(Vec<u8>),
    /// It was taken, and is in doubt.
    InDoubt(Vec<u8>),
}

impl Deferred {
    /// None waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the message of a relation waits.
    pub(super) fn has(&self, relation: u32) -> bool {
        self.waiting.contains_key(&relation)
    }

    /// Lets a message wait, instead of an earlier one.
    pub(super) fn put(&mut self, relation: u32, message: Vec<u8>) {
        self.waiting.insert(relation, Waiting::New(message));
    }

    /// What waits for a row of a relation. It waits no more.
    fn take(&mut self, relation: u32) -> Option<Waiting> {
        self.waiting.remove(&relation)
    }

    /// Keeps a description that is in doubt, or forgets the one that was.
    pub(super) fn doubt(&mut self, relation: &Relation<'_>, is_in_doubt: bool) {
        if is_in_doubt {
            self.in_doubt.insert(relation.oid, relation.in_block());
        } else if !self.in_doubt.is_empty() {
            self.in_doubt.remove(&relation.oid);
        }
    }

    /// Has those in doubt wait for rows of a transaction, unless later ones do.
    pub(super) fn begin(&mut self) {
        for (relation, message) in self.in_doubt.drain() {
            self.waiting.entry(relation).or_insert(Waiting::InDoubt(message));
        }
    }
}

impl Decoding {
    /// Takes the descriptions that wait for a message that counts, unless it is one itself.
    pub(super) fn describe_deferred<P: Peer>(
        &mut self,
        message: &Message<'_>,
        side: &mut Side<P>,
        settings: &Settings,
        out: &mut Outgoing,
    ) -> Result<Step, Failure> {
        let relations: Vec<u32> = match message {
            Message::Insert { relation, .. }
            | Message::Update { relation, .. }
            | Message::Delete { relation, .. } => vec![*relation],
            Message::Truncate { relations } => oids(relations).collect(),
            Message::Relation(relation) => {
                self.deferred.take(relation.oid);
                return Ok(Step::Taken);
            }
            _ => return Ok(Step::Taken),
        };
        for oid in relations {
            let Some(waiting) = self.deferred.take(oid) else { continue };
            let writer = self.transaction.map(|transaction| transaction.number);
            let message = match waiting {
                Waiting::InDoubt(message)
                    if writer.is_some_and(|writer| self.relations.remains_in_doubt(oid, writer)) =>
                {
                    self.deferred.in_doubt.insert(oid, message);
                    continue;
                }
                Waiting::New(message) | Waiting::InDoubt(message) => message,
            };
            let step = match message_in_progress(&message) {
                Ok((_, Message::Relation(relation))) => self.describe(relation, side, settings, out),
                Ok(_) => Err(Damaged.into()),
                Err(damaged) => Err(damaged.into()),
            };
            if !matches!(step, Ok(Step::Taken)) {
                self.deferred.put(oid, message);
                return step;
            }
        }
        Ok(Step::Taken)
    }
}
