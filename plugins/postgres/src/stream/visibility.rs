//! Whether the catalog has what a transaction did to a table.
//!
//! A transaction's changes are in the log before other sessions see them: for a moment, or for as long as the server
//! waits for a synchronous standby. The catalog as it was before would give the columns of the transaction's
//! rows no number, or that of a column it dropped.
//!
//! Until others see it, it holds the lock that `ALTER TABLE` takes. Its rows come when it has committed, and then it takes no
//! further lock: what it is seen to hold at one time is all that it may hold later. So the server is asked once for
//! a transaction, whatever the number of its tables, and again only for one that it had locked.

use std::collections::HashSet;

use tarn_sdk::{Failure, clock};

use crate::config::{VISIBILITY_PAUSE_MS, VISIBILITY_WAIT_US};
use crate::peer::{Peer, number};
use crate::side::Side;
use crate::table_name::TableName;

/// The tables whose definition a committed transaction may have changed unseen.
#[derive(Debug, Default)]
pub(super) struct Unseen {
    /// The transaction that was asked for last. Its number comes again after billions of others.
    writer: Option<u32>,
    tables: HashSet<u32>,
}

impl Unseen {
    /// Whether others see what a committed transaction did to a table's definition.
    pub(super) fn is_seen<P: Peer>(
        &mut self,
        side: &mut Side<P>,
        writer: u32,
        oid: u32,
    ) -> Result<bool, Failure> {
        if self.writer != Some(writer) || self.tables.contains(&oid) {
            self.writer = None;
            self.tables = being_defined(side, writer)?;
            self.writer = Some(writer);
        }
        Ok(!self.tables.contains(&oid))
    }

    /// Waits until they do. Rows alone wait for nothing: a server that counts this stream among its synchronous
    /// standbys shows no transaction before the stream has passed it.
    pub(super) fn await_seen<P: Peer>(
        &mut self,
        side: &mut Side<P>,
        writer: u32,
        oid: u32,
        name: &TableName,
    ) -> Result<(), Failure> {
        let until = clock::monotonic().saturating_add(VISIBILITY_WAIT_US);
        while !self.is_seen(side, writer, oid)? {
            if clock::monotonic() >= until {
                let message = format!(
                    "transaction {writer} changed the table and is committed, but other sessions do not see it yet: it waits for \
                     a synchronous standby"
                );
                let hint = "bring the standbys of synchronous_standby_names back; where they are '*', name them, for '*' takes \
                            this mirror's replication slot for one as well";
                return Err(Failure::retry("definition_not_visible", message)
                    .with_hint(hint)
                    .with_table(name.to_string()));
            }
            side.pause(VISIBILITY_PAUSE_MS)?;
        }
        Ok(())
    }
}

/// The tables whose definition a transaction has locked that has not ended for others. One that was prepared has no
/// process, but a virtual transaction like every other.
fn being_defined<P: Peer>(side: &mut Side<P>, writer: u32) -> Result<HashSet<u32>, Failure> {
    let rows = side.read(&format!(
        "SELECT DISTINCT held.relation FROM pg_catalog.pg_locks AS own
         JOIN pg_catalog.pg_locks AS held ON held.virtualtransaction = own.virtualtransaction
         WHERE own.locktype = 'transactionid' AND own.transactionid = '{writer}'::xid AND own.granted
           AND held.locktype = 'relation' AND held.mode = 'AccessExclusiveLock'
           AND held.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
           AND held.granted"
    ))?;
    rows.iter().map(|row| number(row, 0)).collect()
}
