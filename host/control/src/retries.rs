//! What fails just now and is tried again, by mirror: for people who look, and so that the log tells of it once.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tarn_model::{Failure, RetriedFailure, Timestamp};
use tarn_replication::LoopId;

use crate::config::RETRY_REMINDER_ATTEMPTS;

/// The retries of all mirrors. It lives as long as the process. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Retries(Arc<Mutex<HashMap<i64, Arc<MirrorRetries>>>>);

impl Retries {
    /// Those of a mirror.
    pub(crate) fn of(&self, mirror: i64) -> Arc<MirrorRetries> {
        Arc::clone(self.all().entry(mirror).or_default())
    }

    /// What fails of a mirror; `None` while nothing does.
    pub(crate) fn told(&self, mirror: i64) -> Option<RetriedFailure> {
        self.all().get(&mirror)?.told()
    }

    /// Forgets a mirror.
    pub(crate) fn forget(&self, mirror: i64) {
        self.all().remove(&mirror);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<i64, Arc<MirrorRetries>>> {
        // A panic while it is changed leaves at worst a mirror out.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What fails of one mirror, by the loop that tries again. A loop that went on, or ended, has nothing here.
#[derive(Debug, Default)]
pub(crate) struct MirrorRetries(Mutex<BTreeMap<LoopId, Outage>>);

/// The failures of a loop since it last went on.
#[derive(Debug)]
struct Outage {
    last: RetriedFailure,
    /// What was said of them, without the numbers in it, which differ from one attempt to the next.
    said: Vec<String>,
}

impl MirrorRetries {
    /// Notes a failure, and decides whether the log tells of it: once of each, whichever loop met it, and of a store that
    /// is away for hours a few times more, ever more rarely.
    pub(crate) fn note(&self, of: LoopId, failure: &Failure, attempt: u32, delay: Duration) -> bool {
        let now = SystemTime::now();
        let mut outages = self.outages();
        let since = outages.get(&of).map_or(now.into(), |outage| outage.last.since);
        let last = RetriedFailure {
            message: failure.to_string(),
            code: failure.code.clone(),
            since,
            attempt,
            next_attempt_at: Timestamp::from(now + delay),
        };
        let said: String = failure.message.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        let is_known = outages.values().any(|outage| outage.said.contains(&said));
        let looks = attempt.is_power_of_two();
        let outage = outages.entry(of).or_insert_with(|| Outage { last: last.clone(), said: Vec::new() });
        outage.last = last;
        if looks && !outage.said.contains(&said) {
            outage.said.push(said);
        }
        looks && (!is_known || attempt >= RETRY_REMINDER_ATTEMPTS)
    }

    /// A loop went on, or ended.
    pub(crate) fn end(&self, of: LoopId) {
        self.outages().remove(&of);
    }

    /// What fails for the longest.
    fn told(&self) -> Option<RetriedFailure> {
        self.outages().values().map(|outage| &outage.last).min_by_key(|last| last.since).cloned()
    }

    fn outages(&self) -> MutexGuard<'_, BTreeMap<LoopId, Outage>> {
        // Each change is of one entry: a panic leaves the others whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(message: &str) -> Failure {
        Failure::retry("clickhouse_waiting", message).with_hint("mend it")
    }

    fn tells(retries: &MirrorRetries, of: LoopId, message: &str, attempt: u32) -> bool {
        retries.note(of, &failure(message), attempt, Duration::from_secs(30))
    }

    #[test]
    fn a_failure_that_comes_again_is_told_of_once_and_then_ever_more_rarely() {
        let (retries, of) = (MirrorRetries::default(), LoopId::next());
        let told: Vec<u32> = (1..=100)
            .filter(|attempt| tells(&retries, of, &format!("{attempt} bytes used"), *attempt))
            .collect();
        assert_eq!(told, [1, 16, 32, 64]);
        retries.end(of);
        assert!(tells(&retries, of, "full", 1), "there was progress between");
        assert!(tells(&retries, of, "away", 2), "another one is told of");
        assert!(!tells(&retries, of, "full", 4) && !tells(&retries, of, "away", 8));
    }

    #[test]
    fn an_outage_is_told_of_once_whatever_other_loops_meet() {
        let retries = MirrorRetries::default();
        let [outage, other] = [LoopId::next(), LoopId::next()];
        assert!(tells(&retries, outage, "away", 1));
        for _ in 0..3 {
            assert!(tells(&retries, other, "slow", 1), "there was progress between");
            assert!(!tells(&retries, outage, "away", 2) && !tells(&retries, other, "away", 2));
            retries.end(other);
        }
    }

    #[test]
    fn what_fails_for_the_longest_is_shown_until_it_goes_on() {
        let retries = Retries::default();
        let mirror = retries.of(1);
        let [outage, other] = [LoopId::next(), LoopId::next()];
        assert_eq!(retries.told(1), None);
        tells(&mirror, outage, "away", 1);
        let first = retries.told(1).expect("a failure");
        assert_eq!((first.message.as_str(), first.attempt), ("away (clickhouse_waiting); mend it", 1));
        // Clocks may be coarse.
        while Timestamp::from(SystemTime::now()) == first.since {
            std::hint::spin_loop();
        }
        tells(&mirror, other, "slow", 1);
        tells(&mirror, outage, "away still", 2);
        let told = retries.told(1).expect("a failure");
        assert_eq!((told.since, told.attempt), (first.since, 2));
        assert!(told.message.starts_with("away still") && told.next_attempt_at > told.since, "{told:?}");
        mirror.end(outage);
        assert!(retries.told(1).expect("the other").message.starts_with("slow"));
        mirror.end(other);
        assert_eq!((retries.told(1), retries.told(2)), (None, None));
    }
}
