//! One verification, from where its progress says it is to its end.

use std::sync::Arc;

use tarn_batch::{Batch as Rows, Table};
use tarn_catalog::Catalog;
use tarn_model::{
    ComparedRows, Equality, Failure, Mirror, Position, TableStage, TableVerification, Verification,
    VerificationState,
};
use tarn_replication::{Remedy, remedy};
use tarn_wasm::{ComparisonInstance, LookupInstance};
use tokio::time::{Instant, sleep};

use super::instances::Instances;
use super::pace::Pace;
use super::point::Standing;
use super::script::{Script, damaged};
use super::table;
use crate::config::{
    VERIFY_ATTEMPTS_MAX, VERIFY_CATCH_UP_POLL, VERIFY_GONE_POLL, VERIFY_MIRROR_WAIT_MAX,
    VERIFY_RETRY_PAUSE_MAX, VERIFY_RETRY_PAUSE_MIN,
};
use crate::run::Workshop;
use crate::stage::Stages;
use crate::watch::Watch;

/// Where the state and the progress of one verification are kept.
pub(super) struct Desk {
    pub(super) catalog: Catalog,
    pub(super) stages: Stages,
    pub(super) id: i64,
    /// The number up to which keys are part of the sample.
    pub(super) hash_max: u64,
}

/// Both sides of the mirror, for one attempt.
pub(super) struct Sides {
    pub(super) mirror: Mirror,
    pub(super) instances: Instances,
    /// Reads partitions.
    pub(super) reader: LookupInstance,
    /// Reads single rows meanwhile.
    pub(super) prober: LookupInstance,
    pub(super) script: Script,
    pub(super) comparison: ComparisonInstance,
    /// Where the mirror's stream starts.
    pub(super) start: Position,
    pub(super) pace: Pace,
}

/// A table to verify.
pub(super) struct Subject {
    /// As the settings name it.
    pub(super) source: String,
    /// As the source has it.
    pub(super) table: Table,
}

/// How an attempt ended without failure.
enum AttemptEnd {
    /// Every table is at its end.
    Done,
    /// The mirror took a request, and is looked at anew.
    Changed,
    /// The mirror is gone.
    Gone,
}

impl Desk {
    /// Records that the mirror is waited for.
    pub(super) async fn waiting(&self, sequence: u64) -> Result<(), Failure> {
        let message = format!("until the destination has passed {sequence}");
        Ok(self.catalog.note_verification(self.id, VerificationState::Waiting, &message).await?)
    }

    /// Records that it goes on.
    pub(super) async fn running(&self) -> Result<(), Failure> {
        Ok(self.catalog.note_verification(self.id, VerificationState::Running, "").await?)
    }

    /// How many requests the mirror took; nothing where it is gone.
    async fn epoch(&self, mirror: i64) -> Result<Option<i64>, Failure> {
        Ok(self.catalog.mirror_by_id(mirror).await?.map(|mirror| mirror.epoch))
    }

    /// Stores the progress, with what one table's keys add up to where that changed.
    pub(super) async fn save(
        &self,
        tables: &[TableVerification],
        digest: Option<(&str, &[u8])>,
    ) -> Result<(), Failure> {
        Ok(self.catalog.save_verification(self.id, tables, digest).await?)
    }
}

/// Runs a verification to its end. Dropping it anywhere loses what was not stored, which is done again.
pub(super) async fn verify(workshop: Workshop, verification: Verification) {
    let watch = Arc::new(Watch::new(
        verification.mirror,
        &verification.name,
        workshop.journal.clone(),
        workshop.progress.clone(),
    ));
    let id = verification.id;
    let catalog = workshop.catalog.clone();
    let mut tables = verification.tables.clone();
    let desk = Desk {
        catalog: catalog.clone(),
        stages: workshop.stages.clone(),
        id,
        hash_max: hash_max(verification.sample_rate),
    };
    if verification.state == VerificationState::Planned {
        let count = match tables.len() {
            1 => "one table".to_owned(),
            count => format!("{count} tables"),
        };
        watch.info(format!("verification {id} began: {count} to compare"));
    } else {
        watch.info(format!("verification {id} goes on where it was"));
    }
    let ended = tokio::select! {
        ended = attempts(&workshop, &watch, &desk, verification.mirror, &mut tables) => ended,
        // What is under way is dropped: nothing of it is wanted any more.
        () = gone(&catalog, verification.mirror) => Ok(AttemptEnd::Gone),
    };
    let (state, message) = match ended {
        Ok(AttemptEnd::Done | AttemptEnd::Changed) => (VerificationState::Done, String::new()),
        Ok(AttemptEnd::Gone) => (VerificationState::Cancelled, "the mirror was dropped".to_owned()),
        Err(failure) => (VerificationState::Failed, failure.to_string()),
    };
    tell(&watch, &Verification { state, tables, ..verification }, &message);
    if let Err(error) = catalog.note_verification(id, state, &message).await {
        // What is stored says that it is under way, and so it goes on once the catalog answers.
        tracing::warn!(verification = id, error = error.chain(), "the end of a verification was not stored");
    }
}

/// Waits until a mirror is dropped.
async fn gone(catalog: &Catalog, mirror: i64) {
    loop {
        sleep(VERIFY_GONE_POLL).await;
        // A catalog that does not answer says nothing about it.
        if let Ok(found) = catalog.mirror_by_id(mirror).await
            && Standing::of(found.as_ref()) == Standing::Gone
        {
            return;
        }
    }
}

/// Attempts until one ends, or too many in a row brought nothing.
async fn attempts(
    workshop: &Workshop,
    watch: &Arc<Watch>,
    desk: &Desk,
    mirror: i64,
    tables: &mut [TableVerification],
) -> Result<AttemptEnd, Failure> {
    let mut pause = VERIFY_RETRY_PAUSE_MIN;
    let mut failures = 0;
    loop {
        let before = progress(tables);
        let failure = match attempt(workshop, watch, desk, mirror, tables).await {
            Ok(AttemptEnd::Changed) => continue,
            Ok(end) => return Ok(end),
            Err(failure) => failure,
        };
        if progress(tables) == before {
            failures += 1;
        } else {
            (failures, pause) = (1, VERIFY_RETRY_PAUSE_MIN);
        }
        if remedy(&failure) != Remedy::BackOff || failures >= VERIFY_ATTEMPTS_MAX {
            return Err(failure);
        }
        tracing::debug!(verification = desk.id, %failure, failures, "a verification is tried again");
        sleep(pause).await;
        pause = (pause * 2).min(VERIFY_RETRY_PAUSE_MAX);
    }
}

/// What of the tables is done.
fn progress(tables: &[TableVerification]) -> Vec<(TableStage, ComparedRows)> {
    tables.iter().map(|table| (table.stage.clone(), table.rows)).collect()
}

async fn attempt(
    workshop: &Workshop,
    watch: &Arc<Watch>,
    desk: &Desk,
    mirror: i64,
    tables: &mut [TableVerification],
) -> Result<AttemptEnd, Failure> {
    let Some(mirror) = settled(desk, mirror).await? else { return Ok(AttemptEnd::Gone) };
    desk.running().await?;
    let epoch = mirror.epoch;
    let mut sides = Sides::new(workshop, watch, mirror).await?;
    let schema = sides.instances.source().await?.schema().await?;
    let described = Rows::parse(&schema).map_err(damaged)?.into_tables();
    for at in 0..tables.len() {
        let source = tables[at].source_table.clone();
        let Some(table) = described.iter().find(|table| is_named(table, &source)) else {
            table::leave_out(&mut tables[at], "the mirror does not have the table any more");
            desk.save(tables, None).await?;
            continue;
        };
        let subject = Subject { source, table: table.clone() };
        loop {
            let found = desk.catalog.mirror_by_id(sides.mirror.id).await?;
            match Standing::of(found.as_ref()) {
                Standing::Gone => return Ok(AttemptEnd::Gone),
                _ if found.is_some_and(|found| found.epoch != epoch) => return Ok(AttemptEnd::Changed),
                _ => {}
            }
            match table::step(desk, &mut sides, &subject, tables, at).await {
                Ok(table::Step::Done) => {
                    note_letters(desk, &sides.mirror, tables, at).await?;
                    break;
                }
                Ok(table::Step::More) => {}
                Err(failure) if remedy(&failure) == Remedy::BackOff => return Err(failure),
                // A request may have taken the table away.
                Err(_) if desk.epoch(sides.mirror.id).await? != Some(epoch) => {
                    return Ok(AttemptEnd::Changed);
                }
                Err(failure) => {
                    table::leave_out(&mut tables[at], &failure.to_string());
                    desk.save(tables, None).await?;
                    // An instance may have gone with it.
                    return Ok(AttemptEnd::Changed);
                }
            }
        }
    }
    Ok(AttemptEnd::Done)
}

/// Says of a table that differs which records the mirror did not take: they are why, or a part of it.
async fn note_letters(
    desk: &Desk,
    mirror: &Mirror,
    tables: &mut [TableVerification],
    at: usize,
) -> Result<(), Failure> {
    if tables[at].rows_now().differing == 0 {
        return Ok(());
    }
    let errors = desk.catalog.record_errors(mirror.id).await?;
    let name = &mirror.spec.name;
    let known = tables[at].notes.len();
    if errors.waiting > 0 {
        tables[at].note(format!(
            "dead letters of the mirror wait ({}), whose rows differ until they are replayed: `tarn mirror dead-letters \
             list {name}`",
            errors.waiting
        ));
    }
    if errors.skipped + errors.discarded > 0 {
        tables[at].note(format!(
            "records of the mirror were left out ({}), whose rows differ until they change at the source",
            errors.skipped + errors.discarded
        ));
    }
    if tables[at].notes.len() > known {
        desk.save(tables, None).await?;
    }
    Ok(())
}

/// The mirror once it streams or rests; `None` when it is gone.
async fn settled(desk: &Desk, mirror: i64) -> Result<Option<Mirror>, Failure> {
    let deadline = Instant::now() + VERIFY_MIRROR_WAIT_MAX;
    let mut told = None;
    loop {
        let found = desk.catalog.mirror_by_id(mirror).await?;
        match Standing::of(found.as_ref()) {
            Standing::Gone => return Ok(None),
            Standing::Streams | Standing::Rests(_) => return Ok(found),
            Standing::Moves(state) if Instant::now() > deadline => {
                let seconds = VERIFY_MIRROR_WAIT_MAX.as_secs();
                let message = format!("the mirror was still {} after {seconds} s", name(state));
                return Err(Failure::permanent("mirror_not_settled", message)
                    .with_hint("verify it again once it streams"));
            }
            Standing::Moves(state) => {
                if told != Some(state) {
                    let message = format!("until the mirror streams: it is {}", name(state));
                    desk.catalog.note_verification(desk.id, VerificationState::Waiting, &message).await?;
                    told = Some(state);
                }
            }
        }
        sleep(VERIFY_CATCH_UP_POLL).await;
    }
}

impl Sides {
    async fn new(workshop: &Workshop, watch: &Arc<Watch>, mirror: Mirror) -> Result<Self, Failure> {
        let Workshop { catalog, plugins, .. } = workshop;
        let instances = Instances::new(catalog, plugins, &mirror.spec, watch).await?;
        let start = catalog.stream_start(mirror.id).await?.ok_or_else(|| {
            Failure::permanent("start_missing", "the mirror was never set up")
                .with_hint("verify it once it streams")
        })?;
        Ok(Self {
            reader: instances.lookup().await?,
            prober: instances.lookup().await?,
            script: Script::new(instances.scripts().await?),
            comparison: instances.comparison().await?,
            instances,
            mirror,
            start,
            pace: Pace::new(),
        })
    }
}

/// Whether a table is the one that settings name so.
fn is_named(table: &Table, name: &str) -> bool {
    let split = tarn_batch::split_table_name(name);
    split.is_some_and(|(schema, name)| schema == table.schema && name == table.name)
}

/// A state as people read it.
pub(super) fn name(state: tarn_model::MirrorState) -> &'static str {
    let name = tarn_model::Enumerated::name(state);
    name.strip_prefix("STATUS_").unwrap_or(name)
}

/// The greatest number of a key in a sample of such a part of them.
fn hash_max(sample_rate: f64) -> u64 {
    // Saturates at all of them.
    if sample_rate >= 1.0 { u64::MAX } else { (sample_rate * u64::MAX as f64) as u64 }
}

/// Says in the mirror's log how a verification ended.
fn tell(watch: &Watch, verification: &Verification, message: &str) {
    let rows: u64 = verification.tables.iter().map(|table| table.rows_now().compared).sum();
    let differing: u64 = verification.tables.iter().map(|table| table.rows_now().differing).sum();
    let id = verification.id;
    match (verification.state, verification.equality()) {
        (VerificationState::Done, Equality::Equal) => {
            watch.info(format!("verification {id}: {rows} rows compared, both sides are equal"));
        }
        (VerificationState::Done, Equality::Different) => {
            watch.warn(format!("verification {id}: {rows} rows compared, {differing} differ"));
        }
        (VerificationState::Done, _) => {
            watch.warn(format!("verification {id}: {rows} rows compared, not all of them could be"));
        }
        _ => watch.warn(format!("verification {id} ended early: {message}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_of_all_leaves_nothing_out() {
        assert_eq!(hash_max(1.0), u64::MAX);
        assert_eq!(hash_max(0.5), 1 << 63);
        assert!(hash_max(0.999_999_999_999_999_9) > hash_max(0.999));
    }
}
