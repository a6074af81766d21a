//! What should be against what is: one run for every mirror that has something to do.
//!
//! The supervisor owns every run. It looks at the catalog when woken, when a run ended, and now and then;
//! it starts a run where one is due and asks a run to stop whose mirror took a later request or whose
//! script has a later version. A mirror never has two runs at a time.

use std::collections::HashMap;
use std::time::Duration;

use tarn_catalog::CatalogError;
use tarn_model::{DesiredState, Failure, Mirror, MirrorState, ScriptReference};
use tokio::sync::watch;
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::config::{LOOK_INTERVAL, RERUN_DELAY, SHUTDOWN_DEADLINE};
use crate::control::Control;
use crate::journal::Journal;
use crate::plugins::Plugins;
use crate::run::{MirrorRun, Workshop};

/// Runs the mirrors of this process.
pub struct Supervisor {
    workshop: Workshop,
    /// Changes whenever a request or a script was stored.
    wake: watch::Receiver<u64>,
    runs: JoinSet<Result<(), Failure>>,
    running: HashMap<i64, Running>,
    /// Mirrors whose run ended although nobody asked it to. Where the state they are in gives them
    /// something to do, they have to wait: the next run would end the same way at once.
    resting: HashMap<i64, Rest>,
}

/// How long a mirror rests. A later request ends it.
struct Rest {
    epoch: i64,
    until: Instant,
}

/// A run under way.
struct Running {
    task: Id,
    epoch: i64,
    /// Digest of the script it began with; empty without one.
    script: String,
    stop: CancellationToken,
}

impl Supervisor {
    /// A supervisor over the mirrors of `control`. Nothing runs yet.
    pub fn new(control: &Control, plugins: Plugins, journal: Journal) -> Self {
        let parts = control.parts();
        let (catalog, progress) = (parts.catalog.clone(), parts.progress.clone());
        let workshop = Workshop { catalog, plugins, journal, progress };
        Self {
            workshop,
            wake: control.changes(),
            runs: JoinSet::new(),
            running: HashMap::new(),
            resting: HashMap::new(),
        }
    }

    /// Runs mirrors until `stop`, then lets every run end what is under way.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            if let Err(error) = self.look().await {
                tracing::warn!(error = error.chain(), "the catalog could not be read");
            }
            let next_look = self.next_look();
            tokio::select! {
                () = stop.cancelled() => break,
                changed = self.wake.changed() => {
                    if changed.is_err() {
                        break;
                    }
                }
                Some(ended) = self.runs.join_next_with_id() => self.note_end(ended),
                () = sleep_until(next_look) => {}
            }
        }
        self.shut_down().await;
    }

    fn next_look(&self) -> Instant {
        let latest = Instant::now() + LOOK_INTERVAL;
        self.resting.values().map(|rest| rest.until).min().map_or(latest, |due| due.min(latest))
    }

    /// Compares every mirror with its run.
    async fn look(&mut self) -> Result<(), CatalogError> {
        let now = Instant::now();
        self.resting.retain(|_, rest| rest.until > now);
        for mirror in self.workshop.catalog.mirrors().await? {
            let script = self.script_digest(&mirror).await?;
            match self.running.get(&mirror.id) {
                Some(run) if run.epoch != mirror.epoch || run.script != script => run.stop.cancel(),
                Some(_) => {}
                None if is_due(&mirror) && !self.rests(&mirror) => self.start(mirror, script),
                None => {}
            }
        }
        Ok(())
    }

    fn rests(&self, mirror: &Mirror) -> bool {
        self.resting.get(&mirror.id).is_some_and(|rest| rest.epoch == mirror.epoch)
    }

    async fn script_digest(&self, mirror: &Mirror) -> Result<String, CatalogError> {
        if mirror.spec.script.is_empty() {
            return Ok(String::new());
        }
        let Some(reference) = ScriptReference::parse(&mirror.spec.script) else { return Ok(String::new()) };
        let script = self.workshop.catalog.script(&reference).await?;
        Ok(script.map(|script| script.digest).unwrap_or_default())
    }

    fn start(&mut self, mirror: Mirror, script: String) {
        let (id, epoch) = (mirror.id, mirror.epoch);
        let stop = CancellationToken::new();
        let run = MirrorRun::new(self.workshop.clone(), mirror, stop.clone());
        let task = self.runs.spawn(run.run()).id();
        self.running.insert(id, Running { task, epoch, script, stop });
    }

    fn note_end(&mut self, ended: Result<(Id, Result<(), Failure>), tokio::task::JoinError>) {
        let (task, trouble) = match ended {
            Ok((task, Ok(()))) => (task, None),
            Ok((task, Err(failure))) => (task, Some(failure.to_string())),
            Err(fault) => (fault.id(), Some(fault.to_string())),
        };
        let Some(id) = self.running.iter().find(|(_, run)| run.task == task).map(|(id, _)| *id) else {
            return;
        };
        let Some(run) = self.running.remove(&id) else { return };
        if !run.stop.is_cancelled() {
            self.resting.insert(id, Rest { epoch: run.epoch, until: Instant::now() + RERUN_DELAY });
        }
        if let Some(trouble) = trouble {
            tracing::warn!(mirror = id, trouble, "a run could not go on and will be repeated");
        }
    }

    async fn shut_down(mut self) {
        for run in self.running.values() {
            run.stop.cancel();
        }
        let all = async { while self.runs.join_next().await.is_some() {} };
        if timeout(SHUTDOWN_DEADLINE, all).await.is_err() {
            let seconds = Duration::as_secs(&SHUTDOWN_DEADLINE);
            tracing::warn!(seconds, "runs did not end in time; they go on from their last checkpoint");
        }
        self.runs.shutdown().await;
    }
}

/// Whether a mirror has something to do.
fn is_due(mirror: &Mirror) -> bool {
    use MirrorState::{Completed, Failed, Paused, Terminated};
    match (mirror.desired, mirror.state) {
        (_, Terminated) => false,
        (DesiredState::Terminated, _) => true,
        (DesiredState::Paused, Paused | Failed | Completed) => false,
        (DesiredState::Running, Failed | Completed) => false,
        (DesiredState::Paused | DesiredState::Running, _) => true,
    }
}
