//! The instances that a batch's rows are shared out to.
//!
//! Each works on its share as a task, so that several cores are used; the caller owns the tasks and waits for all of
//! them. An instance that fails is gone, and with it all of them: the run begins again with new ones.

use tarn_model::Failure;
use tarn_replication::{Batch, Transform};
use tokio::task::JoinSet;
use tracing::Instrument as _;

use super::link::Link;
use super::series::{Series, misnumbered};
use super::sharing::{Applied, Shared};

/// See the module's documentation.
pub(super) struct Lanes<T> {
    lanes: Vec<Series<T>>,
    last_name: String,
}

impl<T: Transform> Lanes<T> {
    /// At least one lane.
    pub(super) fn new(lanes: Vec<Series<T>>) -> Self {
        let last_name = lanes.last().map(Series::last_name).unwrap_or_default();
        Self { lanes, last_name }
    }

    /// What the scripts make of a batch.
    pub(super) async fn run(&mut self, batch: Batch) -> Result<Applied, Failure> {
        if let Some(link) = self.only() {
            let answer = link.apply(batch).await?;
            return Ok(Applied { batch: answer.batch, dropped: answer.dropped, rejected: answer.rejected });
        }
        if self.lanes.is_empty() {
            let message = "the instances of the script are gone: an earlier batch failed in one of them";
            return Err(Failure::retry("script_instances_gone", message));
        }
        let mut shared = Shared::out(&batch, self.lanes.len())?;
        let answers = self.run_shares(std::mem::take(&mut shared.shares)).await?;
        shared.together(answers)?.ok_or_else(|| misnumbered(&self.last_name))
    }

    /// The script that sees every batch as it is, where it is so.
    fn only(&mut self) -> Option<&mut Link<T>> {
        match &mut self.lanes[..] {
            [series] => series.only(),
            _ => None,
        }
    }

    async fn run_shares(&mut self, shares: Vec<Batch>) -> Result<Vec<Applied>, Failure> {
        if let [lane] = &mut self.lanes[..] {
            let mut answers = Vec::with_capacity(1);
            for share in shares {
                answers.push(lane.run(share).await?);
            }
            return Ok(answers);
        }
        let mut under_way = JoinSet::new();
        for (at, (mut lane, share)) in self.lanes.drain(..).zip(shares).enumerate() {
            let work = async move {
                let answer = lane.run(share).await;
                (at, lane, answer)
            };
            under_way.spawn(work.in_current_span());
        }
        let mut done = Vec::with_capacity(under_way.len());
        while let Some(ended) = under_way.join_next().await {
            done.push(ended.map_err(|fault| {
                Failure::permanent("call_panicked", format!("a call ended without an answer: {fault}"))
                    .with_hint("this is a fault of the program; the log has the place")
            })?);
        }
        // Of several failures the same one is told whichever ended first.
        done.sort_by_key(|(at, ..)| *at);
        let mut answers = Vec::with_capacity(done.len());
        let mut lanes = Vec::with_capacity(done.len());
        for (_, lane, answer) in done {
            answers.push(answer?);
            lanes.push(lane);
        }
        self.lanes = lanes;
        Ok(answers)
    }
}
