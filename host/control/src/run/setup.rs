//! The steps before rows move: slot, publication, tables, and the changes an edit asks for.

use std::sync::Arc;

use tarn_model::{Failure, MirrorSpec, MirrorState, PendingEdit, TableMapping};
use tarn_replication::Instances as _;
use tarn_wasm::SourceInstance;

use super::MirrorRun;
use crate::described::{kept_tables, told_name};
use crate::instances::MirrorInstances;

impl MirrorRun {
    /// Makes what the mirror needs at both sides. The start of the stream is recorded last: until then,
    /// the whole step is repeated, and the source removes what an earlier try left.
    ///
    /// An edit that is not carried out yet is part of it: all tables are new to the source. Carrying it out
    /// afterwards would move the load's start past the point that the returned instance holds, and what
    /// changed in between would lose to older rows.
    pub(super) async fn set_up(
        &self,
        instances: &Arc<MirrorInstances>,
        edit: Option<&PendingEdit>,
    ) -> Result<SourceInstance, Failure> {
        let catalog = &self.workshop.catalog;
        let (id, spec) = (self.mirror.id, &self.mirror.spec);
        let mut source = instances.source().await?;
        let start = source.setup().await?;
        let schema = source.schema().await?;
        // Beside, a setup may be repeated, perhaps after an edit; else what an earlier mirror left there is replaced.
        if instances.is_beside() || spec.resync && !instances.replaces() {
            instances.store().await?.drop_tables(&destinations(&spec.tables)).await?;
        }
        self.prepare_targets(instances, &schema).await?;
        self.forget_stage().await?;
        catalog.forget_progress(id).await?;
        catalog.begin_load(id, &names(loaded_first(spec, edit))).await?;
        catalog.begin_stream(id, &start).await?;
        if edit.is_some() {
            catalog.edit_done(id, self.mirror.epoch).await?;
        }
        self.watch.info("source and destination are set up");
        Ok(source)
    }

    /// Carries out a recorded edit at both sides; false when a later request came in between.
    pub(super) async fn carry_out(
        &self,
        instances: &Arc<MirrorInstances>,
        edit: &PendingEdit,
    ) -> Result<bool, Failure> {
        if !self.observe(MirrorState::Modifying).await? {
            return Ok(false);
        }
        let catalog = &self.workshop.catalog;
        let id = self.mirror.id;
        if !edit.removed.is_empty() || !edit.added.is_empty() {
            self.deliver_before(edit).await?;
            let mut source = instances.source().await?;
            let loading: Vec<String> = match edit.skip_snapshot {
                true => Vec::new(),
                false => edit.added.iter().map(|table| table.source.clone()).collect(),
            };
            let settings = instances.source_settings(&loading).await?;
            let start = source.alter(&settings).await?;
            let schema = source.schema().await?;
            if instances.is_beside() {
                instances.store().await?.drop_tables(&destinations(&edit.removed)).await?;
            }
            // What changed of the others, the stream tells: it may be ahead of it here, and have to be asked for there.
            let added = |table: &str| edit.added.iter().any(|added| told_name(&added.source) == table);
            if let Some(added) = kept_tables(&schema, added)? {
                self.prepare_targets(instances, &added).await?;
            }
            // Added ones too: a table that an unfinished edit removed may be back with another target.
            let changed: Vec<_> =
                edit.removed.iter().chain(&edit.added).map(|table| table.source.clone()).collect();
            catalog.forget_load(id, &changed).await?;
            for table in &changed {
                let told = told_name(table);
                catalog.forget_schema_change(id, &told).await?;
                // A replay would have no place for those of a table that is not the mirror's.
                let void = self.void_letters(Some(&told)).await?;
                if void > 0 {
                    self.watch.info(format!("gave up {void} dead letters of {table}, which left the mirror"));
                }
            }
            if !edit.skip_snapshot && !edit.added.is_empty() {
                catalog.move_load_start(id, &start).await?;
                catalog.begin_load(id, &names(&edit.added)).await?;
            }
        }
        catalog.edit_done(id, self.mirror.epoch).await?;
        self.watch.info(format!("edited: {} tables added, {} removed", edit.added.len(), edit.removed.len()));
        Ok(true)
    }

    /// Takes everything back that a load starts from: slot, publication, the progress, and the destination's
    /// tables where it cannot load beside them. Repeated whole when it is cut off; false when a later request came in between.
    pub(super) async fn forget(&self, instances: &MirrorInstances) -> Result<bool, Failure> {
        let beside = instances.replaces();
        self.watch.info(if instances.is_queue() {
            "resync: loading everything again, into the same topics: messages that are there stay"
        } else if beside {
            "resync: loading everything again, beside the tables that are there: they stay as they are until it is done"
        } else {
            "resync: loading everything again"
        });
        let mut source = instances.source().await?;
        self.remove_from_source(&mut source).await?;
        let mut destination = match beside {
            true => instances.store_beside(&self.load_name()).await?,
            false => instances.store().await?,
        };
        // Beside there may be what an earlier load left.
        destination.drop_tables(&destinations(&self.mirror.spec.tables)).await?;
        self.forget_stage().await?;
        // Before the progress goes: what a queue notes of its place is of the delivery that ends here.
        self.workshop.catalog.begin_delivery(self.mirror.id).await?;
        self.workshop.catalog.forget_progress(self.mirror.id).await?;
        self.workshop.catalog.forget_schema_changes(self.mirror.id).await?;
        if beside {
            self.workshop.catalog.begin_beside(self.mirror.id, &self.load_name()).await?;
        }
        let void = self.void_letters(None).await?;
        if void > 0 {
            self.watch.info(format!("gave up {void} dead letters: the load brings their rows again"));
        }
        self.workshop.latencies.of(self.mirror.id).reset();
        self.observe(MirrorState::Setup).await
    }
}

impl MirrorRun {
    /// Gives up the dead letters of a table that wait, or of all: a load brings their rows again, or they are gone at the
    /// source, or the mirror's no more. How many there were.
    async fn void_letters(&self, table: Option<&str>) -> Result<usize, Failure> {
        let book = self.workshop.books.of(self.mirror.id);
        let _turn = book.turn_alone().await;
        let void = self.workshop.catalog.void_letters(self.mirror.id, table, None).await?;
        book.forget(void.iter().map(|mark| mark.identity.as_str()));
        Ok(void.len())
    }
}

/// The tables whose rows are loaded when a mirror is set up: by the mirror's own settings, and for those
/// that an edit adds by the edit's.
fn loaded_first<'a>(
    spec: &'a MirrorSpec,
    edit: Option<&PendingEdit>,
) -> impl Iterator<Item = &'a TableMapping> {
    spec.tables.iter().filter(move |table| {
        let adds = edit.filter(|edit| edit.added.iter().any(|added| added.source == table.source));
        adds.map_or(spec.do_initial_snapshot, |edit| !edit.skip_snapshot)
    })
}

/// The names of tables at source and destination, as the ledger keeps them.
fn names<'a>(tables: impl IntoIterator<Item = &'a TableMapping>) -> Vec<(String, String)> {
    tables.into_iter().map(|table| (table.source.clone(), table.destination.clone())).collect()
}

pub(super) fn destinations(tables: &[TableMapping]) -> Vec<&str> {
    tables.iter().map(|table| table.destination.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(source: &str) -> TableMapping {
        TableMapping { source: source.into(), destination: "t".into(), ..TableMapping::default() }
    }

    fn loaded(do_initial_snapshot: bool, edit: Option<&PendingEdit>) -> Vec<String> {
        let tables = vec![table("public.old"), table("public.new")];
        let spec = MirrorSpec { tables, do_initial_snapshot, ..MirrorSpec::default() };
        loaded_first(&spec, edit).map(|table| table.source.clone()).collect()
    }

    #[test]
    fn an_edit_decides_about_the_tables_that_it_adds_and_the_mirror_about_the_others() {
        let edit = |skip_snapshot| PendingEdit {
            added: vec![table("public.new")],
            skip_snapshot,
            ..PendingEdit::default()
        };
        assert_eq!(loaded(true, None), ["public.old", "public.new"]);
        assert_eq!(loaded(false, None), [""; 0]);
        assert_eq!(loaded(true, Some(&edit(true))), ["public.old"]);
        assert_eq!(loaded(false, Some(&edit(false))), ["public.new"]);
    }
}
