//! When an added table is complete.
//!
//! A transaction that ran while a table was added to the publication may have changed the table before
//! that; the stream does not have these changes, even where the transaction commits later. So the
//! snapshot of the table may only be taken when no such transaction runs any more: then it sees what the
//! stream lacks.

use tarn_sdk::Failure;

use crate::config::{PAUSE_MS, TRANSACTION_ATTEMPTS_MAX};
use crate::peer::Peer;
use crate::side::Side;
use crate::surroundings;

/// Waits until every transaction that runs now has ended.
pub(crate) fn wait_for_older_transactions<P: Peer>(side: &mut Side<P>) -> Result<(), Failure> {
    let next = surroundings::next_transaction(side)?;
    for _ in 0..TRANSACTION_ATTEMPTS_MAX {
        if surroundings::horizon(side)? >= next {
            return Ok(());
        }
        side.pause(PAUSE_MS)?;
    }
    Err(Failure::retry("transactions_running", "transactions that ran when the tables were added still run")
        .with_hint("pg_stat_activity shows them by xact_start; end those that hang"))
}
