//! A look at every mirror's slot now and then, from beside the stream.
//!
//! The stream knows nothing of it: the source's log may fill a disk while a mirror rests, waits for its
//! destination or is held up by a transaction of somebody else, and the source may give the slot up. Each
//! source is asked once for all of its mirrors. What is seen is in the mirror's status; a turn for the worse,
//! and back to health, is a line of its log.

mod judge;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::SystemTime;

use tarn_catalog::CatalogError;
use tarn_model::{
    Answer, LogLevel, Mirror, MirrorState, Peer, Question, SlotHealth, SlotInfo, SlotState, Timestamp,
};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use self::judge::{Look, judge};
use crate::config::{SLOT_ABSENT_LOOKS, SLOT_LOOK_INTERVAL, SLOT_SOURCES_AT_ONCE};
use crate::control::Control;
use crate::journal::Journal;

/// How the slots are, by mirror, as they were last seen. It lives as long as the process. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct SlotHealths(Arc<watch::Sender<HashMap<i64, SlotHealth>>>);

impl SlotHealths {
    /// How a mirror's slot was when it was last seen.
    pub(crate) fn of(&self, mirror: i64) -> Option<SlotHealth> {
        self.0.borrow().get(&mirror).cloned()
    }

    /// The last look at a mirror's slot, and later ones.
    pub(crate) fn looks(&self, mirror: i64) -> SlotLooks {
        SlotLooks { healths: self.0.subscribe(), mirror, last: None }
    }

    fn set(&self, mirror: i64, health: SlotHealth) {
        self.0.send_modify(|healths| drop(healths.insert(mirror, health)));
    }

    fn keep(&self, is_kept: impl Fn(i64) -> bool) {
        self.0.send_modify(|healths| healths.retain(|mirror, _| is_kept(*mirror)));
    }
}

/// Looks at one mirror's slot.
#[derive(Debug)]
pub(crate) struct SlotLooks {
    healths: watch::Receiver<HashMap<i64, SlotHealth>>,
    mirror: i64,
    /// When the one was that was told of last.
    last: Option<Timestamp>,
}

impl SlotLooks {
    /// Waits for the next look that finds no slot, or one that lost what it held.
    pub(crate) async fn find_gone(&mut self) {
        let (mirror, last) = (self.mirror, self.last);
        let is_gone = |health: &&SlotHealth| {
            matches!(health.state, SlotState::Lost | SlotState::Missing) && Some(health.seen_at) != last
        };
        let found = |healths: &HashMap<_, _>| healths.get(&mirror).filter(is_gone).is_some();
        let look = self.healths.wait_for(found).await;
        let Ok(seen_at) = look.map(|healths| healths.get(&mirror).map(|health| health.seen_at)) else {
            // Nobody looks any more.
            return std::future::pending().await;
        };
        self.last = seen_at;
    }
}

/// Looks at the slots of this process' mirrors.
pub struct SlotWatcher {
    control: Control,
    journal: Journal,
    memory: HashMap<i64, Memory>,
}

/// What is remembered of a mirror's slot from look to look.
#[derive(Debug, Default)]
struct Memory {
    last: Option<Look>,
    /// Looks in a row that did not find it.
    absent: u32,
    /// The state that the log was last told of.
    told: SlotState,
}

impl SlotWatcher {
    /// A watcher over the mirrors of `control`.
    pub fn new(control: &Control, journal: Journal) -> Self {
        Self { control: control.clone(), journal, memory: HashMap::new() }
    }

    /// Looks until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let looks = async {
            loop {
                if let Err(error) = self.look().await {
                    tracing::warn!(error = error.chain(), "the mirrors' slots could not be looked at");
                }
                sleep(SLOT_LOOK_INTERVAL).await;
            }
        };
        // A look changes nothing but what it keeps in memory, so it may be dropped anywhere.
        stop.run_until_cancelled(looks).await;
    }

    async fn look(&mut self) -> Result<(), CatalogError> {
        let mut by_source = BTreeMap::<String, Vec<Mirror>>::new();
        for mirror in self.control.catalog().mirrors().await?.mirrors {
            if has_slot(&mirror) {
                by_source.entry(mirror.spec.source_peer.clone()).or_default().push(mirror);
            }
        }
        let watched = |id: i64| by_source.values().flatten().any(|mirror| mirror.id == id);
        self.memory.retain(|id, _| watched(*id));
        self.control.slot_healths().keep(watched);

        let mut waiting = by_source.into_iter();
        let mut asked = JoinSet::new();
        loop {
            while asked.len() < SLOT_SOURCES_AT_ONCE
                && let Some((source, mirrors)) = waiting.next()
            {
                if let Some(peer) = self.control.catalog().peer(&source).await? {
                    asked.spawn(ask(self.control.clone(), peer, mirrors));
                }
            }
            match asked.join_next().await {
                Some(Ok((mirrors, Some(slots)))) => self.note_all(&mirrors, &slots).await?,
                // The stream tells of a source that does not answer, and what was seen keeps its time.
                Some(Ok((_, None))) => {}
                Some(Err(fault)) => tracing::error!(%fault, "a look at a source's slots ended by a fault"),
                None => return Ok(()),
            }
        }
    }

    async fn note_all(&mut self, mirrors: &[Mirror], slots: &[SlotInfo]) -> Result<(), CatalogError> {
        let now = SystemTime::now();
        for mirror in mirrors {
            let name = mirror.spec.slot();
            let slot = slots.iter().find(|slot| slot.slot_name == name);
            // Between the list of mirrors and the answer a slot may have come or gone as it should.
            if slot.is_none() && self.control.catalog().stream_start(mirror.id).await?.is_none() {
                continue;
            }
            self.note(mirror, name, slot, now);
        }
        Ok(())
    }

    fn note(&mut self, mirror: &Mirror, name: String, slot: Option<&SlotInfo>, now: SystemTime) {
        let memory = self.memory.entry(mirror.id).or_default();
        let health = match slot {
            Some(slot) => {
                memory.absent = 0;
                let look = Look::new(slot, now, memory.last.as_ref());
                let health = judge(slot, &look, mirror.state);
                memory.last = Some(look);
                health
            }
            None => {
                memory.absent += 1;
                if memory.absent < SLOT_ABSENT_LOOKS {
                    return;
                }
                judge::missing()
            }
        };
        let health = SlotHealth { slot_name: name, seen_at: Timestamp::from(now), ..health };
        let told = std::mem::replace(&mut memory.told, health.state);
        let line = match health.state {
            worse if worse > told => Some((LogLevel::Warn, format!("{}; {}", health.warning, health.remedy))),
            SlotState::Healthy if told != SlotState::Healthy => {
                Some((LogLevel::Info, format!("replication slot {:?} is well again", health.slot_name)))
            }
            _ => None,
        };
        if let Some((level, message)) = line {
            self.journal.line(&mirror.spec.name.as_str().into(), level, message);
        }
        self.control.slot_healths().set(mirror.id, health);
    }
}

/// What the source says of its slots; `None` where it does not answer.
async fn ask(control: Control, peer: Peer, mirrors: Vec<Mirror>) -> (Vec<Mirror>, Option<Vec<SlotInfo>>) {
    match control.parts().inspector.ask(&peer, &Question::Slots).await {
        Ok(Answer::Slots(slots)) => (mirrors, Some(slots)),
        Ok(_) => (mirrors, None),
        Err(failure) => {
            tracing::debug!(peer = peer.name, %failure, "a source did not tell of its slots");
            (mirrors, None)
        }
    }
}

/// Whether a mirror in this state keeps a slot.
fn has_slot(mirror: &Mirror) -> bool {
    use MirrorState::{Failed, Modifying, Paused, Pausing, Running, Snapshot};
    matches!(mirror.state, Snapshot | Running | Pausing | Paused | Modifying | Failed)
}
