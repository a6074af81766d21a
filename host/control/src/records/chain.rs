//! A mirror's scripts, one after another.
//!
//! Rows of one go into the next. A record that one of them cannot take is told with that script, and kept as the
//! source sent it: a replay runs it through all of them. So a rejection has to find its way back to the first
//! batch. With several scripts, or several instances of them, each row carries its place in that batch as the ordinal
//! of its version ([`super::sharing`]).

use std::collections::HashSet;
use std::sync::Arc;

use tarn_batch::Batch as Rows;
use tarn_model::{Failure, RecordStage};
use tarn_replication::{Batch, Rejection, Transform, Transformed};

use super::desk::{Keeper, damaged};
use super::lanes::Lanes;
use super::letter::{key_text, picked, table_name};
use super::series::{Series, misnumbered};
use super::sharing::Applied;

/// See the module's documentation.
pub(crate) struct Chain<T> {
    lanes: Lanes<T>,
    keeper: Option<Arc<Keeper>>,
}

impl<T: Transform> Chain<T> {
    /// A chain of at least one lane. The keeper is missing where letters are not kept, or not by this chain.
    pub(crate) fn new(lanes: Vec<Series<T>>, keeper: Option<Arc<Keeper>>) -> Self {
        Self { lanes: Lanes::new(lanes), keeper }
    }
}

impl<T: Transform> Transform for Chain<T> {
    async fn apply(&mut self, given: Batch) -> Result<Transformed, Failure> {
        let Some(keeper) = self.keeper.clone() else {
            let Applied { batch, dropped, mut rejected } = self.lanes.run(given.clone()).await?;
            name_rows(&given, &mut rejected)?;
            return Ok(Transformed { batch, dropped, rejected });
        };
        let over = keeper.passed_over(&given, RecordStage::Script)?;
        if over.is_empty() {
            return self.apply_kept(given, &keeper).await;
        }
        let (rest, places) = without(&given, &over)?;
        let mut made = self.apply_kept(rest, &keeper).await?;
        put_back(&mut made.rejected, &places)?;
        Ok(made)
    }
}

impl<T: Transform> Chain<T> {
    /// Applies the scripts, where letters are kept.
    async fn apply_kept(&mut self, given: Batch, keeper: &Keeper) -> Result<Transformed, Failure> {
        let mut held = keeper.held_back(&given, RecordStage::Script, &[])?;
        let Applied { mut batch, dropped, mut rejected } = if held.is_empty() {
            self.lanes.run(given.clone()).await?
        } else {
            let (rest, places) = without(&given, &rows_of(&held))?;
            let mut applied = self.lanes.run(rest).await?;
            put_back(&mut applied.rejected, &places)?;
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
        name_rows(&given, &mut rejected)?;
        keeper.withdraw(&given, RecordStage::Script, &rejected).await?;
        Ok(Transformed { batch, dropped, rejected })
    }
}

/// Which rows are rejected.
fn rows_of(rejected: &[Rejection]) -> HashSet<u32> {
    rejected.iter().map(|rejection| rejection.row).collect()
}

/// Gives rejections of a batch without some rows the places that their rows have in the whole one.
fn put_back(rejected: &mut [Rejection], places: &[u32]) -> Result<(), Failure> {
    for rejection in rejected {
        let place = usize::try_from(rejection.row).ok().and_then(|row| places.get(row));
        rejection.row = *place.ok_or_else(|| misnumbered(&rejection.script))?;
    }
    Ok(())
}

/// The batch without some rows, and the places of the others in it.
fn without(batch: &Batch, gone: &HashSet<u32>) -> Result<(Batch, Vec<u32>), Failure> {
    let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
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
    let gone = rows_of(rejected);
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

/// Puts rejections in the order of their rows, and names table and key as the batch has them: what a script says of
/// its rows is its own.
fn name_rows(given: &Batch, rejected: &mut [Rejection]) -> Result<(), Failure> {
    if rejected.is_empty() {
        return Ok(());
    }
    rejected.sort_by_key(|rejection| rejection.row);
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
pub(super) mod tests {
    use bytes::Bytes;
    use tarn_batch::{BatchWriter, Op};

    use super::super::letter::tests::{Change, changes, loaded};
    use super::super::link::Link;
    use super::*;

    /// Drops and rejects rows by their key; what passes is as it was.
    pub(crate) struct Sorter {
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

    pub(crate) fn link(name: &str, drops: i64, rejects: i64) -> Link<Sorter> {
        let script = Sorter { drops, rejects, seen: Arc::default() };
        Link { script, name: name.into(), version: 4, again: None }
    }

    pub(crate) fn versions(batch: &Batch) -> Vec<(u64, u64)> {
        let rows = Rows::parse(&batch.bytes).expect("a batch");
        let version = |row: tarn_batch::Row<'_>| (row.version().commit, row.version().ordinal);
        rows.rows().map(|row| version(row.expect("a row"))).collect()
    }

    #[tokio::test]
    async fn rows_of_one_script_go_into_the_next_and_an_error_names_its_script_and_its_row() {
        let links = vec![link("first", 2, 3), link("second", 5, 1)];
        let second = Arc::clone(&links[1].script.seen);
        let mut chain = Chain::new(vec![Series::new(links)], None);
        // Rows of a load have one version, so their places tell them apart.
        let answer = chain.apply(loaded(1, &[1, 2, 3, 4, 5, 6])).await.expect("applied");
        assert_eq!((answer.dropped, answer.batch.rows), (2, 2));
        assert_eq!(versions(&answer.batch), [(5, 1), (5, 1)], "they have their own versions again");
        let told: Vec<_> = answer
            .rejected
            .iter()
            .map(|one| (one.row, one.key.as_str(), one.script.as_str(), one.script_version))
            .collect();
        // The second script's is the earlier one, and each is told with the key of its own row.
        assert_eq!(told, [(0, "id=1", "second", 4), (2, "id=3", "first", 4)]);
        assert_eq!(second.lock().expect("whole")[..], [4]);
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
        let failure = Chain::new(vec![Series::new(links.into())], None).apply(given).await.expect_err("told");
        assert_eq!(failure.code, "script_version_changed");
    }

    /// How many rows each batch had that a script was given.
    type Seen = Arc<std::sync::Mutex<Vec<u32>>>;

    /// A chain of some lanes, and who sees what of them.
    fn lanes(count: usize, drops: i64, rejects: i64) -> (Chain<Sorter>, Vec<Seen>) {
        let links: Vec<_> = (0..count).map(|_| link("only", drops, rejects)).collect();
        let seen = links.iter().map(|link| Arc::clone(&link.script.seen)).collect();
        (Chain::new(links.into_iter().map(|link| Series::new(vec![link])).collect(), None), seen)
    }

    #[tokio::test]
    async fn several_instances_make_of_a_batch_what_one_makes_of_it() {
        let given: Vec<_> =
            (0..500).map(|at| Change(Op::Update, at + 10, at as i64 % 40, Some("x"), None)).collect();
        let given = changes(&given);
        let expected = lanes(1, 7, 11).0.apply(given.clone()).await.expect("applied");
        let (mut chain, seen) = lanes(4, 7, 11);
        for _ in 0..2 {
            let answer = chain.apply(given.clone()).await.expect("applied");
            assert_eq!((&answer.batch, answer.dropped), (&expected.batch, expected.dropped));
            let rows = |rejected: &[Rejection]| -> Vec<_> {
                rejected.iter().map(|one| (one.row, one.key.clone())).collect()
            };
            assert_eq!(rows(&answer.rejected), rows(&expected.rejected));
        }
        let seen: Vec<u32> = seen.iter().map(|seen| seen.lock().expect("whole").iter().sum()).collect();
        assert_eq!(seen.iter().sum::<u32>(), 1_000);
        assert!(seen.iter().all(|rows| *rows > 0), "each has its part: {seen:?}");
    }

    #[tokio::test]
    async fn what_fails_in_one_of_several_instances_fails_the_batch_and_no_later_one_goes_around_it() {
        struct Broken;
        impl Transform for Broken {
            async fn apply(&mut self, batch: Batch) -> Result<Transformed, Failure> {
                match batch.rows {
                    0 => Ok(Transformed { batch, dropped: 0, rejected: Vec::new() }),
                    _ => Err(Failure::permanent("plugin_trapped", "gone")),
                }
            }
        }
        let lane = || Series::new(vec![Link { script: Broken, name: "b".into(), version: 1, again: None }]);
        let mut chain = Chain::new(vec![lane(), lane()], None);
        let given = changes(&[Change(Op::Insert, 10, 1, Some("a"), None)]);
        assert_eq!(chain.apply(given.clone()).await.expect_err("told").code, "plugin_trapped");
        assert_eq!(chain.apply(given).await.expect_err("told").code, "script_instances_gone");
    }
}
