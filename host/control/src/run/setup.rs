//! The steps before rows move: slot, publication, tables, and the changes an edit asks for.

use tarn_model::{Failure, MirrorState, PendingEdit, TableMapping};
use tarn_replication::Instances as _;
use tarn_wasm::SourceInstance;

use super::MirrorRun;
use crate::instances::MirrorInstances;

impl MirrorRun {
    /// Makes what the mirror needs at both sides. The start of the stream is recorded last: until then,
    /// the whole step is repeated, and the source removes what an earlier try left.
    pub(super) async fn set_up(&self, instances: &MirrorInstances) -> Result<SourceInstance, Failure> {
        let catalog = &self.workshop.catalog;
        let mut source = instances.source().await?;
        let start = source.setup().await?;
        let schema = source.schema().await?;
        instances.destination().await?.prepare(&schema).await?;
        if self.mirror.spec.do_initial_snapshot {
            catalog.begin_load(self.mirror.id, &names(&self.mirror.spec.tables)).await?;
        }
        catalog.begin_stream(self.mirror.id, &start).await?;
        self.watch.info("source and destination are set up");
        Ok(source)
    }

    /// Carries out a recorded edit at both sides; false when a later request came in between.
    pub(super) async fn carry_out(
        &self,
        instances: &MirrorInstances,
        edit: &PendingEdit,
    ) -> Result<bool, Failure> {
        if !self.observe(MirrorState::Modifying).await? {
            return Ok(false);
        }
        let catalog = &self.workshop.catalog;
        let id = self.mirror.id;
        if !edit.removed.is_empty() || !edit.added.is_empty() {
            let mut source = instances.source().await?;
            let settings = instances.source_settings();
            let start = source.alter(&settings).await?;
            let schema = source.schema().await?;
            instances.destination().await?.prepare(&schema).await?;
            let removed: Vec<_> = edit.removed.iter().map(|table| table.source.clone()).collect();
            catalog.forget_load(id, &removed).await?;
            if !edit.skip_snapshot && !edit.added.is_empty() {
                catalog.move_load_start(id, &start).await?;
                catalog.begin_load(id, &names(&edit.added)).await?;
            }
        }
        catalog.edit_done(id, self.mirror.epoch).await?;
        self.watch.info(format!("edited: {} tables added, {} removed", edit.added.len(), edit.removed.len()));
        Ok(true)
    }

    /// Takes everything back that a load starts from: slot, publication, the destination's tables and
    /// the progress. Repeated whole when it is cut off; false when a later request came in between.
    pub(super) async fn forget(&self, instances: &MirrorInstances) -> Result<bool, Failure> {
        self.watch.info("resync: loading everything again");
        let mut source = instances.source().await?;
        self.remove_from_source(&mut source).await?;
        let destinations: Vec<_> =
            self.mirror.spec.tables.iter().map(|table| table.destination.as_str()).collect();
        instances.destination().await?.drop_tables(&destinations).await?;
        self.workshop.catalog.forget_progress(self.mirror.id).await?;
        self.observe(MirrorState::Setup).await
    }
}

/// The names of tables at source and destination, as the ledger keeps them.
fn names(tables: &[TableMapping]) -> Vec<(String, String)> {
    tables.iter().map(|table| (table.source.clone(), table.destination.clone())).collect()
}
