//! What should be against what is: one run for every mirror that has something to do.
//!
//! The supervisor owns every run. It looks at the catalog when woken, when a run ended, and now and then;
//! it starts a run where one is due and asks a run to stop whose mirror took a later request, or whose
//! script or peers are others by now. A mirror never has two runs at a time. One that cannot be read is
//! told of and left alone; the others go on.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tarn_catalog::CatalogError;
use tarn_model::{DesiredState, Failure, LogLevel, Mirror, MirrorState, ScriptChain};
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
    /// Mirrors that could not be read, and were told of.
    unreadable: HashSet<i64>,
}

/// How long a mirror rests. A later request ends it.
struct Rest {
    epoch: i64,
    until: Instant,
}

/// A run under way.
struct Running {
    task: Id,
    basis: Basis,
    stop: CancellationToken,
}

/// What a run was begun with: a run is asked to stop once this is another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Basis {
    epoch: i64,
    /// Name, version and digest of each script, in order.
    scripts: Vec<(String, u32, String)>,
    /// When the source and the destination peer were last changed.
    peers: [Option<i64>; 2],
}

impl Supervisor {
    /// A supervisor over the mirrors of `control`. Nothing runs yet.
    pub fn new(control: &Control, plugins: Plugins, journal: Journal) -> Self {
        Self {
            workshop: Workshop::new(control, plugins, journal),
            wake: control.changes(),
            runs: JoinSet::new(),
            running: HashMap::new(),
            resting: HashMap::new(),
            unreadable: HashSet::new(),
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
        let list = self.workshop.catalog.mirrors().await?;
        self.tell_of(&list.unreadable);
        let changes = self.workshop.catalog.peer_changes().await?;
        for mirror in list.mirrors {
            let basis = self.basis(&mirror, &changes).await?;
            match self.running.get(&mirror.id) {
                Some(run) if run.basis != basis && !run.stop.is_cancelled() => {
                    self.tell_of_swap(&mirror, &run.basis.scripts, &basis.scripts);
                    run.stop.cancel();
                }
                Some(_) => {}
                None if is_due(&mirror) && !self.rests(&mirror) => self.start(mirror, basis),
                None => {}
            }
        }
        Ok(())
    }

    /// Logs which scripts are others from the next batch on.
    fn tell_of_swap(&self, mirror: &Mirror, old: &[(String, u32, String)], new: &[(String, u32, String)]) {
        for (name, version, _) in new {
            let before = old.iter().find(|(known, ..)| known == name);
            if let Some((_, before, _)) = before.filter(|(_, before, _)| before != version) {
                let line =
                    format!("script {name} changes from version {before} to {version} at the next batch");
                self.workshop.journal.line(&mirror.spec.name.as_str().into(), LogLevel::Info, line);
            }
        }
    }

    /// Logs what could not be read, once.
    fn tell_of(&mut self, unreadable: &[(i64, CatalogError)]) {
        self.unreadable.retain(|known| unreadable.iter().any(|(id, _)| id == known));
        for (id, error) in unreadable {
            if self.unreadable.insert(*id) {
                tracing::error!(
                    mirror = id,
                    error = error.chain(),
                    "a mirror cannot be read and is left alone"
                );
            }
        }
    }

    async fn basis(&self, mirror: &Mirror, changes: &HashMap<String, i64>) -> Result<Basis, CatalogError> {
        let spec = &mirror.spec;
        let peers = [&spec.source_peer, &spec.destination_peer].map(|peer| changes.get(peer).copied());
        Ok(Basis { epoch: mirror.epoch, scripts: self.scripts(mirror).await?, peers })
    }

    fn rests(&self, mirror: &Mirror) -> bool {
        self.resting.get(&mirror.id).is_some_and(|rest| rest.epoch == mirror.epoch)
    }

    async fn scripts(&self, mirror: &Mirror) -> Result<Vec<(String, u32, String)>, CatalogError> {
        let mut scripts = Vec::new();
        // What names no scripts fails in the run, where a person sees it.
        for reference in ScriptChain::parse(&mirror.spec.script).unwrap_or_default().references() {
            if let Some(script) = self.workshop.catalog.script(reference).await? {
                scripts.push((script.name, script.version, script.digest));
            }
        }
        Ok(scripts)
    }

    fn start(&mut self, mirror: Mirror, basis: Basis) {
        let id = mirror.id;
        let stop = CancellationToken::new();
        let run = MirrorRun::new(self.workshop.clone(), mirror, stop.clone());
        let task = self.runs.spawn(run.run()).id();
        self.running.insert(id, Running { task, basis, stop });
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
            self.resting.insert(id, Rest { epoch: run.basis.epoch, until: Instant::now() + RERUN_DELAY });
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
