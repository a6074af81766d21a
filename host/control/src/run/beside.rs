//! Loading beside: a resync goes into other tables, and readers see the old rows in full until the new ones are.
//!
//! ```text
//!   begun (the catalog has the load's name) → load into tables beside → put in place → ended (the name is gone)
//! ```
//!
//! The stream starts after that: what changes at the source meanwhile waits in its log, as for any first load. Each
//! step can be repeated, and the destination tells by the load's name which tables it has put in place already.

use tarn_model::Failure;
use tokio::time::timeout;

use super::MirrorRun;
use super::setup::destinations;
use crate::config::TEARDOWN_DEADLINE;
use crate::instances::MirrorInstances;

impl MirrorRun {
    /// What a load beside that begins now is called: no other one of the mirror has the name.
    pub(super) fn load_name(&self) -> String {
        self.mirror.epoch.to_string()
    }

    /// Puts the tables that were loaded beside in the place of those that people read.
    pub(super) async fn put_in_place(&self, instances: &MirrorInstances) -> Result<(), Failure> {
        let (catalog, id) = (&self.workshop.catalog, self.mirror.id);
        let book = self.workshop.books.of(id);
        // A dead letter that is replayed now would go to a table that is about to be removed.
        let _turn = book.turn_alone().await;
        let Some(mirror) = catalog.mirror_by_id(id).await? else { return Ok(()) };
        instances.replace(&destinations(&mirror.spec.tables)).await?;
        catalog.end_beside(id).await?;
        self.watch.info("the loaded tables took the place of the old ones");
        Ok(())
    }

    /// Removes the tables of a load beside that will not go on, as far as the destination can be reached.
    pub(super) async fn remove_beside(&self) {
        let removed = timeout(TEARDOWN_DEADLINE, self.try_to_remove_beside()).await;
        let trouble = match removed {
            Ok(Ok(())) => return,
            Ok(Err(failure)) => failure.to_string(),
            Err(_) => format!("no answer within {} s", TEARDOWN_DEADLINE.as_secs()),
        };
        self.watch.warn(format!(
            "could not remove the tables of the load that was under way at peer {}: {trouble}; remove them there, \
             their names end in _tarn_beside",
            self.mirror.spec.destination_peer
        ));
    }

    async fn try_to_remove_beside(&self) -> Result<(), Failure> {
        let instances = self.instances_without_scripts().await?;
        if !instances.is_beside() {
            return Ok(());
        }
        instances.store().await?.drop_tables(&destinations(&self.mirror.spec.tables)).await?;
        Ok(self.workshop.catalog.end_beside(self.mirror.id).await?)
    }
}
