//! Looking at suspects again, at new points that the destination has passed.

use std::collections::HashMap;
use std::time::Duration;

use tarn_batch::BatchWriter;
use tarn_model::{DifferenceKind, Failure};
use tarn_replication::Limits;
use tarn_wasm::{Finding, RowsRead};
use tokio::time::sleep;

use super::point::{Passed, Place, Point, passed};
use super::run::{Desk, Sides, Subject};
use super::suspect::{AtSource, Suspect, Verdict};
use crate::config::{
    VERIFY_BATCH_BYTES_MAX, VERIFY_BATCH_ROWS_MAX, VERIFY_LOOKUP_KEYS, VERIFY_PAUSE_MAX, VERIFY_PAUSE_MIN,
    VERIFY_ROUNDS_MAX,
};

/// What became of suspects.
#[derive(Debug, Default)]
pub(super) struct Judged {
    /// Rows that differ: how, their keys at the source, and the columns.
    pub(super) different: Vec<(DifferenceKind, Vec<String>, Vec<String>)>,
    /// Rows that changed at each look.
    pub(super) unsettled: u64,
    /// Rows of which nothing can be said.
    pub(super) not_comparable: u64,
    /// Why.
    pub(super) notes: Vec<String>,
    /// The numbers of the keys of all of them.
    pub(super) hashes: Vec<u64>,
}

/// Bounds of one read.
pub(super) const LIMITS: Limits =
    Limits { rows_max: VERIFY_BATCH_ROWS_MAX, bytes_max: VERIFY_BATCH_BYTES_MAX, wait: Duration::ZERO };

/// Judges suspects of one table.
pub(super) async fn judge(
    desk: &Desk,
    sides: &mut Sides,
    subject: &Subject,
    mut suspects: Vec<Suspect>,
) -> Result<Judged, Failure> {
    let mut judged = Judged::default();
    let mut pause = VERIFY_PAUSE_MIN;
    for round in 0..VERIFY_ROUNDS_MAX {
        if suspects.is_empty() {
            return Ok(judged);
        }
        if round > 0 {
            sleep(pause).await;
            pause = (pause * 2).min(VERIFY_PAUSE_MAX);
        }
        let point = Point::hold(&sides.instances).await?;
        desk.waiting(point.place.sequence).await?;
        let outcome = passed(&desk.catalog, &desk.stages, sides.mirror.id, point.place.sequence).await?;
        desk.running().await?;
        if let Passed::No(why) = outcome {
            judged.not_comparable += suspects.len() as u64;
            judged.hashes.extend(suspects.iter().map(|suspect| suspect.hash));
            judged.notes.push(format!("rows that are not equal may only be late: {why}"));
            return Ok(judged);
        }
        let mut open = Vec::new();
        let mut rest = suspects.into_iter();
        loop {
            let chunk: Vec<_> = rest.by_ref().take(VERIFY_LOOKUP_KEYS).collect();
            if chunk.is_empty() {
                break;
            }
            look(sides, subject, &point.place, chunk, &mut open, &mut judged).await?;
        }
        suspects = open;
    }
    judged.unsettled += suspects.len() as u64;
    judged.hashes.extend(suspects.iter().map(|suspect| suspect.hash));
    Ok(judged)
}

/// One look at some suspects. Those that need another one go to `open`.
async fn look(
    sides: &mut Sides,
    subject: &Subject,
    point: &Place,
    chunk: Vec<Suspect>,
    open: &mut Vec<Suspect>,
    judged: &mut Judged,
) -> Result<(), Failure> {
    let keys: Vec<_> = chunk.iter().map(|suspect| suspect.source_key.clone()).collect();
    let found = sides.look_up(subject, point, &keys).await?;
    let absent: Vec<usize> = (0..chunk.len()).filter(|&at| !found.contains_key(&chunk[at].hash)).collect();
    let mut extra: HashMap<usize, Finding> = HashMap::new();
    if !absent.is_empty() {
        let keys: Vec<_> = absent.iter().map(|&at| chunk[at].target_key.clone()).collect();
        let schema = BatchWriter::schema([&subject.table]);
        for finding in sides.comparison.find(&schema, &keys, point.sequence).await? {
            extra.insert(absent[finding.at as usize], finding);
        }
    }
    for (at, mut suspect) in chunk.into_iter().enumerate() {
        let verdict = match found.get(&suspect.hash) {
            Some(finding) => suspect.judge(finding.as_ref(), point.sequence, AtSource::Present),
            None => suspect.judge(extra.get(&at), point.sequence, AtSource::Absent),
        };
        if matches!(verdict, Verdict::Different(..) | Verdict::Unwritable(_)) {
            judged.hashes.push(suspect.hash);
        }
        match verdict {
            Verdict::Equal => {}
            Verdict::Different(kind, columns) => judged.different.push((kind, suspect.source_key, columns)),
            Verdict::Unwritable(columns) => {
                judged.not_comparable += 1;
                judged.notes.push(format!("the destination cannot hold values of {}", columns.join(", ")));
            }
            Verdict::Open => open.push(suspect),
        }
    }
    Ok(())
}

impl Sides {
    /// Rows of the source by their keys, as of a point, against the destination's: by the number of their keys
    /// there, what was found.
    pub(super) async fn look_up(
        &mut self,
        subject: &Subject,
        point: &Place,
        keys: &[Vec<String>],
    ) -> Result<HashMap<u64, Option<Finding>>, Failure> {
        let read = RowsRead { token: &point.token, table: &subject.source, keys, start: &self.start };
        self.prober.open_rows(read).await?;
        let mut found = HashMap::with_capacity(keys.len());
        while let Some(read) = self.prober.read(LIMITS).await? {
            self.pace.take(read.len_bytes()).await;
            let scripted = self.script.apply(&read).await?;
            if scripted.rows.rows == 0 {
                continue;
            }
            let compared = self.comparison.compare(&scripted.rows, point.sequence, u64::MAX).await?;
            let mut findings: HashMap<u32, Finding> =
                compared.findings.into_iter().map(|finding| (finding.at, finding)).collect();
            for (at, hash) in (0..).zip(compared.hashes) {
                found.insert(hash, findings.remove(&at));
            }
        }
        Ok(found)
    }
}
