//! One table: its source's rows, partition by partition, then what only the destination has.

use tarn_batch::Batch as Rows;
use tarn_model::{ComparedRows, DifferenceKind, Failure, RowDifference, TableStage, TableVerification};
use tarn_replication::{Batch, PartitionRead, SnapshotLedger as _, SnapshotSource as _};
use tarn_wasm::{Compared, Outcome};
use tokio::time::Instant;

use super::digest::Digest;
use super::keys::{key_texts, named};
use super::point::Point;
use super::run::{Desk, Sides, Subject};
use super::script::{Scripted, damaged};
use super::search;
use super::suspect::Suspect;
use super::trial::{Judged, LIMITS, judge};
use crate::config::{
    VERIFY_DIFFERENCES_MAX, VERIFY_FIRST_DIFFERENCES, VERIFY_PARTITION_ROWS, VERIFY_PARTITIONS_MIN,
    VERIFY_SAVE_INTERVAL, VERIFY_SUSPECTS_MAX, VERIFY_UNEQUAL_MAX,
};

/// Whether a table needs another step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    More,
    Done,
}

/// Ends a table without all of it being compared.
pub(super) fn leave_out(table: &mut TableVerification, why: &str) {
    let (_, partitions) = table.partitions();
    table.note(why);
    table.incomplete = true;
    table.under_way = ComparedRows::default();
    table.stage = TableStage::Ended { partitions };
}

/// Does the next step of a table and stores what came of it.
pub(super) async fn step(
    desk: &Desk,
    sides: &mut Sides,
    subject: &Subject,
    tables: &mut [TableVerification],
    at: usize,
) -> Result<Step, Failure> {
    tables[at].under_way = ComparedRows::default();
    match tables[at].stage.clone() {
        TableStage::Ended { .. } => return Ok(Step::Done),
        TableStage::Planned => plan(desk, sides, subject, &mut tables[at]).await?,
        TableStage::Comparing { partitions, done } if done == partitions.len() => {
            tables[at].stage = TableStage::Searching { partitions: done, after: Vec::new() };
        }
        TableStage::Comparing { partitions, done } => {
            let draft = tables[at].clone();
            let pass = Pass { desk, sides, subject, draft, tables, at };
            let (mut table, digest) = pass.compare(&partitions[done]).await?;
            table.rows = table.rows_now();
            table.under_way = ComparedRows::default();
            if let TableStage::Comparing { done, .. } = &mut table.stage {
                *done += 1;
            }
            tables[at] = table;
            desk.save(tables, Some((&subject.source, &digest.to_bytes()))).await?;
            return Ok(Step::More);
        }
        TableStage::Searching { .. } => search::search(desk, sides, subject, tables, at).await?,
    }
    desk.save(tables, None).await?;
    Ok(Step::More)
}

/// Cuts a table into partitions.
async fn plan(
    desk: &Desk,
    sides: &mut Sides,
    subject: &Subject,
    table: &mut TableVerification,
) -> Result<(), Failure> {
    let loads = desk.catalog.ledger(sides.mirror.id).load().await?;
    if loads.iter().any(|load| load.table == subject.source && !load.is_complete()) {
        leave_out(table, "the table is not loaded yet");
        return Ok(());
    }
    let mut planner = sides.instances.source().await?;
    let partitions =
        planner.plan_snapshot(&subject.source, VERIFY_PARTITION_ROWS, VERIFY_PARTITIONS_MIN).await?;
    table.stage = TableStage::Comparing { partitions, done: 0 };
    Ok(())
}

/// What the source's rows of a table add up to so far.
pub(super) async fn digest(desk: &Desk, subject: &Subject) -> Result<Digest, Failure> {
    let stored = desk.catalog.verification_digest(desk.id, &subject.source).await?;
    Ok(stored.and_then(|bytes| Digest::from_bytes(&bytes)).unwrap_or_else(Digest::new))
}

/// Takes what became of suspects into a table's result; false when it has more differences than anybody wants
/// to know.
pub(super) fn take(table: &mut TableVerification, subject: &Subject, judged: Judged) -> bool {
    table.under_way.unsettled += judged.unsettled;
    table.under_way.not_comparable += judged.not_comparable;
    for note in judged.notes {
        table.note(note);
    }
    let room = VERIFY_UNEQUAL_MAX.saturating_sub(table.unequal.len());
    table.unequal.extend(judged.hashes.into_iter().take(room));
    for (kind, key, columns) in judged.different {
        table.under_way.differing += 1;
        // What only the destination has was not among the rows that were compared.
        table.under_way.compared += u64::from(kind == DifferenceKind::Extra);
        if table.first_differences.len() < VERIFY_FIRST_DIFFERENCES {
            table.first_differences.push(RowDifference { kind, key: named(&subject.table, &key), columns });
        }
    }
    if table.rows_now().differing < VERIFY_DIFFERENCES_MAX {
        return true;
    }
    table.note(format!("more than {VERIFY_DIFFERENCES_MAX} rows differ: the rest was not compared"));
    table.incomplete = true;
    table.rows = table.rows_now();
    table.under_way = ComparedRows::default();
    let (_, partitions) = table.partitions();
    table.stage = TableStage::Ended { partitions };
    false
}

/// Reading one partition.
struct Pass<'a> {
    desk: &'a Desk,
    sides: &'a mut Sides,
    subject: &'a Subject,
    /// The table as it will be once the partition is done: until then only the counts of it are stored.
    draft: TableVerification,
    tables: &'a mut [TableVerification],
    at: usize,
}

impl Pass<'_> {
    /// Compares a partition's rows; the table after it, and what the keys add up to with them.
    async fn compare(mut self, partition: &str) -> Result<(TableVerification, Digest), Failure> {
        let mut digest = digest(self.desk, self.subject).await?;
        let point = Point::hold(&self.sides.instances).await?;
        let read = PartitionRead {
            token: point.place.token.clone(),
            partition: partition.to_owned(),
            start: self.sides.start.clone(),
            generation: 0,
        };
        self.sides.reader.open_partition(&read).await?;
        let mut suspects = Vec::new();
        let mut saved = Instant::now();
        while let Some(read) = self.sides.reader.read(LIMITS).await? {
            self.sides.pace.take(read.len_bytes()).await;
            suspects.extend(self.compare_batch(&read, point.place.sequence, &mut digest).await?);
            if suspects.len() >= VERIFY_SUSPECTS_MAX && !self.judge(&mut suspects).await? {
                return Ok((self.draft, digest));
            }
            if saved.elapsed() > VERIFY_SAVE_INTERVAL {
                self.tables[self.at].under_way = self.draft.under_way;
                self.desk.save(self.tables, None).await?;
                saved = Instant::now();
            }
        }
        drop(point);
        self.judge(&mut suspects).await?;
        Ok((self.draft, digest))
    }

    async fn judge(&mut self, suspects: &mut Vec<Suspect>) -> Result<bool, Failure> {
        if suspects.is_empty() {
            return Ok(true);
        }
        let judged = judge(self.desk, self.sides, self.subject, std::mem::take(suspects)).await?;
        Ok(take(&mut self.draft, self.subject, judged))
    }

    /// Compares some rows; those that are not equal.
    async fn compare_batch(
        &mut self,
        read: &Batch,
        sequence: u64,
        digest: &mut Digest,
    ) -> Result<Vec<Suspect>, Failure> {
        let scripted = self.sides.script.apply(read).await?;
        let table = &mut self.draft;
        if scripted.rejected > 0 {
            table.under_way.not_comparable += scripted.rejected;
            table.note("the script fails at some rows");
        }
        table.keys_changed |= !scripted.keeps_keys;
        if scripted.rows.rows == 0 {
            return Ok(Vec::new());
        }
        let hash_max = self.desk.hash_max;
        let compared = self.sides.comparison.compare(&scripted.rows, sequence, hash_max).await?;
        for hash in compared.hashes.iter().copied().filter(|hash| *hash <= hash_max) {
            digest.add(hash);
            table.under_way.compared += 1;
        }
        for column in &compared.uncompared {
            table.note(format!(
                "column {column} is held as JSON, in a form of the destination's own, and was not compared"
            ));
            table.incomplete = true;
        }
        if compared.findings.is_empty() {
            return Ok(Vec::new());
        }
        let origins = self.sides.script.origins(read, &scripted).await?;
        suspects(table, read, &scripted, &compared, &origins)
    }
}

/// The rows that were not found equal.
fn suspects(
    table: &mut TableVerification,
    read: &Batch,
    scripted: &Scripted,
    compared: &Compared,
    origins: &[usize],
) -> Result<Vec<Suspect>, Failure> {
    let before = Rows::parse(&read.bytes).map_err(damaged)?;
    let after = Rows::parse(&scripted.rows.bytes).map_err(damaged)?;
    let before_rows = before.rows().collect::<Result<Vec<_>, _>>().map_err(damaged)?;
    let after_rows = after.rows().collect::<Result<Vec<_>, _>>().map_err(damaged)?;
    let mut suspects = Vec::with_capacity(compared.findings.len());
    for finding in &compared.findings {
        if finding.outcome == Outcome::Unwritable {
            table.under_way.not_comparable += 1;
            table.note(format!("the destination cannot hold values of {}", finding.columns.join(", ")));
            continue;
        }
        let at = finding.at as usize;
        let (source, target) = (&before_rows[origins[at]], &after_rows[at]);
        let source_key = key_texts(before.table(source), source).map_err(damaged)?;
        let target_key = key_texts(after.table(target), target).map_err(damaged)?;
        suspects.push(Suspect::new(source_key, target_key, compared.hashes[at], finding.commit));
    }
    Ok(suspects)
}
