//! Relation records into a batch: for whoever reads messages one by one, and has no table to look at.
//!
//! The server describes a relation before its first change of a session, and again where it changed. Which of the two
//! it is, the columns that the stream had tell, which the position remembers. A record has its place before the row
//! that follows it, and a number that no row has.

use tarn_batch::{Op, Version};
use tarn_sdk::{Failure, Relations as Wanted};

use super::replicated::Novelty;
use super::{Decoding, Outgoing, Turn};

impl Decoding {
    /// Delivers the record of a relation that was just described, where it is wanted and says something new.
    pub(super) fn relation_record(
        &mut self,
        oid: u32,
        turn: Turn,
        wanted: Wanted,
        out: &mut Outgoing,
    ) -> Result<(), Failure> {
        let novelty = self.relations.take_novelty(oid);
        let is_due = match (wanted, novelty) {
            (Wanted::None, _) | (_, Novelty::None) | (Wanted::Changes, Novelty::First) => false,
            (Wanted::Changes | Wanted::All, Novelty::Changed) | (Wanted::All, Novelty::First) => true,
        };
        // What is before rows that were delivered was delivered with them.
        let Some(transaction) = self.transaction.filter(|_| is_due && turn == Turn::First) else {
            return Ok(());
        };
        let Some(replicated) = self.relations.get(oid)? else { return Ok(()) };
        let mut header = transaction.header(Op::Relation, transaction.rows);
        header.version.ordinal |= Version::RELATIONS_FROM;
        let table = replicated.index_in(out);
        out.writer.begin_row(table, &header);
        out.writer.end_row();
        Ok(())
    }
}
