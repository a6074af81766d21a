//! A mirror's lives: it is started, crashes, is paused and goes on, until both sides are equal.

use std::sync::Arc;
use std::time::Duration;

use tarn_model::Failure;
use tarn_replication::{
    Ended, HeldSnapshot, Instances, Records, Reopening, Run, SnapshotBounds, SnapshotEnd, SnapshotSettings,
    Stopped, StreamBounds, StreamParts, StreamSettings, TableProgress, snapshot, stream, supervise,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::catalog::Catalog;
use crate::destination::Sink;
use crate::letters::Letters;
use crate::loader::{Loader, table_name};
use crate::mutant::Mutant;
use crate::random::Random;
use crate::script::{Script, mask};
use crate::shelf::Shelf;
use crate::source::{Completion, Place, StreamSource};
use crate::watch::Watch;
use crate::world::{Life, World};

/// What is replicated how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Both sides are equal at the start, changes follow.
    Stream,
    /// The destination is empty: a load, then the stream.
    LoadThenStream,
    /// One table is added to a running stream and loads while the others go on.
    LoadWhileStreaming,
}

/// How much happens in a run.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Transactions that are committed while the mirror runs.
    pub transactions: u64,
    /// Lives that end in a crash.
    pub crashes: u32,
    /// Lives that end in a pause.
    pub pauses: u32,
}

/// See the module's documentation.
pub struct Mirror {
    world: Arc<World>,
    scenario: Scenario,
    extent: Extent,
    stream: StreamSettings,
    load: SnapshotSettings,
    /// The budget of the stage, if there is one.
    stage_bytes_max: Option<u64>,
    began: Instant,
}

/// A run that takes longer than this stands still: the longest delays add up to less.
const STUCK_AFTER: Duration = Duration::from_secs(6 * 3600);

impl Mirror {
    /// A mirror in a world, with settings of the seed.
    pub fn new(world: &Arc<World>, scenario: Scenario, extent: Extent) -> Self {
        let mut random = Random::new(world.random().number());
        let records = Records::stop(); // each life has its own
        let read_bytes_max = *random.pick(&[400, 1_000, 3_000]);
        let batch_bytes_max = *random.pick(&[1_000, 4_000]);
        let stream = StreamSettings {
            batch_rows_max: *random.pick(&[1, 3, 10, 1_000]),
            idle_timeout: Duration::from_millis(*random.pick(&[0, 0, 100, 10_000])),
            records: records.clone(),
            bounds: StreamBounds {
                window_bytes_max: 2 * batch_bytes_max + 2 * (u64::from(read_bytes_max) + 512),
                batch_bytes_max,
                read_bytes_max,
                ..StreamBounds::default()
            },
        };
        let load = SnapshotSettings {
            partition_rows: 10,
            partitions_min: 2,
            workers: *random.pick(&[1, 2, 4]),
            tables_in_parallel: *random.pick(&[1, 2]),
            batch_rows_max: stream.batch_rows_max,
            records,
            bounds: SnapshotBounds { batch_bytes_max, read_bytes_max, ..SnapshotBounds::default() },
        };
        let stage_bytes_max = *random.pick(&[None, Some(u64::MAX), Some(3 * batch_bytes_max)]);
        Self {
            world: Arc::clone(world),
            scenario,
            extent,
            stream,
            load,
            stage_bytes_max,
            began: Instant::now(),
        }
    }

    /// Lives until both sides are equal and at rest, or a promise is broken.
    pub async fn live(mut self) -> Result<(), String> {
        self.set_up();
        let workload =
            AbortOnDropHandle::new(tokio::spawn(workload(Arc::clone(&self.world), self.extent.transactions)));
        loop {
            let end = self.one_life(&workload).await;
            for _ in 0..20 {
                tokio::task::yield_now().await; // what was aborted is dropped
            }
            if let Some(violation) = self.world.first_violation() {
                return Err(violation);
            }
            match end {
                LifeEnd::Crashed if self.world.random().chance(20) => {
                    self.world.store().restart();
                    self.world.database().lose_held();
                }
                LifeEnd::Crashed => self.world.database().lose_held(),
                LifeEnd::Ended(Err(failure)) => return Err(format!("ended for good: {failure}")),
                LifeEnd::Ended(Ok(trouble)) => {
                    self.world.database().lose_held();
                    if self.is_caught_up(&workload) && trouble.is_none() {
                        return self.compare();
                    }
                }
                LifeEnd::Stuck => {
                    return Err(format!("stands still: {:?}", self.world.checkpoints().place()));
                }
            }
        }
    }

    fn set_up(&self) {
        let world = &self.world;
        let tables = world.database().tables();
        let loaded_later = match self.scenario {
            Scenario::Stream => tables..tables,
            Scenario::LoadThenStream => 0..tables,
            Scenario::LoadWhileStreaming => tables - 1..tables,
        };
        let start = Place { lsn: world.database().lsn(), rows: 0 };
        {
            let mut memory = world.checkpoints();
            memory.position = Some(start.position());
            memory.sequence = start.lsn;
        }
        world.preload(start.lsn - 1, |table| !loaded_later.contains(&table));
        if self.scenario == Scenario::LoadWhileStreaming {
            let mut database = world.database();
            for _ in 0..3 {
                database.commit();
            }
            database.publish_from_now(tables - 1);
        }
        let added = Place { lsn: world.database().lsn(), rows: 0 };
        let mut ledger = world.ledger();
        ledger.start = Some(added.position());
        ledger.tables =
            loaded_later.map(|table| TableProgress { table: table_name(table), partitions: None }).collect();
        ledger.loaded = ledger.tables.is_empty();
    }

    async fn one_life(&mut self, workload: &AbortOnDropHandle<()>) -> LifeEnd {
        let life = Life::begin(&self.world);
        let crashes = self.extent.crashes > 0 && self.world.random().chance(70);
        if crashes {
            self.extent.crashes -= 1;
            let steps = *self.world.random().pick(&[3, 20, 100, 400]);
            let steps = self.world.random().within(1..steps);
            self.world.trouble().crash_in = Some(steps);
        }
        let stop = CancellationToken::new();
        let watch = Watch::new(&self.world, self.stream.bounds.window_bytes_max);
        let run = Run::seeded(Arc::new(watch), stop.clone(), self.world.next_delays());
        let pauses = self.extent.pauses > 0 && self.world.random().chance(50);
        self.extent.pauses -= u32::from(pauses);
        let pause_ms = pauses.then(|| self.world.random().within(0..20_000));
        tokio::select! {
            biased;
            () = life.crashed.cancelled() => LifeEnd::Crashed,
            () = self.watch_over(&stop, workload, pause_ms) => LifeEnd::Stuck,
            end = self.mirror(&life, &run) => LifeEnd::Ended(end),
        }
    }

    /// Stops the life when there is nothing left to do, or a pause is due; ends when it stands still.
    async fn watch_over(
        &self,
        stop: &CancellationToken,
        workload: &AbortOnDropHandle<()>,
        pause_ms: Option<u64>,
    ) {
        let born = Instant::now();
        while self.began.elapsed() < STUCK_AFTER {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let paused = pause_ms.is_some_and(|pause_ms| born.elapsed() >= Duration::from_millis(pause_ms));
            if paused || self.is_caught_up(workload) || self.world.first_violation().is_some() {
                stop.cancel();
            }
        }
    }

    fn is_caught_up(&self, workload: &AbortOnDropHandle<()>) -> bool {
        let place = self.world.checkpoints().place();
        let database = self.world.database();
        workload.is_finished()
            && self.world.ledger().loaded
            && database.after(place.lsn).is_none()
            && self.world.shelf().is_empty()
            && database.after(database.confirmed()).is_none()
    }

    /// The mirror's whole run; the trouble a stop met, if any.
    async fn mirror(&self, life: &Life, run: &Run) -> Result<Option<Failure>, Failure> {
        if self.scenario == Scenario::LoadWhileStreaming && !self.world.ledger().loaded {
            let pause_stream = run.stop.child_token();
            let observer = Arc::clone(&run.observer);
            let streaming = Run::seeded(observer, pause_stream.clone(), self.world.next_delays());
            self.world.checkpoints().load_point = u64::MAX; // wherever the stream after it begins
            let load = async {
                let end = self.supervised_load(life, run).await;
                pause_stream.cancel(); // the table joins the others
                end
            };
            let beside = self.supervised_stream(life, &streaming, Beside::Load);
            let (loaded, streamed) = tokio::join!(load, beside);
            streamed?;
            if !loaded? {
                return Ok(None);
            }
        } else if !self.world.ledger().loaded && !self.supervised_load(life, run).await? {
            return Ok(None);
        }
        self.supervised_stream(life, run, Beside::Nothing).await
    }

    async fn supervised_stream(
        &self,
        life: &Life,
        run: &Run,
        beside: Beside,
    ) -> Result<Option<Failure>, Failure> {
        let ended = supervise(run, |run| self.stream_once(life, run, beside)).await?;
        Ok(match ended {
            Ended::Value(Stopped { trouble, .. }) | Ended::Stopped { trouble } => trouble,
        })
    }

    async fn stream_once(&self, life: &Life, run: Run, beside: Beside) -> Result<Stopped, Failure> {
        life.step().await;
        let world = &self.world;
        let completion = match beside {
            Beside::Load => Completion::BesideLoad(world.tables_loading()),
            Beside::Nothing => self.completion(),
        };
        let parts = StreamParts {
            source: StreamSource::new(life, completion),
            transform: world.is_scripted().then(|| Script::new(life)),
            destination: self.sink(life),
            checkpoints: Catalog::new(life),
            stage: self.stage_bytes_max.map(|bytes_max| Shelf::open(life, bytes_max)),
        };
        let resume = world.checkpoints().resume();
        let settings = StreamSettings { records: kept(life), ..self.stream.clone() };
        stream(parts, resume, settings, run).await
    }

    /// A destination that is opened again after a failure, as one behind a stage is.
    fn sink(&self, life: &Life) -> Reopening<Sink> {
        let (life, rows_max) = (life.clone(), self.stream.batch_rows_max);
        Reopening::new(move || {
            let life = life.clone();
            Box::pin(async move { Ok(Sink::new(&life, rows_max)) })
        })
    }

    /// A new point to complete changes at, where the stream has not passed that of the load.
    fn completion(&self) -> Completion {
        let mut checkpoints = self.world.checkpoints();
        if checkpoints.sequence >= checkpoints.load_point || self.world.mutant() == Mutant::NoFetchAfterLoad {
            return Completion::None;
        }
        let point = self.world.database().point();
        checkpoints.load_point = point.lsn;
        Completion::AtPoint(Arc::new(point))
    }

    /// Whether the load is complete; false when it was paused.
    async fn supervised_load(&self, life: &Life, run: &Run) -> Result<bool, Failure> {
        match supervise(run, |run| self.load_once(life, run)).await? {
            Ended::Value(SnapshotEnd::Complete) => {
                self.world.check_loaded();
                self.world.ledger().loaded = true;
                Ok(true)
            }
            Ended::Value(SnapshotEnd::Paused) | Ended::Stopped { .. } => Ok(false),
        }
    }

    async fn load_once(&self, life: &Life, run: Run) -> Result<SnapshotEnd, Failure> {
        life.step().await;
        let held = {
            let mut ledger = self.world.ledger();
            ledger.generation += 1;
            let (token, horizon) = self.world.database().hold();
            if self.scenario == Scenario::LoadThenStream {
                self.world.checkpoints().load_point = self.world.database().lsn();
            }
            let point = self.world.database().held(&token).expect("it is held");
            let generation = ledger.generation;
            ledger.points.insert(generation, point);
            let start = ledger.start.clone().expect("set up");
            HeldSnapshot { token, horizon, generation, start }
        };
        let factory = Arc::new(Factory { life: life.clone(), rows_max: self.load.batch_rows_max });
        let ledger = Arc::new(Catalog::new(life));
        let settings = SnapshotSettings { records: kept(life), ..self.load.clone() };
        snapshot(factory, ledger, held, settings, run).await
    }

    /// Both sides are at rest: are they equal?
    fn compare(&self) -> Result<(), String> {
        let world = &self.world;
        let expected: std::collections::BTreeMap<_, _> = world
            .database()
            .rows()
            .iter()
            .filter(|(key, _)| world.fate(**key) == crate::script::Fate::Kept)
            .map(|(key, row)| {
                let value = if world.is_scripted() { mask(row.value) } else { row.value };
                (*key, (value, row.big))
            })
            .collect();
        let found = world.store().visible();
        for key in expected.keys().chain(found.keys()) {
            let (expected, found) = (expected.get(key), found.get(key));
            if expected != found {
                return Err(format!("{key:?} is {expected:?} at the source, {found:?} at the destination"));
            }
        }
        let bound = self.bytes_max();
        let peak = world.peak_bytes();
        match peak <= bound {
            true => Ok(()),
            false => Err(format!("{peak} bytes were held, {bound} are allowed")),
        }
    }

    /// Most bytes of batches that may be alive: the window, a batch on both sides of the script, and what
    /// the workers of a load hold.
    fn bytes_max(&self) -> u64 {
        let fetched = self.stage_bytes_max.map_or(0, |_| self.stream.bounds.batch_bytes_max + 512);
        let stream =
            self.stream.bounds.window_bytes_max + u64::from(self.stream.bounds.read_bytes_max) + fetched;
        let worker = 2 * self.load.bounds.batch_bytes_max + 3 * u64::from(self.load.bounds.read_bytes_max);
        let load = u64::from(self.load.workers) * worker;
        match self.scenario {
            Scenario::Stream => stream,
            Scenario::LoadThenStream => stream.max(load),
            Scenario::LoadWhileStreaming => stream + load,
        }
    }
}

/// Goes on without rejected records, which are kept aside.
fn kept(life: &Life) -> Records {
    Records::leave_out(Arc::new(Letters::new(life)), u32::MAX)
}

/// What a stream runs beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    Nothing,
    Load,
}

enum LifeEnd {
    Crashed,
    Ended(Result<Option<Failure>, Failure>),
    Stuck,
}

async fn workload(world: Arc<World>, transactions: u64) {
    for _ in 0..transactions {
        let pause_ms = *world.random().pick(&[0, 0, 0, 5, 50, 400, 3_000]);
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
        let elsewhere = world.random().chance(20);
        match elsewhere {
            true => world.database().commit_elsewhere(),
            false => world.database().commit(),
        }
    }
}

/// Instances for a load's workers.
struct Factory {
    life: Life,
    rows_max: u32,
}

impl Instances for Factory {
    type Source = Loader;
    type Transform = Script;
    type Destination = Sink;

    async fn source(&self) -> Result<Loader, Failure> {
        self.life.step().await;
        match self.life.is_faulty() {
            true => Err(crate::world::passing("connection refused")),
            false => Ok(Loader::new(&self.life)),
        }
    }

    async fn transform(&self) -> Result<Option<Script>, Failure> {
        Ok(self.life.world.is_scripted().then(|| Script::new(&self.life)))
    }

    async fn destination(&self) -> Result<Sink, Failure> {
        self.life.step().await;
        match self.life.is_faulty() {
            true => Err(crate::world::passing("connection refused")),
            false => Ok(Sink::new(&self.life, self.rows_max)),
        }
    }
}
