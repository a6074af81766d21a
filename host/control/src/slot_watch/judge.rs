//! What a look at a slot says about it.

use std::time::SystemTime;

use tarn_model::{MirrorState, SlotHealth, SlotInfo, SlotState};

use crate::config::{SLOT_HELD_BYTES_WARNING, SLOT_TIME_LEFT_WARNING};

/// Bytes of the unit that sources tell sizes in.
const MIB: f64 = 1024.0 * 1024.0;

/// Where the source's log was at a look, and how fast it grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Look {
    at: SystemTime,
    log_end: Option<u64>,
    bytes_per_second: Option<f64>,
}

impl Look {
    /// A look at `now`. One measurement lasts some seconds only, so half of the rate is that of the looks before.
    pub(super) fn new(slot: &SlotInfo, now: SystemTime, last: Option<&Self>) -> Self {
        let log_end = log_position(&slot.current_lsn);
        let measured = last.and_then(|last| {
            let seconds = now.duration_since(last.at).ok()?.as_secs_f64();
            let grown = log_end?.checked_sub(last.log_end?)?;
            (seconds > 0.0).then(|| approximate(grown) / seconds)
        });
        let before = last.and_then(|last| last.bytes_per_second);
        let bytes_per_second = match (measured, before) {
            (Some(measured), Some(before)) => Some(f64::midpoint(measured, before)),
            (measured, _) => measured,
        };
        Self { at: now, log_end, bytes_per_second }
    }
}

/// How a slot is, without its name and the time.
pub(super) fn judge(slot: &SlotInfo, look: &Look, mirror: MirrorState) -> SlotHealth {
    let safe_bytes = slot.safe_wal_size.map(|bytes| u64::try_from(bytes).unwrap_or(0));
    let seconds_left = match (safe_bytes, look.bytes_per_second) {
        (Some(safe), Some(rate)) if rate >= 1.0 => Some(whole(approximate(safe) / rate)),
        _ => None,
    };
    let health = SlotHealth {
        active: slot.active,
        wal_status: slot.wal_status.clone(),
        confirmed_lsn: slot.confirmed_flush_lsn.clone(),
        behind_bytes: whole(slot.confirmed_to_current_mb * MIB),
        held_bytes: whole(slot.lag_in_mb * MIB),
        safe_bytes,
        log_bytes_per_second: look.bytes_per_second.map(whole),
        seconds_left,
        ..SlotHealth::default()
    };
    let is_soon = seconds_left.is_some_and(|seconds| seconds < SLOT_TIME_LEFT_WARNING.as_secs());
    let (state, warning, remedy) = match slot.wal_status.as_str() {
        "lost" => (
            SlotState::Lost,
            "the source gave up the log that the replication slot needs".to_owned(),
            "resync the mirror; so that it does not happen again, raise max_slot_wal_keep_size, or what else the \
             server's log names as the reason"
                .to_owned(),
        ),
        "unreserved" => (
            SlotState::AtRisk,
            format!(
                "the replication slot holds {} of the log, more than max_slot_wal_keep_size: the source removes \
                 it at its next checkpoint",
                size(health.held_bytes)
            ),
            format!("raise max_slot_wal_keep_size now; {}", remedy_of_holding(slot, mirror)),
        ),
        _ if is_soon => (
            SlotState::AtRisk,
            format!(
                "the source removes what the replication slot holds in about {} at the rate its log grows: {} \
                 are left of max_slot_wal_keep_size",
                minutes(seconds_left.unwrap_or(0)),
                size(safe_bytes.unwrap_or(0))
            ),
            format!("raise max_slot_wal_keep_size; {}", remedy_of_holding(slot, mirror)),
        ),
        _ if health.held_bytes >= SLOT_HELD_BYTES_WARNING => (
            SlotState::Holding,
            format!("the replication slot holds {} of the source's log on its disk", size(health.held_bytes)),
            remedy_of_holding(slot, mirror).to_owned(),
        ),
        _ => (SlotState::Healthy, String::new(), String::new()),
    };
    SlotHealth { state, warning, remedy, ..health }
}

/// How a slot is that is not there.
pub(super) fn missing() -> SlotHealth {
    SlotHealth {
        state: SlotState::Missing,
        warning: "the source has no such replication slot any more".to_owned(),
        remedy: "resync the mirror".to_owned(),
        ..SlotHealth::default()
    }
}

/// What holds the log decides what helps.
fn remedy_of_holding(slot: &SlotInfo, mirror: MirrorState) -> &'static str {
    match mirror {
        MirrorState::Paused | MirrorState::Pausing => "resume the mirror, or drop it",
        MirrorState::Failed => "mend what the mirror failed of and resume it, or drop it",
        MirrorState::Snapshot => "it is held until the snapshot is loaded: more workers load it faster",
        _ if slot.restart_to_confirmed_mb > slot.confirmed_to_current_mb => {
            "an open transaction at the source holds it: pg_stat_activity shows the one with the oldest xact_start"
        }
        _ => "the destination takes less than the source writes: the mirror's log and batches say why",
    }
}

/// A position in the log, two hexadecimal numbers of 32 bits, as bytes from its start.
fn log_position(text: &str) -> Option<u64> {
    let (high, low) = text.split_once('/')?;
    let [high, low] = [high, low].map(|part| u32::from_str_radix(part, 16));
    Some(u64::from(high.ok()?) << 32 | u64::from(low.ok()?))
}

#[expect(clippy::cast_precision_loss, reason = "a rate and a size for people")]
fn approximate(bytes: u64) -> f64 {
    bytes as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the conversion saturates, and no size is negative"
)]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

fn size(bytes: u64) -> String {
    let mib = approximate(bytes) / MIB;
    if mib >= 1024.0 { format!("{:.1} GiB", mib / 1024.0) } else { format!("{mib:.0} MiB") }
}

fn minutes(seconds: u64) -> String {
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", seconds / 60) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn slot(held_mb: f64, safe: Option<i64>) -> SlotInfo {
        SlotInfo {
            current_lsn: "1/0".into(),
            wal_status: "reserved".into(),
            lag_in_mb: held_mb,
            confirmed_to_current_mb: held_mb,
            safe_wal_size: safe,
            ..SlotInfo::default()
        }
    }

    fn judged(slot: &SlotInfo, mirror: MirrorState) -> SlotHealth {
        judge(slot, &Look::new(slot, SystemTime::UNIX_EPOCH, None), mirror)
    }

    #[test]
    fn a_slot_that_holds_little_is_healthy() {
        let health = judged(&slot(64.0, None), MirrorState::Running);
        assert_eq!((health.state, health.held_bytes), (SlotState::Healthy, 64 << 20));
        assert_eq!((health.warning.as_str(), health.remedy.as_str()), ("", ""));
    }

    #[test]
    fn what_holds_the_log_decides_the_remedy() {
        let held = slot(20_480.0, None);
        for (state, remedy) in [
            (MirrorState::Paused, "resume"),
            (MirrorState::Failed, "mend"),
            (MirrorState::Snapshot, "workers"),
            (MirrorState::Running, "destination"),
        ] {
            let health = judged(&held, state);
            assert_eq!(health.state, SlotState::Holding);
            assert!(health.warning.contains("20.0 GiB"), "{}", health.warning);
            assert!(health.remedy.contains(remedy), "{}", health.remedy);
        }
        let by_transaction =
            SlotInfo { restart_to_confirmed_mb: 20_470.0, confirmed_to_current_mb: 10.0, ..held };
        assert!(judged(&by_transaction, MirrorState::Running).remedy.contains("xact_start"));
    }

    #[test]
    fn the_time_left_is_told_by_the_rate_of_the_log() {
        let (begin, mut slot) = (SystemTime::UNIX_EPOCH, slot(10.0, Some(6000)));
        let first = Look::new(&slot, begin, None);
        assert_eq!(judge(&slot, &first, MirrorState::Running).seconds_left, None);
        slot.current_lsn = "1/64".into();
        let second = Look::new(&slot, begin + Duration::from_secs(10), Some(&first));
        let health = judge(&slot, &second, MirrorState::Running);
        assert_eq!((health.log_bytes_per_second, health.seconds_left), (Some(10), Some(600)));
        assert_eq!(health.state, SlotState::AtRisk);
        assert!(health.warning.contains("10 min"), "{}", health.warning);
        // The log of another server: no rate is made of it.
        slot.current_lsn = "0/64".into();
        let third = Look::new(&slot, begin + Duration::from_secs(20), Some(&second));
        assert_eq!(judge(&slot, &third, MirrorState::Running).log_bytes_per_second, None);
    }

    #[test]
    fn what_the_source_gave_up_or_will_is_told_apart() {
        let with = |status: &str| SlotInfo { wal_status: status.into(), ..slot(1.0, Some(-5)) };
        assert_eq!(judged(&with("unreserved"), MirrorState::Paused).state, SlotState::AtRisk);
        assert_eq!(judged(&with("lost"), MirrorState::Paused).state, SlotState::Lost);
        assert_eq!(judged(&with("extended"), MirrorState::Running).state, SlotState::Healthy);
    }
}
