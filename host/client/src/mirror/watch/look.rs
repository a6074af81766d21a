//! One look at a mirror, and how fast it goes by the looks before.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::{Value, json};
use tarn_model::{Enumerated as _, MirrorState, Timestamp};
use tokio::time::Instant;

use crate::answer::{Batch, BatchList, LogEntry, LogPage, MirrorStatus, RetriedFailure, TableLoad};
use crate::config::{RATE_WINDOW_SECONDS, WATCH_BATCHES, WATCH_LOG_LINES};
use crate::error::Error;
use crate::http::{Client, segment};

/// What is seen of a mirror at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Look {
    /// When.
    pub(super) at: Timestamp,
    pub(super) name: String,
    pub(super) state: MirrorState,
    /// What fails and is tried again.
    pub(super) retrying: Option<RetriedFailure>,
    pub(super) source: String,
    pub(super) destination: String,
    /// Tables of the snapshot.
    pub(super) loads: Vec<TableLoad>,
    /// Partitions that load at the same time.
    pub(super) workers: u32,
    /// Rows that the snapshot brought a second; `None` before it is known.
    pub(super) load_rate: Option<f64>,
    /// Rows that the stream brought in all.
    pub(super) streamed: u64,
    /// Rows that it brought a second.
    pub(super) stream_rate: Option<f64>,
    /// How far the slot is behind its server, in bytes, where the server tells.
    pub(super) lag_bytes: Option<u64>,
    /// The newest batches, newest first.
    pub(super) batches: Vec<Batch>,
    /// The newest lines of the log, oldest first.
    pub(super) log: Vec<LogEntry>,
}

impl Look {
    /// The look as one object.
    pub(super) fn for_programs(&self) -> Value {
        let tables: Vec<_> = self
            .loads
            .iter()
            .map(|load| {
                json!({"table": load.source_table, "target": load.table_name, "rows": load.num_rows_synced,
                    "partitionsCompleted": load.num_partitions_completed,
                    "partitionsTotal": load.num_partitions_total, "secondsLeft": seconds_left(load, self.workers)})
            })
            .collect();
        json!({"at": self.at.to_string(), "flowJobName": self.name, "currentFlowState": self.state.name(),
            "tables": tables, "rowsSynced": self.streamed, "rowsPerSecond": self.stream_rate,
            "snapshotRowsPerSecond": self.load_rate, "lagBytes": self.lag_bytes, "retrying": self.retrying.as_ref().map(retried)})
    }
}

/// A retried failure as the API tells it.
fn retried(failure: &RetriedFailure) -> Value {
    json!({"message": failure.message, "code": failure.code, "since": failure.since,
        "attempt": failure.attempt, "nextAttemptAt": failure.next_attempt_at})
}

/// Seconds until a table is loaded, by what its partitions took so far.
pub(super) fn seconds_left(load: &TableLoad, workers: u32) -> Option<u64> {
    let left = load.num_partitions_total.checked_sub(load.num_partitions_completed)?;
    if left == 0 || load.num_partitions_completed == 0 {
        return None;
    }
    let rounds = left.div_ceil(workers.clamp(1, left));
    Some((u64::from(rounds) * load.avg_time_per_partition_ms).div_ceil(1000))
}

/// Rows a second over the last seconds.
#[derive(Debug, Default)]
pub(super) struct Rate {
    /// Seconds and rows, oldest first.
    samples: VecDeque<(f64, u64)>,
}

impl Rate {
    /// Takes a count and gives the rate; none while there is only one.
    pub(super) fn take(&mut self, seconds: f64, rows: u64) -> Option<f64> {
        // Counts begin anew with a resync.
        if self.samples.back().is_some_and(|(_, last)| rows < *last) {
            self.samples.clear();
        }
        self.samples.push_back((seconds, rows));
        while self.samples.get(1).is_some_and(|(second, _)| seconds - second >= RATE_WINDOW_SECONDS) {
            self.samples.pop_front();
        }
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        let span = last.0 - first.0;
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        (span > 0.0).then(|| (last.1 - first.1) as f64 / span)
    }
}

/// Looks at one mirror again and again.
pub(super) struct Looker<'a> {
    client: &'a Client,
    name: &'a str,
    begun: Instant,
    load_rate: Rate,
    stream_rate: Rate,
    /// Whether the server tells about slots.
    tells_lag: bool,
    log: VecDeque<LogEntry>,
}

/// `GET peers/slots/{peer}`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Slots {
    slot_data: Vec<Slot>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Slot {
    slot_name: String,
    /// `confirmedFlushLSN`; its capitals are taken apart by the reader of both spellings.
    #[serde(alias = "confirmed_flush_l_s_n")]
    confirmed_flush_lsn: String,
    #[serde(alias = "current_l_s_n")]
    current_lsn: String,
}

/// The place of a write-ahead log: `16/B374D848`.
fn lsn(text: &str) -> Option<u64> {
    let (high, low) = text.split_once('/')?;
    let part = |text| u32::from_str_radix(text, 16).ok();
    Some(u64::from(part(high)?) << 32 | u64::from(part(low)?))
}

impl<'a> Looker<'a> {
    pub(super) fn new(client: &'a Client, name: &'a str) -> Self {
        Self {
            client,
            name,
            begun: Instant::now(),
            load_rate: Rate::default(),
            stream_rate: Rate::default(),
            tells_lag: true,
            log: VecDeque::new(),
        }
    }

    /// Looks now.
    pub(super) async fn look(&mut self) -> Result<Look, Error> {
        let status = self.client.mirror_status(self.name).await?;
        let MirrorStatus { flow_job_name, current_flow_state, cdc_status, .. } = status;
        let batches = self.batches().await?;
        self.read_log().await?;
        let is_streaming = current_flow_state == MirrorState::Running;
        let lag_bytes = match is_streaming && self.tells_lag {
            true => self.lag(&cdc_status.config.source_peer, &cdc_status.config.slot()).await?,
            false => None,
        };
        let seconds = self.begun.elapsed().as_secs_f64();
        let loaded = cdc_status.snapshot_status.clones.iter().map(|load| load.num_rows_synced).sum();
        Ok(Look {
            at: Timestamp::from(std::time::SystemTime::now()),
            name: flow_job_name,
            state: current_flow_state,
            retrying: cdc_status.retrying,
            source: cdc_status.config.source_peer,
            destination: cdc_status.config.destination_peer,
            loads: cdc_status.snapshot_status.clones,
            workers: cdc_status.config.snapshot_max_parallel_workers,
            load_rate: self.load_rate.take(seconds, loaded),
            streamed: cdc_status.rows_synced,
            stream_rate: self.stream_rate.take(seconds, cdc_status.rows_synced),
            lag_bytes,
            batches,
            log: self.log.iter().cloned().collect(),
        })
    }

    async fn batches(&self) -> Result<Vec<Batch>, Error> {
        let body = json!({"flow_job_name": self.name, "limit": WATCH_BATCHES});
        let answer = self.client.post("mirrors/cdc/batches", &body).await?;
        Ok(self.client.read::<BatchList>(&answer)?.cdc_batches)
    }

    async fn read_log(&mut self) -> Result<(), Error> {
        let last = self.log.back().map_or(0, |entry| entry.id);
        let body = json!({"flow_job_name": self.name, "num_per_page": WATCH_LOG_LINES, "after_id": last});
        let answer = self.client.post("mirrors/logs", &body).await?;
        let page: LogPage = self.client.read(&answer)?;
        self.log.extend(page.errors.into_iter().rev().filter(|entry| entry.id > last));
        while self.log.len() > WATCH_LOG_LINES {
            self.log.pop_front();
        }
        Ok(())
    }

    /// How far a slot is behind. A source that cannot be asked just now tells nothing; a server that does
    /// not serve the question is not asked again.
    async fn lag(&mut self, peer: &str, slot: &str) -> Result<Option<u64>, Error> {
        let answer = match self.client.get(&format!("peers/slots/{}", segment(peer))).await {
            Ok(answer) => answer,
            Err(error @ (Error::Credentials { .. } | Error::Unreachable { .. })) => return Err(error),
            Err(_) => {
                self.tells_lag = false;
                return Ok(None);
            }
        };
        let slots: Slots = self.client.read(&answer)?;
        let found = slots.slot_data.into_iter().find(|known| known.slot_name == slot);
        Ok(found.and_then(|slot| lsn(&slot.current_lsn)?.checked_sub(lsn(&slot.confirmed_flush_lsn)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_the_last_seconds_and_begins_anew_with_the_count() {
        let mut rate = Rate::default();
        assert_eq!(rate.take(0.0, 100), None);
        assert_eq!(rate.take(1.0, 300), Some(200.0));
        for second in 2..=20 {
            rate.take(f64::from(second), 300);
        }
        assert_eq!(rate.take(21.0, 310), Some(1.0), "what was long ago counts no more");
        assert_eq!(rate.take(22.0, 5), None);
    }

    #[test]
    fn a_slot_is_behind_by_what_it_has_not_confirmed() {
        let answer =
            json!({"slotData": [{"slotName": "s", "confirmedFlushLSN": "1/FF", "currentLSN": "2/0"}]});
        let slots: Slots = tarn_json::from_value(&answer).expect("an answer");
        assert_eq!((lsn(&slots.slot_data[0].current_lsn), lsn("")), (Some(2 << 32), None));
        assert_eq!(lsn(&slots.slot_data[0].confirmed_flush_lsn), Some((1 << 32) + 255));
    }

    #[test]
    fn what_is_left_takes_as_long_as_what_was_done() {
        let load = |completed, total| TableLoad {
            num_partitions_completed: completed,
            num_partitions_total: total,
            avg_time_per_partition_ms: 1_500,
            ..TableLoad::default()
        };
        assert_eq!(seconds_left(&load(2, 12), 4), Some(5), "three rounds of four");
        assert_eq!(seconds_left(&load(11, 12), 4), Some(2));
        for nothing in [load(0, 12), load(12, 12), load(0, 0)] {
            assert_eq!(seconds_left(&nothing, 4), None);
        }
    }
}
