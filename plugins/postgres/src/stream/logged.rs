//! Messages of the log into a batch.
//!
//! One that belongs to a transaction comes among its rows, where it was written. One that does not comes at once: the
//! server sends it between two transactions, whatever becomes of the transaction that wrote it. Its place is the
//! end of its record; a stream that is started there does not bring it again.
//!
//! The server sends messages where a script wants them, which may change while a transaction is delivered in part. So
//! they have a count of their own, and those before rows that were delivered are not new either.

use tarn_batch::{LogMessage, Op, RowHeader, Table, Version};
use tarn_sdk::Failure;

use super::{Decoding, Outgoing, outside_of_transaction};
use crate::lsn::Lsn;
use crate::pgoutput::Logged;

impl Decoding {
    /// Takes a message, and delivers it unless it was before.
    pub(super) fn logged(&mut self, logged: &Logged<'_>, out: &mut Outgoing) -> Result<(), Failure> {
        let header = if logged.transactional { self.within()? } else { self.apart(Lsn(logged.end))? };
        let Some(header) = header else { return Ok(()) };
        let table = *out.log.get_or_insert_with(|| out.writer.add_table(nowhere()));
        let prefix = String::from_utf8_lossy(logged.prefix);
        out.writer.log_message(table, &header, &LogMessage { prefix: &prefix, content: logged.content });
        Ok(())
    }

    /// The header of a message of the transaction that is coming in. Its version counts messages: it has no
    /// row's place, and no row has its.
    fn within(&mut self) -> Result<Option<RowHeader>, Failure> {
        let transaction = self.transaction.as_mut().ok_or_else(outside_of_transaction)?;
        let ordinal = transaction.messages;
        transaction.messages += 1;
        let is_new = ordinal >= transaction.before.messages && transaction.rows >= transaction.before.rows;
        Ok(is_new.then(|| transaction.header(Op::Message, ordinal)))
    }

    /// The header of a message between transactions. The server does not say when it was written.
    fn apart(&mut self, end: Lsn) -> Result<Option<RowHeader>, Failure> {
        let was_before = end <= self.end || self.resume.is_some_and(|partial| partial.commit > end);
        self.advance(end)?;
        Ok((!was_before).then_some(RowHeader {
            op: Op::Message,
            version: Version { commit: end.0, ordinal: 0 },
            commit_time_us: RowHeader::TIME_UNKNOWN,
            transaction: 0,
        }))
    }
}

/// The table of what belongs to none.
fn nowhere() -> Table {
    Table { id: 0, schema: String::new(), name: String::new(), version: 0, columns: Vec::new() }
}
