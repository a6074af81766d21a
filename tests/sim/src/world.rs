//! Everything that outlives a crash, and the trouble it makes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use tarn_model::Failure;
use tarn_replication::Batch;
use tokio_util::sync::CancellationToken;

use crate::database::Database;
use crate::letters::letter;
use crate::loader::table_name;
use crate::memory::{CheckpointMemory, LedgerMemory};
use crate::mutant::Mutant;
use crate::random::Random;
use crate::row::{self, Big, Image, Key, Origin, Row, Version};
use crate::script::{Fate, mask};
use crate::shelf::ShelfMemory;
use crate::store::Store;

/// See the module's documentation.
pub struct World {
    database: Mutex<Database>,
    store: Mutex<Store>,
    checkpoints: Mutex<CheckpointMemory>,
    ledger: Mutex<LedgerMemory>,
    letters: Mutex<BTreeSet<Letter>>,
    shelf: Mutex<ShelfMemory>,
    random: Mutex<Random>,
    delays: Mutex<Random>,
    violations: Mutex<Vec<String>>,
    trouble: Mutex<Trouble>,
    meter: Arc<Meter>,
    mutant: Mutant,
    scripted: bool,
    tally: Mutex<BTreeMap<&'static str, u64>>,
}

/// What tells a rejected record from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Letter {
    /// A change, by its version.
    Change(Version),
    /// A row that a load read, by its key: another point brings it again.
    Loaded(Key),
}

/// What may still go wrong.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// Calls that may still fail.
    pub faults_left: u32,
    /// In so many of 100 calls.
    pub fault_percent: u64,
    /// Steps until the process dies; counted down by [`Life::step`].
    pub crash_in: Option<u64>,
    /// Whether steps take random time; without, a run's steps depend on the code alone.
    pub dawdle: bool,
}

impl Trouble {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self { faults_left: 0, fault_percent: 0, crash_in: None, dawdle: false }
    }
}

impl World {
    /// A world at its start.
    pub fn new(seed: u64, tables: u8, trouble: Trouble, mutant: Mutant) -> Arc<Self> {
        let mut random = Random::new(seed);
        let database = Database::new(tables, Random::new(random.number()));
        let store = Store::new(random.chance(50));
        let scripted = random.chance(50);
        Arc::new(Self {
            database: Mutex::new(database),
            store: Mutex::new(store),
            checkpoints: Mutex::default(),
            ledger: Mutex::default(),
            letters: Mutex::default(),
            shelf: Mutex::default(),
            random: Mutex::new(random),
            delays: Mutex::new(Random::new(seed ^ 0xde1a)),
            violations: Mutex::default(),
            trouble: Mutex::new(trouble),
            meter: Arc::default(),
            mutant,
            scripted,
            tally: Mutex::default(),
        })
    }

    /// The source's store.
    pub fn database(&self) -> MutexGuard<'_, Database> {
        self.database.lock().expect("no panic inside")
    }

    /// The destination's store.
    pub fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().expect("no panic inside")
    }

    /// The catalog's checkpoint.
    pub fn checkpoints(&self) -> MutexGuard<'_, CheckpointMemory> {
        self.checkpoints.lock().expect("no panic inside")
    }

    /// The catalog's snapshot progress.
    pub fn ledger(&self) -> MutexGuard<'_, LedgerMemory> {
        self.ledger.lock().expect("no panic inside")
    }

    /// What waits in the stage.
    pub fn shelf(&self) -> MutexGuard<'_, ShelfMemory> {
        self.shelf.lock().expect("no panic inside")
    }

    /// The catalog's dead letters.
    pub fn letters(&self) -> MutexGuard<'_, BTreeSet<Letter>> {
        self.letters.lock().expect("no panic inside")
    }

    /// The seed's next numbers.
    pub fn random(&self) -> MutexGuard<'_, Random> {
        self.random.lock().expect("no panic inside")
    }

    /// A seed for the delays of the loop's next run.
    pub fn next_delays(&self) -> u64 {
        self.delays.lock().expect("no panic inside").number()
    }

    /// What may still go wrong.
    pub fn trouble(&self) -> MutexGuard<'_, Trouble> {
        self.trouble.lock().expect("no panic inside")
    }

    /// The planted bug.
    pub fn mutant(&self) -> Mutant {
        self.mutant
    }

    /// Whether the mirror has a script.
    pub fn is_scripted(&self) -> bool {
        self.scripted
    }

    /// Tables whose load has not ended.
    pub fn tables_loading(&self) -> Vec<u8> {
        if self.mutant == Mutant::NoFetchWhileLoading {
            return Vec::new();
        }
        let ledger = self.ledger();
        ledger.tables.iter().map(|entry| entry.table[1..].parse().expect("a table's number")).collect()
    }

    /// Puts the source's current rows into the destination, as an earlier load would have.
    pub fn preload(&self, commit: u64, mut included: impl FnMut(u8) -> bool) {
        let (database, mut store) = (self.database(), self.store());
        for (key, row) in database.rows() {
            if included(key.0) && self.fate(*key) == Fate::Kept {
                let value = if self.scripted { mask(row.value) } else { row.value };
                let image = Image::Present { value, big: Big::Value(row.big) };
                let version = (commit, 1);
                let origin = Origin::Load;
                let row = Row { key: *key, moved_from: None, version, schema: 0, image, ballast: 0, origin };
                store.take(&row, Mutant::None).expect("columns 0 are always there");
            }
        }
        store.flush();
    }

    /// What the script, if any, makes of the rows of a key.
    pub fn fate(&self, key: Key) -> Fate {
        if self.scripted { Fate::of(key) } else { Fate::Kept }
    }

    /// Whether the script cannot take a change.
    fn is_rejected(&self, row: &Row) -> bool {
        self.fate(row.key) == Fate::Rejected && row.image != Image::Truncated
    }

    /// Counts something that happened, to show that it does happen.
    pub fn count(&self, what: &'static str) {
        self.add(what, 1);
    }

    /// Counts something that happened so many times.
    pub fn add(&self, what: &'static str, times: u64) {
        *self.tally.lock().expect("no panic inside").entry(what).or_default() += times;
    }

    /// What happened how often.
    pub fn tally(&self) -> BTreeMap<&'static str, u64> {
        self.tally.lock().expect("no panic inside").clone()
    }

    /// A promise was broken.
    pub fn violation(&self, what: impl Into<String>) {
        self.violations.lock().expect("no panic inside").push(what.into());
    }

    /// The first broken promise.
    pub fn first_violation(&self) -> Option<String> {
        self.violations.lock().expect("no panic inside").first().cloned()
    }

    /// Packs rows into a batch whose memory is counted as long as anyone holds it.
    pub fn batch(&self, rows: &[Row]) -> Batch {
        let Batch { bytes, rows } = row::encode(rows);
        self.meter.add(bytes.len() as u64);
        let metered = Metered { bytes, meter: Arc::clone(&self.meter) };
        Batch { bytes: Bytes::from_owner(metered), rows }
    }

    /// Most bytes of batches that were alive at one time.
    pub fn peak_bytes(&self) -> u64 {
        self.meter.peak.load(Ordering::Relaxed)
    }

    /// Whether everything in `from < lsn <= to`, and the first `rest` rows after it, is durable at the
    /// destination. The law's other half: it is checked where a position is stored and where it is
    /// confirmed.
    pub fn check_durable(&self, from: u64, to: u64, rest: u64, moment: &str) {
        let (database, store, letters) = (self.database(), self.store(), self.letters());
        let whole = database.between(from, to).iter().flat_map(|transaction| &transaction.rows);
        let begun = database.after(to).into_iter().flat_map(|next| next.rows.iter().take(rest as usize));
        let passed = whole.chain(begun).filter(|row| database.is_published(row.key.0, row.version.0));
        let lost = passed.clone().find(|row| self.is_rejected(row) && !letters.contains(&letter(row)));
        if let Some(Row { key, version, .. }) = lost {
            self.violation(format!("{moment} {to}+{rest}, but rejected {key:?} of {version:?} is not kept"));
        }
        drop(letters);
        let staged: BTreeSet<_> = self.shelf().versions().collect();
        let missing: Vec<_> = passed
            .filter(|row| self.fate(row.key) == Fate::Kept)
            .filter(|row| !store.is_durable(row) && !staged.contains(&row.version))
            .map(|row| (row.key, row.version))
            .collect();
        drop((database, store));
        if let Some((key, version)) = missing.first() {
            self.violation(format!("{moment} {to}+{rest}, but {key:?} of {version:?} is not durable"));
        }
    }
}

impl World {
    /// Whether the load brought every row that a table had at its latest point: what the argument for going
    /// on at a later point promises, though the source would complete the changes of missing ones, too.
    pub fn check_loaded(&self) {
        let points = self.ledger().latest_points();
        let store = self.store();
        let rows = points
            .iter()
            .flat_map(|(table, point)| point.rows.keys().filter(move |key| table_name(key.0) == *table));
        let missing = rows.filter(|key| self.fate(**key) == Fate::Kept).find(|key| !store.has(**key));
        if let Some(key) = missing {
            self.violation(format!("loaded, but {key:?} did not come"));
        }
        let letters = self.letters();
        let rows = points
            .iter()
            .flat_map(|(table, point)| point.rows.keys().filter(move |key| table_name(key.0) == *table));
        let lost = rows
            .filter(|key| self.fate(**key) == Fate::Rejected)
            .find(|key| !letters.contains(&Letter::Loaded(**key)));
        if let Some(key) = lost {
            self.violation(format!("loaded, but rejected {key:?} is not kept"));
        }
    }
}

#[derive(Debug, Default)]
struct Meter {
    live: AtomicU64,
    peak: AtomicU64,
}

impl Meter {
    fn add(&self, bytes: u64) {
        let live = self.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(live, Ordering::Relaxed);
    }
}

struct Metered {
    bytes: Bytes,
    meter: Arc<Meter>,
}

impl AsRef<[u8]> for Metered {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        self.meter.live.fetch_sub(self.bytes.len() as u64, Ordering::Relaxed);
    }
}

/// One life of the process.
#[derive(Clone)]
pub struct Life {
    /// What outlives it.
    pub world: Arc<World>,
    /// Its end.
    pub crashed: CancellationToken,
}

impl Life {
    /// A new life in a world.
    pub fn begin(world: &Arc<World>) -> Self {
        Self { world: Arc::clone(world), crashed: CancellationToken::new() }
    }

    /// A point at which the process may die, or be slow. Every call of every model has some: before it
    /// did anything, between, and after.
    pub async fn step(&self) {
        self.world.count("step");
        let dies = {
            let mut trouble = self.world.trouble();
            if let Some(left) = &mut trouble.crash_in {
                *left = left.saturating_sub(1);
            }
            trouble.crash_in == Some(0)
        };
        if dies {
            self.world.trouble().crash_in = None;
            self.world.count("crash");
            self.crashed.cancel();
        }
        if self.crashed.is_cancelled() {
            std::future::pending::<()>().await;
        }
        let pause_ms = {
            let mut random = self.world.random();
            match self.world.trouble().dawdle {
                true if random.chance(30) => *random.pick(&[1, 2, 5, 10, 50, 300]),
                _ => 0,
            }
        };
        match pause_ms {
            0 => tokio::task::yield_now().await,
            _ => tokio::time::sleep(Duration::from_millis(pause_ms)).await,
        }
    }

    /// Whether this call fails.
    pub fn is_faulty(&self) -> bool {
        let mut trouble = self.world.trouble();
        let faulty = trouble.faults_left > 0 && self.world.random().chance(trouble.fault_percent);
        if faulty {
            self.world.count("fault");
            trouble.faults_left -= 1;
        }
        faulty
    }
}

/// What every passing failure of the models is.
pub fn passing(what: &str) -> Failure {
    Failure::retry("model_trouble", what)
}
