//! How long changes take from their commit at the source until the destination shows them.
//!
//! ```text
//!   commit at the source ── read ── script ── write ── insert ended: the destination says that rows are in
//!   └─ the batch has the time                          └─ the server's clock is looked at
//! ```
//!
//! Measured where rows are given to the destination, change by change, without any memory of single ones: a change
//! adds one to a bucket. The two ends are of two clocks. One that is ahead at the source would make changes arrive
//! before they were committed; by how much they seemed to lately, everything is put right. One that is behind makes them
//! look slow, and nothing here can tell: hosts keep their clocks by NTP.

mod ahead;
mod histogram;
mod lag;
mod runs;
mod timed;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tarn_model::{StreamLatency, TableLatency};

use crate::config::LATENCY_TABLES_MAX;
use ahead::Ahead;
pub(crate) use histogram::Cumulative;
use histogram::Recent;
use lag::Lag;
pub(crate) use runs::Runs;
pub(crate) use timed::{Aged, Timed};

/// What was measured, by mirror. It lives as long as the process. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Latencies(Arc<Mutex<HashMap<i64, Arc<MirrorLatency>>>>);

impl Latencies {
    /// What is measured of a mirror.
    pub(crate) fn of(&self, mirror: i64) -> Arc<MirrorLatency> {
        Arc::clone(self.all().entry(mirror).or_default())
    }

    /// What was measured of a mirror, if anything.
    pub(crate) fn known(&self, mirror: i64) -> Option<Arc<MirrorLatency>> {
        self.all().get(&mirror).cloned()
    }

    /// Forgets a mirror.
    pub(crate) fn forget(&self, mirror: i64) {
        self.all().remove(&mirror);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<i64, Arc<MirrorLatency>>> {
        // A panic while it is changed leaves at worst a mirror out.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is measured of one mirror's stream.
#[derive(Debug, Default)]
pub(crate) struct MirrorLatency(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    all: Measured,
    tables: HashMap<String, Measured>,
    ahead: Ahead,
    lag: Lag,
    staged_bytes: u64,
}

/// What is kept of a table: for people, and for who collects metrics.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    recent: Recent,
    pub(crate) ever: Cumulative,
}

impl Measured {
    fn add(&mut self, now: Instant, millis: u64, changes: u64) {
        self.recent.add(now, millis, changes);
        self.ever.add(millis, changes);
    }
}

impl MirrorLatency {
    /// Notes that changes with these commit times are about to be written: none of them can be of the future.
    pub(crate) fn writing(&self, runs: &Runs) {
        if let Some(latest) = runs.latest() {
            self.state().ahead.seen(Instant::now(), latest.saturating_sub(wall_us()));
        }
    }

    /// Notes that the destination shows changes of a table.
    pub(crate) fn shown(&self, table: &str, runs: &Runs) {
        let (now, wall) = (Instant::now(), wall_us());
        let mut state = self.state();
        let ahead_us = state.ahead.us();
        if !state.tables.contains_key(table) && state.tables.len() < LATENCY_TABLES_MAX {
            state.tables.insert(table.to_owned(), Measured::default());
        }
        for (commit_us, changes) in runs.iter() {
            let micros = wall.saturating_sub(commit_us).saturating_add(ahead_us);
            let millis = u64::try_from(micros).unwrap_or(0) / 1000;
            state.all.add(now, millis, changes);
            if let Some(measured) = state.tables.get_mut(table) {
                measured.add(now, millis, changes);
            }
        }
    }

    /// Begins anew: everything is loaded again.
    pub(crate) fn reset(&self) {
        *self.state() = State::default();
    }

    /// A life of the stream begins: what an earlier one had read is read again, but for what waits in the stage.
    pub(crate) fn begin(&self) {
        self.state().lag.begin();
    }

    /// Notes that what waits in the stage, up to a sequence, is from then at the earliest.
    pub(crate) fn waits_since(&self, until: u64, commit_us: i64) {
        self.state().lag.waits_since(until, commit_us);
    }

    /// Notes that the source delivered changes up to a sequence, the earliest of which was committed then.
    pub(crate) fn read(&self, sequence: u64, commit_us: i64) {
        self.state().lag.read(sequence, commit_us);
    }

    /// Notes that the destination has everything up to a sequence.
    pub(crate) fn has(&self, sequence: u64) {
        self.state().lag.has(sequence);
    }

    /// Notes how much waits in the stage.
    pub(crate) fn waits(&self, staged_bytes: u64) {
        self.state().staged_bytes = staged_bytes;
    }

    /// What people see.
    pub(crate) fn told(&self) -> StreamLatency {
        let (now, wall) = (Instant::now(), wall_us());
        let mut state = self.state();
        let ahead_us = state.ahead.us();
        let lag_us =
            state.lag.oldest_us().map_or(0, |commit| wall.saturating_sub(commit).saturating_add(ahead_us));
        let State { all, tables, staged_bytes, .. } = &mut *state;
        let mut told: Vec<_> = tables
            .iter_mut()
            .map(|(name, measured)| TableLatency {
                table_name: name.clone(),
                changes: measured.ever.count(),
                p50_ms: measured.recent.quantile(now, 50),
                p99_ms: measured.recent.quantile(now, 99),
            })
            .collect();
        told.sort_by(|a, b| a.table_name.cmp(&b.table_name));
        StreamLatency {
            lag_ms: u64::try_from(lag_us).unwrap_or(0) / 1000,
            source_clock_ahead_ms: u64::try_from(ahead_us).unwrap_or(0) / 1000,
            staged_bytes: *staged_bytes,
            changes: all.ever.count(),
            p50_ms: all.recent.quantile(now, 50),
            p99_ms: all.recent.quantile(now, 99),
            tables: told,
        }
    }

    /// What was measured ever, by table.
    pub(crate) fn ever(&self) -> Vec<(String, Cumulative)> {
        let state = self.state();
        let mut ever: Vec<_> =
            state.tables.iter().map(|(name, measured)| (name.clone(), measured.ever.clone())).collect();
        ever.sort_by(|a, b| a.0.cmp(&b.0));
        ever
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while counting leaves at worst a wrong count.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wall_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(commits: &[i64]) -> Runs {
        let mut runs = Runs::default();
        commits.iter().for_each(|commit| runs.add(*commit));
        runs
    }

    #[test]
    fn changes_are_measured_from_their_commit_by_table() {
        let latency = MirrorLatency::default();
        let now = wall_us();
        latency.shown("a", &runs(&[now - 2_000_000; 99]));
        latency.shown("b", &runs(&[now - 60_000_000]));
        let told = latency.told();
        assert_eq!((told.changes, told.tables.len()), (100, 2));
        assert!((2_000..2_300).contains(&told.p50_ms), "{told:?}");
        assert!((2_000..2_300).contains(&told.p99_ms), "{told:?}");
        assert!((60_000..68_000).contains(&told.tables[1].p50_ms), "{told:?}");
    }

    #[test]
    fn a_source_whose_clock_is_ahead_is_told_of_and_put_right() {
        let latency = MirrorLatency::default();
        let now = wall_us();
        latency.writing(&runs(&[now + 5_000_000]));
        latency.shown("a", &runs(&[now + 4_000_000]));
        let told = latency.told();
        assert!((4_900..=5_000).contains(&told.source_clock_ahead_ms), "{told:?}");
        assert!((900..1_200).contains(&told.p50_ms), "{told:?}");
    }

    #[test]
    fn tables_beyond_the_limit_are_in_the_mirrors_numbers_only() {
        let latency = MirrorLatency::default();
        for table in 0..LATENCY_TABLES_MAX + 5 {
            latency.shown(&format!("t{table}"), &runs(&[wall_us()]));
        }
        let told = latency.told();
        assert_eq!(told.tables.len(), LATENCY_TABLES_MAX);
        assert_eq!(told.changes, LATENCY_TABLES_MAX as u64 + 5);
    }
}
