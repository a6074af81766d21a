//! Descriptions of the tables whose rows are next.
//!
//! A description that the host does not know cuts the batch: what is before it is made durable, and the destination's table
//! is looked at. Of a transaction with first rows of thousands of tables that would be done for each row. So where one is
//! told of, those that follow in what was read of the transaction are told with it. They are first ones, so that
//! nothing of their tables is before them.

use super::{Decoding, Learned, Outgoing, Turn};
use crate::config::DESCRIBED_AHEAD_MAX;
use crate::peer::Peer;
use crate::pgoutput::{Frame, Message, frame, message, split_frame};
use crate::settings::Settings;
use crate::side::Side;

impl Decoding {
    /// Describes the tables that are described first in the rest of what was read. One that cannot be is left to its place.
    pub(super) fn describe_ahead<P: Peer>(
        &mut self,
        mut rest: &[u8],
        side: &mut Side<P>,
        settings: &Settings,
        out: &mut Outgoing,
    ) {
        let turn = self.turn();
        let Some(transaction) = self.transaction.filter(|_| turn == Turn::First) else { return };
        while out.schema.len() < DESCRIBED_AHEAD_MAX
            && let Some((payload, after)) = split_frame(rest)
        {
            rest = after;
            let Ok(Frame::Data(data)) = frame(payload) else { continue };
            match data.first() {
                Some(b'R') => {
                    let Ok(Message::Relation(relation)) = message(data) else { return };
                    if self.relations.is_described(relation.oid) {
                        continue;
                    }
                    let writer = Some(transaction.number);
                    match self.relations.learn(relation, turn, writer, side, settings, &mut self.types) {
                        Ok(Learned::Changed(changed)) => {
                            // A partition is described behind its table, and as that.
                            out.schema.retain(|described| described.table.id != changed.table().id);
                            out.schema.push(changed.description());
                            self.relations.keep(changed, turn);
                        }
                        Ok(Learned::Known) => {}
                        Err(_) => return,
                    }
                }
                Some(b'Y') => {
                    if let Ok(Message::Type { oid }) = message(data) {
                        self.types.forget(oid);
                    }
                }
                // Rows, and what stands between them.
                Some(b'I' | b'U' | b'D' | b'T' | b'O' | b'M') => {}
                // The end of the transaction, or parts of others.
                _ => return,
            }
        }
    }
}
