//! Leaving nothing behind.

use tarn_sdk::{Failure, Problem};

use crate::peer::Peer;
use crate::publication;
use crate::settings::Settings;
use crate::side::Side;
use crate::slot;

/// Removes the slot and the mirror's own publication, each whatever became of the other. What is not
/// there is removed already.
pub(crate) fn teardown<P: Peer>(side: &mut Side<P>, settings: &Settings) -> Vec<Problem> {
    let slot = slot::remove(side, settings).err();
    let publication = publication::remove(side, &settings.publication).err();
    let by_hand = |sql: String| format!("remove it by hand: {sql}");
    let mut problems = Vec::new();
    if let Some(failure) = slot {
        let name = tarn_sdk::sql::postgres::literal(&settings.slot);
        let hint = by_hand(format!("SELECT pg_drop_replication_slot({name})"));
        problems.push(problem("replication_slot_name", &failure, hint));
    }
    if let Some(failure) = publication {
        let name = tarn_sdk::sql::postgres::ident(settings.publication.name());
        problems.push(problem("publication_name", &failure, by_hand(format!("DROP PUBLICATION {name}"))));
    }
    problems
}

fn problem(path: &str, failure: &Failure, hint: String) -> Problem {
    Problem::new(path, failure.message.clone()).with_hint(hint)
}
