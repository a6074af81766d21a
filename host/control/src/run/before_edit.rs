//! Delivering what waits in the stage before tables come and go: rows, or a TRUNCATE, of a table that is removed and
//! added again would otherwise reach what its load brings.
//!
//! What waits for a table that is removed is delivered too, if it can be. Where its target cannot take it (somebody
//! dropped it, perhaps why the table is removed), it is given up, with a line in the log: nothing of the mirror writes
//! to that target any more, and the edit is the remedy.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use tarn_model::{Failure, FailureClass, PendingEdit, TableMapping};
use tarn_replication::{Batch, Destination, Stage as _, Staged, Ticket};

use super::{MirrorRun, Workshop};
use crate::described::{kept_tables, told_name};
use crate::instances::MirrorInstances;
use crate::records::without_tables;

impl MirrorRun {
    /// Delivers what waits, in its order.
    pub(super) async fn deliver_before(&self, edit: &PendingEdit) -> Result<(), Failure> {
        if self.workshop.stages.waits_after(&self.workshop.catalog, self.mirror.id).await?.is_none() {
            return Ok(());
        }
        let mut spec = self.mirror.spec.clone();
        spec.script = String::new(); // what waits has been through it
        spec.tables.retain(|table| !edit.added.iter().any(|added| added.source == table.source));
        spec.tables.extend(edit.removed.iter().cloned());
        let Workshop { catalog, plugins, .. } = &self.workshop;
        let sieve = self.sieve(&spec);
        let instances =
            MirrorInstances::new(catalog, plugins, self.mirror.id, &spec, &self.watch, sieve).await?;
        let Some(mut open) = self.open_stage().await? else {
            return Ok(());
        };
        if open.waiting.is_empty() {
            return Ok(());
        }
        self.watch.info("delivering what waits in the stage first");
        let latency = self.workshop.latencies.of(self.mirror.id);
        let mut destination = self.destination(&Arc::new(instances), latency);
        let mut leaving = Leaving::new(&edit.removed);
        for Ticket { number, .. } in open.waiting {
            match open.stage.get(number).await? {
                Staged::Schema(schema) => {
                    while let Err(failure) = leaving.evolve(&mut destination, &schema).await {
                        self.tell_given_up(&leaving.give_up(failure)?);
                    }
                }
                Staged::Rows(batches) => {
                    while let Err(failure) = leaving.write(&mut destination, &batches).await {
                        self.tell_given_up(&leaving.give_up(failure)?);
                    }
                }
            }
            open.stage.remove(number).await?;
        }
        Ok(())
    }

    fn tell_given_up(&self, (table, why): &(String, Failure)) {
        self.watch.warn(format!(
            "table {table} leaves the mirror, and its target cannot take what waits for it, which is given up: {why}"
        ));
    }
}

/// The tables that an edit removes.
struct Leaving<'a> {
    tables: &'a [TableMapping],
    /// Those whose targets do not take their rows.
    given_up: BTreeSet<String>,
}

impl<'a> Leaving<'a> {
    fn new(tables: &'a [TableMapping]) -> Self {
        Self { tables, given_up: BTreeSet::new() }
    }

    /// Writes rows durably, but for those of tables that are given up. Repeatable.
    async fn write(&self, destination: &mut impl Destination, batches: &[Batch]) -> Result<(), Failure> {
        let mut kept = Vec::with_capacity(batches.len());
        for batch in batches {
            kept.push(without_tables(batch.clone(), &self.given_up)?);
        }
        kept.retain(|batch| batch.rows > 0);
        if !kept.is_empty() && !destination.write(kept).await?.durable {
            destination.flush().await?;
        }
        Ok(())
    }

    /// Lets the destination take changed columns, but for those of tables that are given up. Repeatable.
    async fn evolve(&self, destination: &mut impl Destination, schema: &Bytes) -> Result<(), Failure> {
        match kept_tables(schema, |table| !self.given_up.contains(table))? {
            Some(kept) => destination.evolve(kept).await,
            None => Ok(()),
        }
    }

    /// Gives up the rows of the table that a failure names, and says which and why. Trouble that passes, and that of
    /// tables that stay, is the edit's.
    fn give_up(&mut self, failure: Failure) -> Result<(String, Failure), Failure> {
        let lasts = matches!(failure.class, FailureClass::Permanent | FailureClass::Record);
        let leaves = self.tables.iter().any(|table| told_name(&table.source) == failure.table);
        if lasts && leaves && self.given_up.insert(failure.table.clone()) {
            return Ok((failure.table.clone(), failure));
        }
        Err(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lasting_trouble_of_a_table_that_leaves_gives_up_its_rows_and_once() {
        let table = TableMapping { source: "public.a".into(), ..TableMapping::default() };
        let mut leaving = Leaving::new(std::slice::from_ref(&table));
        for failure in [
            Failure::retry("away", "it is away").with_table("public.a"),
            Failure::permanent("target_missing", "it is not there").with_table("public.b"),
            Failure::permanent("denied", "no access"),
        ] {
            assert_eq!(leaving.give_up(failure.clone()), Err(failure));
        }
        let gone = Failure::permanent("target_missing", "it is not there").with_table("public.a");
        assert_eq!(leaving.give_up(gone.clone()), Ok(("public.a".to_owned(), gone.clone())));
        // Its rows are not written any more, so that it cannot be named again but by mistake: no endless repetition.
        assert_eq!(leaving.give_up(gone.clone()), Err(gone));
        let quoted = TableMapping { source: r#""a.b"."c""#.into(), ..TableMapping::default() };
        let gone = Failure::permanent("target_missing", "it is not there").with_table("a.b.c");
        assert!(Leaving::new(std::slice::from_ref(&quoted)).give_up(gone).is_ok());
    }
}
