//! A mirror's scripts, one after another.
//!
//! Rows of one go into the next. A record that one of them cannot take is told with that script, and kept as the
//! source sent it: a replay runs it through all of them. So a rejection has to find its way back to the first
//! batch. With several scripts each row carries its place in that batch as the ordinal of its version, which
//! scripts hand on as they find it, and gets its own ordinal back at the end.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use tarn_batch::{Batch as Rows, BatchWriter};
use tarn_model::{Failure, RecordStage};
use tarn_replication::{Batch, Rejection, Transform, Transformed};

use super::desk::{Keeper, damaged};
use super::letter::{key_text, picked, table_name};
use super::link::Link;

/// See the module's documentation.
pub(crate) struct Chain<T> {
    links: Vec<Link<T>>,
    keeper: Option<Arc<Keeper>>,
}

/// What the scripts made of a batch, by places in that batch.
struct Applied {
    batch: Batch,
    dropped: u32,
    rejected: Vec<Rejection>,
}

impl<T: Transform> Chain<T> {
    /// A chain of at least one script. The keeper is missing where letters are not kept, or not by this chain.
    pub(crate) fn new(links: Vec<Link<T>>, keeper: Option<Arc<Keeper>>) -> Self {
        Self { links, keeper }
    }

    async fn run(&mut self, batch: Batch) -> Result<Applied, Failure> {
        if let [link] = &mut self.links[..] {
            let Transformed { batch, dropped, rejected } = link.apply(batch).await?;
            return Ok(Applied { batch, dropped, rejected });
        }
        let (mut current, ordinals) = numbered(&batch)?;
        let (mut dropped, mut rejected) = (0, Vec::new());
        for link in &mut self.links {
            if current.rows == 0 {
                break;
            }
            let given = current.clone();
            let mut answer = link.apply(current).await?;
            if !answer.rejected.is_empty() {
                let places = places(&given)?;
                for rejection in &mut answer.rejected {
                    let place = usize::try_from(rejection.row).ok().and_then(|row| places.get(row));
                    rejection.row = *place.ok_or_else(|| misnumbered(&link.name))?;
                }
            }
            dropped += answer.dropped;
            rejected.append(&mut answer.rejected);
            current = answer.batch;
        }
        let batch = renumbered(&current, &ordinals)?.ok_or_else(|| {
            misnumbered(&self.links.last().map(|link| link.name.clone()).unwrap_or_default())
        })?;
        Ok(Applied { batch, dropped, rejected })
    }
}

impl<T: Transform> Transform for Chain<T> {
    async fn apply(&mut self, given: Batch) -> Result<Transformed, Failure> {
        let Some(keeper) = self.keeper.clone() else {
            let Applied { batch, dropped, mut rejected } = self.run(given.clone()).await?;
            name_rows(&given, &mut rejected)?;
            return Ok(Transformed { batch, dropped, rejected });
        };
        let mut held = keeper.held_back(&given, RecordStage::Script, &[])?;
        let Applied { mut batch, dropped, mut rejected } = if held.is_empty() {
            self.run(given.clone()).await?
        } else {
            let (rest, places) = without(&given, &held)?;
            let mut applied = self.run(rest).await?;
            for rejection in &mut applied.rejected {
                let place = usize::try_from(rejection.row).ok().and_then(|row| places.get(row));
                rejection.row = *place.ok_or_else(|| misnumbered(&rejection.script))?;
            }
            applied
        };
        if !rejected.is_empty() {
            // Records of the same batch that leave values out which a rejected one has went through the scripts.
            rejected.append(&mut held);
            let followers = keeper.held_back(&given, RecordStage::Script, &rejected)?;
            if !followers.is_empty() {
                batch = without_versions(&given, &batch, &followers)?;
            }
            held = followers;
        }
        rejected.append(&mut held);
        rejected.sort_by_key(|rejection| rejection.row);
        name_rows(&given, &mut rejected)?;
        keeper.withdraw(&given, RecordStage::Script, &rejected).await?;
        Ok(Transformed { batch, dropped, rejected })
    }
}

/// The batch with each row's place in it as its ordinal, and the ordinals that they had.
fn numbered(batch: &Batch) -> Result<(Batch, Vec<u64>), Failure> {
    let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
    let mut writer = BatchWriter::with_capacity(batch.bytes.len());
    let tables: Vec<_> = rows.tables().iter().map(|table| writer.add_table(table)).collect();
    let mut ordinals = Vec::with_capacity(batch.rows as usize);
    for (place, row) in (0..).zip(rows.rows()) {
        let row = row.map_err(damaged)?;
        writer.append_row_at(&row, tables[usize::from(row.table_index().0)], place);
        ordinals.push(row.version().ordinal);
    }
    Ok((Batch { rows: writer.rows(), bytes: Bytes::from(writer.finish()) }, ordinals))
}

/// The batch with the ordinals that its rows had; `None` where a script changed a number.
fn renumbered(batch: &Batch, ordinals: &[u64]) -> Result<Option<Batch>, Failure> {
    if batch.rows == 0 {
        return Ok(Some(Batch { rows: 0, bytes: Bytes::new() }));
    }
    let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
    let mut writer = BatchWriter::with_capacity(batch.bytes.len());
    let tables: Vec<_> = rows.tables().iter().map(|table| writer.add_table(table)).collect();
    let mut least = 0;
    for row in rows.rows() {
        let row = row.map_err(damaged)?;
        let place = row.version().ordinal;
        let ordinal = usize::try_from(place).ok().and_then(|place| ordinals.get(place));
        let Some(ordinal) = ordinal.filter(|_| place >= least) else { return Ok(None) };
        least = place;
        writer.append_row_at(&row, tables[usize::from(row.table_index().0)], *ordinal);
    }
    Ok(Some(Batch { rows: writer.rows(), bytes: Bytes::from(writer.finish()) }))
}

/// The places that rows of a numbered batch have in the first one.
fn places(batch: &Batch) -> Result<Vec<u32>, Failure> {
    let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
    let place = |row: tarn_batch::Row<'_>| u32::try_from(row.version().ordinal).unwrap_or(u32::MAX);
    rows.rows().map(|row| row.map(place).map_err(damaged)).collect()
}

fn misnumbered(script: &str) -> Failure {
    Failure::permanent(
        "script_version_changed",
        format!("script {script} changed the versions or the order of rows, which belong to the source"),
    )
    .with_hint("hand rows on with the version that they came with, in their order")
}

/// The batch without some rows, and the places of the others in it.
fn without(batch: &Batch, rejected: &[Rejection]) -> Result<(Batch, Vec<u32>), Failure> {
    let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
    let gone: HashSet<u32> = rejected.iter().map(|rejection| rejection.row).collect();
    let mut places = Vec::new();
    let rest = picked(&rows, |at, _| {
        let stays = !gone.contains(&at);
        if stays {
            places.push(at);
        }
        stays
    });
    Ok((rest.map_err(damaged)?, places))
}

/// What scripts made of a batch, without what they made of some of its rows. Those are changes, and a change has a
/// version of its own.
fn without_versions(given: &Batch, made: &Batch, rejected: &[Rejection]) -> Result<Batch, Failure> {
    let rows = Rows::parse(&given.bytes).map_err(damaged)?;
    let gone: HashSet<u32> = rejected.iter().map(|rejection| rejection.row).collect();
    let mut versions = HashSet::new();
    for (at, row) in (0..).zip(rows.rows()) {
        let row = row.map_err(damaged)?;
        if gone.contains(&at) {
            versions.insert((row.version(), table_name(rows.table(&row))));
        }
    }
    if made.rows == 0 {
        return Ok(made.clone());
    }
    let made = Rows::parse(&made.bytes).map_err(damaged)?;
    picked(&made, |_, row| !versions.contains(&(row.version(), table_name(made.table(row))))).map_err(damaged)
}

/// Names table and key of rejected rows as the batch has them: what a script says of its rows is its own.
fn name_rows(given: &Batch, rejected: &mut [Rejection]) -> Result<(), Failure> {
    if rejected.is_empty() {
        return Ok(());
    }
    let rows = Rows::parse(&given.bytes).map_err(damaged)?;
    let mut next = rejected.iter_mut().peekable();
    for (at, row) in (0..).zip(rows.rows()) {
        let row = row.map_err(damaged)?;
        while let Some(rejection) = next.next_if(|rejection| rejection.row <= at) {
            let table = rows.table(&row);
            (rejection.table, rejection.key) = (table_name(table), key_text(table, &row));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tarn_batch::Op;

    use super::super::letter::tests::{Change, changes, loaded};
    use super::*;

    /// Drops and rejects rows by their key; what passes is as it was.
    struct Sorter {
        drops: i64,
        rejects: i64,
        seen: Arc<std::sync::Mutex<Vec<u32>>>,
    }

    impl Transform for Sorter {
        async fn apply(&mut self, batch: Batch) -> Result<Transformed, Failure> {
            self.seen.lock().expect("whole").push(batch.rows);
            let rows = Rows::parse(&batch.bytes).expect("a batch");
            let (mut dropped, mut rejected) = (0, Vec::new());
            let rest = picked(&rows, |at, row| {
                let key = row.cell(0).ok().and_then(tarn_batch::Cell::value).expect("a key");
                let key = i64::from_le_bytes(key.try_into().expect("eight bytes"));
                if key == self.rejects {
                    rejected.push(Rejection { row: at, message: "no".into(), ..Rejection::default() });
                }
                dropped += u32::from(key == self.drops);
                key != self.drops && key != self.rejects
            });
            Ok(Transformed { batch: rest.expect("a batch"), dropped, rejected })
        }
    }

    fn link(name: &str, drops: i64, rejects: i64) -> Link<Sorter> {
        let script = Sorter { drops, rejects, seen: Arc::default() };
        Link { script, name: name.into(), version: 4, again: None }
    }

    fn versions(batch: &Batch) -> Vec<(u64, u64)> {
        let rows = Rows::parse(&batch.bytes).expect("a batch");
        let version = |row: tarn_batch::Row<'_>| (row.version().commit, row.version().ordinal);
        rows.rows().map(|row| version(row.expect("a row"))).collect()
    }

    #[tokio::test]
    async fn rows_of_one_script_go_into_the_next_and_an_error_names_its_script_and_its_row() {
        let mut chain = Chain::new(vec![link("first", 2, 3), link("second", 4, 5)], None);
        // Rows of a load have one version, so their places tell them apart.
        let answer = chain.apply(loaded(1, &[1, 2, 3, 4, 5, 6])).await.expect("applied");
        assert_eq!((answer.dropped, answer.batch.rows), (2, 2));
        assert_eq!(versions(&answer.batch), [(5, 1), (5, 1)], "they have their own versions again");
        let told: Vec<_> = answer
            .rejected
            .iter()
            .map(|one| (one.row, one.key.as_str(), one.script.as_str(), one.script_version))
            .collect();
        assert_eq!(told, [(2, "id=3", "first", 4), (4, "id=5", "second", 4)]);
        assert_eq!(chain.links[1].script.seen.lock().expect("whole")[..], [4]);
    }

    #[tokio::test]
    async fn a_script_that_changes_versions_is_told_of() {
        struct Swap;
        impl Transform for Swap {
            async fn apply(&mut self, batch: Batch) -> Result<Transformed, Failure> {
                let rows = Rows::parse(&batch.bytes).expect("a batch");
                let mut writer = BatchWriter::default();
                let table = writer.add_table(&rows.tables()[0]);
                for row in rows.rows() {
                    writer.append_row_at(&row.expect("a row"), table, 99);
                }
                let batch = Batch { rows: writer.rows(), bytes: Bytes::from(writer.finish()) };
                Ok(Transformed { batch, dropped: 0, rejected: Vec::new() })
            }
        }
        let links =
            ["one", "two"].map(|name| Link { script: Swap, name: name.into(), version: 1, again: None });
        let given = changes(&[Change(Op::Insert, 10, 1, Some("a"), None)]);
        let failure = Chain::new(links.into(), None).apply(given).await.expect_err("told");
        assert_eq!(failure.code, "script_version_changed");
    }
}
