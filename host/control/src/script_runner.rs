//! Running scripts on records that belong to no mirror: in the sandbox's pool, under the limits of every script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use tarn_model::Failure;
use tarn_replication::{Batch, Transform as _};
use tarn_wasm::{Level, LogSink, ScriptInstance};
use tokio::sync::Semaphore;

use crate::config::{
    REHEARSAL_BYTES_MAX, REHEARSAL_DEADLINE, REHEARSAL_LOG_LINE_BYTES, REHEARSAL_LOG_LINES,
    REHEARSALS_AT_ONCE,
};
use crate::hooks::{Attempt, Made, Pending, Rehearsal, ScriptMemory, ScriptRunner};
use crate::plugins::{LoadedScript, Plugins};
use crate::records::link::Span;

/// Runs scripts in instances of its own.
#[derive(Clone, Debug)]
pub struct PoolRunner {
    plugins: Plugins,
    /// Few run at a time, so that trying scripts out takes neither the cores nor the pool from mirrors.
    turn: Arc<Semaphore>,
}

impl PoolRunner {
    /// A runner in the sandbox of these plugins.
    pub fn new(plugins: Plugins) -> Self {
        Self { plugins, turn: Arc::new(Semaphore::new(REHEARSALS_AT_ONCE)) }
    }

    async fn run_now(&self, rehearsal: Rehearsal<'_>) -> Result<Vec<Attempt>, Failure> {
        // The semaphore lives as long as the runner and is never closed.
        let _turn = self.turn.acquire().await;
        let script =
            self.plugins.load_component(rehearsal.name, Bytes::copy_from_slice(rehearsal.component)).await?;
        let mut stage = Stage { runner: self, script, settings: rehearsal.settings, log: Arc::default() };
        let deadline = Instant::now() + REHEARSAL_DEADLINE;
        let mut instance = Some(stage.open().await?);
        let mut attempts = Vec::with_capacity(rehearsal.batches.len());
        let mut bytes = 0;
        for batch in rehearsal.batches {
            if Instant::now() > deadline {
                attempts.push(late());
                continue;
            }
            let mut open = match instance.take() {
                Some(open) => open,
                None => stage.open().await?,
            };
            let mut attempt = stage.attempt(&mut open, batch).await;
            let is_whole = !matches!(attempt.made, Made::Stopped(_));
            if let Made::Batch(made) = &attempt.made {
                bytes += made.len();
                if bytes > REHEARSAL_BYTES_MAX {
                    attempt.made = Made::Stopped(too_much());
                }
            }
            attempts.push(attempt);
            // An instance that was stopped is never entered again.
            instance = Some(open).filter(|_| is_whole && rehearsal.memory == ScriptMemory::Kept);
        }
        Ok(attempts)
    }
}

impl ScriptRunner for PoolRunner {
    fn run<'a>(&'a self, rehearsal: Rehearsal<'a>) -> Pending<'a, Result<Vec<Attempt>, Failure>> {
        Box::pin(self.run_now(rehearsal))
    }
}

/// A loaded script with what its instances are opened with.
struct Stage<'a> {
    runner: &'a PoolRunner,
    script: LoadedScript,
    settings: &'a str,
    log: Arc<LastLines>,
}

impl Stage<'_> {
    async fn open(&mut self) -> Result<ScriptInstance, Failure> {
        let log = Arc::clone(&self.log) as Arc<dyn LogSink>;
        // Each batch is one record.
        self.runner.plugins.script_for(&self.script, self.settings, log, Span::Record).await
    }

    async fn attempt(&mut self, instance: &mut ScriptInstance, batch: &Bytes) -> Attempt {
        self.log.take();
        let began = Instant::now();
        let applied = instance.apply(Batch { bytes: batch.clone(), rows: 1 }).await;
        let micros = u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX);
        let made = match applied {
            Ok(transformed) => match transformed.rejected.into_iter().next() {
                Some(rejection) => Made::Rejected {
                    line: rejection.line,
                    function: rejection.function,
                    message: rejection.message,
                },
                None => Made::Batch(transformed.batch.bytes),
            },
            Err(failure) => Made::Stopped(failure),
        };
        Attempt { made, log: self.log.take(), micros }
    }
}

/// The last lines of a script's log.
#[derive(Debug, Default)]
struct LastLines(Mutex<VecDeque<String>>);

impl LastLines {
    fn take(&self) -> Vec<String> {
        // A panic while a line is kept leaves at worst the line out.
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

impl LogSink for LastLines {
    fn write(&self, _level: Level, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == REHEARSAL_LOG_LINES {
            lines.pop_front();
        }
        lines.push_back(line[..line.floor_char_boundary(REHEARSAL_LOG_LINE_BYTES)].to_owned());
    }
}

/// Why what a script made is not shown.
fn too_much() -> Failure {
    let message = format!("what it made of the records has more than {} MiB", REHEARSAL_BYTES_MAX >> 20);
    Failure::permanent("rehearsal_output", message).with_hint("try fewer records")
}

/// What is said of a record whose turn did not come.
fn late() -> Attempt {
    let message = format!("not tried: the records before took {} s", REHEARSAL_DEADLINE.as_secs());
    let failure = Failure::permanent("rehearsal_deadline", message)
        .with_hint("try fewer records, or look for what is slow in the script");
    Attempt { made: Made::Stopped(failure), log: Vec::new(), micros: 0 }
}
