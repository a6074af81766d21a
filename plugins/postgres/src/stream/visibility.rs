//! Whether the catalog has what a transaction did to a table.
//!
//! A transaction's changes are in the log before other sessions see them: for a moment, or for as long as the server
//! waits for a synchronous standby. The catalog as it was before would give the columns of the transaction's
//! rows no number, or that of a column it dropped.

use tarn_sdk::{Failure, clock};

use crate::config::{VISIBILITY_PAUSE_MS, VISIBILITY_WAIT_US};
use crate::peer::Peer;
use crate::side::Side;
use crate::table_name::TableName;

/// Waits until others see what a committed transaction did to a table's definition. Until then it holds the lock that
/// `ALTER TABLE` takes, so that rows alone wait for nothing: a server that counts this stream among its synchronous
/// standbys shows no transaction before the stream has passed it.
pub(super) fn await_definition<P: Peer>(
    side: &mut Side<P>,
    writer: u32,
    oid: u32,
    name: &TableName,
) -> Result<(), Failure> {
    let until = clock::monotonic().saturating_add(VISIBILITY_WAIT_US);
    while is_being_defined(side, writer, oid)? {
        if clock::monotonic() >= until {
            let message = format!(
                "transaction {writer} changed the table and is committed, but other sessions do not see it yet: it waits for a \
                 synchronous standby"
            );
            let hint = "bring the standbys of synchronous_standby_names back; where they are '*', name them, for '*' takes this \
                        mirror's replication slot for one as well";
            return Err(Failure::retry("definition_not_visible", message)
                .with_hint(hint)
                .with_table(name.to_string()));
        }
        side.pause(VISIBILITY_PAUSE_MS)?;
    }
    Ok(())
}

/// Whether a transaction that has not ended for others has a table's definition locked. One that was prepared has no
/// process, but a virtual transaction like every other.
fn is_being_defined<P: Peer>(side: &mut Side<P>, writer: u32, oid: u32) -> Result<bool, Failure> {
    let rows = side.read(&format!(
        "SELECT 1 FROM pg_catalog.pg_locks AS own
         JOIN pg_catalog.pg_locks AS held ON held.virtualtransaction = own.virtualtransaction
         WHERE own.locktype = 'transactionid' AND own.transactionid = '{writer}'::xid AND own.granted
           AND held.locktype = 'relation' AND held.relation = {oid}::oid AND held.mode = 'AccessExclusiveLock'
           AND held.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
           AND held.granted"
    ))?;
    Ok(!rows.is_empty())
}
