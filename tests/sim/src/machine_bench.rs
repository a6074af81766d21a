//! Drives the pure machine through random orders of answers, failures, time and stop.
//!
//! No tasks, no models: the bench is told what the machine wants done, ends calls in any order, and keeps
//! a log of what became of each answer of the source. It is fast enough for many thousand seeds.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use tarn_model::{Failure, Position};
use tarn_replication::{
    Ack, Batch, Changes, Effect, Event, Machine, Now, Part, Records, Resume, Script, Shelf, Staged,
    StreamBounds, StreamSettings,
};

use crate::random::Random;

/// A lie told to the machine, to show that the bench sees its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// None.
    None,
    /// Writes are called durable that are not.
    Durable,
    /// Checkpoints are called saved that are not.
    Saved,
    /// Entries are called staged that are not.
    Staged,
}

/// What the source delivered with one of its answers; the destination must take all of it in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thing {
    Schema(u64),
    Rows(u64),
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    OnItsWay,
    Taken,
    /// Durable at the destination, or dropped by the script.
    Settled,
}

/// See the module's documentation.
pub struct MachineBench {
    random: Random,
    machine: Machine,
    settings: StreamSettings,
    lie: Lie,
    elapsed: Duration,
    calls: BTreeMap<&'static str, Effect>,
    /// The source's answers so far.
    answers: u64,
    sequence: u64,
    /// What was read, without settled things at the front.
    things: VecDeque<(Thing, Fate)>,
    /// The answer of the last saved position.
    saved: u64,
    live_bytes: u64,
    first_failure: Option<String>,
    stopped: bool,
    /// The stage: entries that wait, with what is in them; `None` where there is no stage.
    staged: Option<VecDeque<(u64, Staged)>>,
    /// The stage may be full.
    small: bool,
    /// What the stage gave out and the destination does not have for good.
    fetched: Option<(u64, Staged)>,
    /// Bytes of the write in flight, which are held until they are durable.
    writing_bytes: u64,
}

impl MachineBench {
    /// A bench of a seed.
    pub fn new(seed: u64, lie: Lie) -> Self {
        let mut random = Random::new(seed);
        let settings = StreamSettings {
            batch_rows_max: *random.pick(&[1, 5, 50]),
            idle_timeout: Duration::from_millis(*random.pick(&[0, 100, 10_000])),
            records: Records::stop(),
            bounds: StreamBounds {
                window_bytes_max: 12_000,
                batch_bytes_max: 4_000,
                read_bytes_max: 1_000,
                ..StreamBounds::default()
            },
        };
        let script = *random.pick(&[Script::Present, Script::Absent]);
        let resume = Resume { position: number_position(0), sequence: 0, batch: 0 };
        let stage_bytes_max = *random.pick(&[None, Some(u64::MAX), Some(6_000)]);
        let shelf = stage_bytes_max.map(|bytes_max| Shelf::new(Vec::new(), bytes_max));
        Self {
            machine: Machine::new(settings.clone(), script, shelf, &resume),
            staged: stage_bytes_max.map(|_| VecDeque::new()),
            small: stage_bytes_max.is_some_and(|bytes_max| bytes_max < u64::MAX),
            fetched: None,
            writing_bytes: 0,
            random,
            settings,
            lie,
            elapsed: Duration::ZERO,
            calls: BTreeMap::new(),
            answers: 0,
            sequence: 0,
            things: VecDeque::new(),
            saved: 0,
            live_bytes: 0,
            first_failure: None,
            stopped: false,
        }
    }

    /// Runs until the machine finishes, or a promise is broken.
    pub fn run(&mut self) -> Result<(), String> {
        let events = self.random.within(10..300);
        let mut event = Event::Woke;
        for count in 0.. {
            if let Some(end) = self.apply(event)? {
                return self.check_end(end);
            }
            event = match count >= events && !self.stopped {
                true => self.stop(),
                false => self.next_event()?,
            };
            if count > events + 1_000 {
                return Err("it does not come to an end".to_owned());
            }
        }
        Ok(())
    }

    fn stop(&mut self) -> Event {
        self.stopped = true;
        Event::Stop
    }

    fn apply(&mut self, event: Event) -> Result<Option<Effect>, String> {
        let now = Now { elapsed: self.elapsed, wall: SystemTime::UNIX_EPOCH + self.elapsed };
        let mut end = None;
        for effect in self.machine.apply(now, event) {
            self.check_effect(&effect)?;
            let part = match effect {
                Effect::Read(_) | Effect::Confirm(_) => "source",
                Effect::Transform(_) => "transform",
                Effect::Write(_) | Effect::Flush | Effect::Evolve(_) => "destination",
                Effect::Save(_) => "checkpoints",
                Effect::Stage(..) | Effect::Fetch(_) | Effect::Unstage(_) => "stage",
                Effect::Begun { .. } | Effect::Tell(_) => continue,
                Effect::Finish(_) => {
                    end = Some(effect);
                    continue;
                }
            };
            if self.calls.insert(part, effect).is_some() {
                return Err(format!("two calls of the {part} at a time"));
            }
        }
        if end.is_some() && !self.calls.is_empty() {
            return Err(format!("finished with {:?} in flight", self.calls));
        }
        if self.machine.wake_at().is_some_and(|at| at <= self.elapsed) {
            return Err("something was due and did not happen".to_owned());
        }
        // What is in flight and the schemas of one more answer come on top of nothing.
        match self.live_bytes <= self.settings.bounds.window_bytes_max {
            true => Ok(end),
            false => Err(format!("{} bytes are held", self.live_bytes)),
        }
    }

    fn check_effect(&mut self, effect: &Effect) -> Result<(), String> {
        match effect {
            Effect::Write(batches) => {
                let rows: u64 = batches.iter().map(|batch| u64::from(batch.rows)).sum();
                let bytes: u64 = batches.iter().map(|batch| batch.bytes.len() as u64).sum();
                let single = batches.len() == 1;
                let bounds = &self.settings;
                if !single && (rows > bounds.batch_rows_max.into() || bytes > bounds.bounds.batch_bytes_max) {
                    return Err(format!("a write of {rows} rows, {bytes} bytes"));
                }
                self.give(&Staged::Rows(batches.clone()))
            }
            Effect::Evolve(schema) => self.give(&Staged::Schema(schema.clone())),
            Effect::Stage(_, staged) => self.take_all(staged),
            Effect::Fetch(number) => match self.staged.as_ref().and_then(VecDeque::front) {
                Some((first, _)) if first == number => Ok(()),
                first => Err(format!("{number} is fetched where {first:?} waits first")),
            },
            Effect::Unstage(number) => match self.fetched.take() {
                Some((fetched, _)) if fetched == *number => Ok(()),
                other => Err(format!("{number} is forgotten, and {other:?} was delivered")),
            },
            Effect::Save(checkpoint) => {
                let number = number_of(checkpoint.position.as_bytes());
                match self.things.front() {
                    Some((thing, fate)) if thing.answer() <= number => {
                        Err(format!("saved {number}, but {thing:?} is {fate:?}"))
                    }
                    _ => Ok(()),
                }
            }
            Effect::Confirm(position) => match number_of(position.as_bytes()) > self.saved {
                true => Err(format!("confirmed {position:?}, saved is {}", self.saved)),
                false => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// The destination is given what the stage gave out, or what is next in order while nothing waits.
    fn give(&mut self, given: &Staged) -> Result<(), String> {
        if let Some((_, fetched)) = &self.fetched {
            return match fetched == given {
                true => Ok(()),
                false => Err(format!("{given:?} is written where {fetched:?} was fetched")),
            };
        }
        if let Some(first) = self.staged.as_ref().and_then(VecDeque::front) {
            return Err(format!("{given:?} passes {first:?}, which waits"));
        }
        if let Staged::Rows(batches) = given {
            self.writing_bytes = batches.iter().map(|batch| batch.bytes.len() as u64).sum();
        }
        self.take_all(given)
    }

    fn take_all(&mut self, staged: &Staged) -> Result<(), String> {
        things(staged).into_iter().try_for_each(|thing| self.take(thing))
    }

    /// The destination is given something: it must be the next in order.
    fn take(&mut self, thing: Thing) -> Result<(), String> {
        let next = self.things.iter_mut().find(|(_, fate)| *fate == Fate::OnItsWay);
        match next {
            Some((next, fate)) if *next == thing => {
                *fate = Fate::Taken;
                Ok(())
            }
            next => Err(format!("{thing:?} is written where {next:?} is next")),
        }
    }

    /// What the destination took, or a single thing, is settled.
    fn settle(&mut self, which: impl Fn(Thing, Fate) -> bool) {
        for (thing, fate) in &mut self.things {
            if which(*thing, *fate) {
                *fate = Fate::Settled;
            }
        }
        while self.things.front().is_some_and(|(_, fate)| *fate == Fate::Settled) {
            self.things.pop_front();
        }
    }

    fn next_event(&mut self) -> Result<Event, String> {
        let wake_at = self.machine.wake_at();
        if self.calls.is_empty() && wake_at.is_none() {
            return Err("nothing is in flight and nothing is waited for".to_owned());
        }
        if self.calls.is_empty() || self.random.chance(15) {
            let pause = Duration::from_millis(*self.random.pick(&[1, 50, 1_000, 6_000]));
            self.elapsed = wake_at.unwrap_or(Duration::MAX).min(self.elapsed + pause);
            return Ok(Event::Woke);
        }
        if !self.stopped && self.random.chance(1) {
            return Ok(self.stop());
        }
        let parts: Vec<_> = self.calls.keys().copied().collect();
        let part = *self.random.pick(&parts);
        let call = self.calls.remove(part).expect("it was just listed");
        if self.random.chance(1) {
            return Ok(self.fail(part));
        }
        Ok(self.answer(call))
    }

    fn fail(&mut self, part: &'static str) -> Event {
        if part == "destination" && self.machine.rides_out_trouble() {
            // What the stage gave out is still in it; what came directly is to be staged.
            if self.fetched.take().is_none() {
                let taken = self.things.iter_mut().filter(|(_, fate)| *fate == Fate::Taken);
                taken.for_each(|(_, fate)| *fate = Fate::OnItsWay);
            }
            self.writing_bytes = 0;
            return Event::Rests(Duration::from_millis(*self.random.pick(&[0, 10, 3_000, 30_000])));
        }
        if !self.stopped {
            self.first_failure.get_or_insert_with(|| part.to_owned());
        }
        let part_failed = match part {
            "source" => Part::Source,
            "transform" => Part::Transform,
            "destination" => Part::Destination,
            "stage" => Part::Stage,
            _ => Part::Checkpoints,
        };
        self.live_bytes = 0; // given up, or drained without reading more
        Event::Failed(part_failed, Failure::retry(part, "model trouble"))
    }

    fn answer(&mut self, call: Effect) -> Event {
        match call {
            Effect::Read(limits) => Event::Read(self.changes(limits.rows_max)),
            Effect::Confirm(_) => Event::Confirmed,
            Effect::Transform(batch) => {
                let number = number_of(&batch.bytes);
                match self.random.chance(20) {
                    true => {
                        self.settle(|thing, _| thing == Thing::Rows(number));
                        self.live_bytes = self.live_bytes.saturating_sub(batch.bytes.len() as u64);
                        Event::Transformed(Batch { rows: 0, ..batch })
                    }
                    false => Event::Transformed(batch),
                }
            }
            Effect::Write(batches) => {
                let bytes = batches.iter().map(|batch| batch.bytes.len() as u64).sum::<u64>();
                let durable = self.random.chance(50);
                let is_direct = self.fetched.is_none();
                if is_direct && (durable || self.lie == Lie::Durable || self.staged.is_none()) {
                    self.live_bytes = self.live_bytes.saturating_sub(bytes);
                    self.writing_bytes = 0;
                }
                if durable && is_direct {
                    self.settle(|_, fate| fate == Fate::Taken);
                }
                Event::Written(Ack { rows: 0, bytes, durable: durable || self.lie == Lie::Durable })
            }
            Effect::Flush => {
                if self.fetched.is_none() {
                    self.live_bytes = self.live_bytes.saturating_sub(std::mem::take(&mut self.writing_bytes));
                    self.settle(|_, fate| fate == Fate::Taken);
                }
                Event::Flushed
            }
            Effect::Evolve(schema) => {
                if self.fetched.is_none() {
                    let number = number_of(&schema);
                    self.settle(|thing, _| thing == Thing::Schema(number));
                }
                Event::Evolved
            }
            Effect::Save(checkpoint) => {
                if self.lie != Lie::Saved {
                    self.saved = number_of(checkpoint.position.as_bytes());
                }
                Event::Saved
            }
            Effect::Stage(_, staged) if !self.machine.is_draining() && self.random.chance(3) => {
                let kept = things(&staged);
                let taken = self.things.iter_mut().filter(|(thing, _)| kept.contains(thing));
                taken.for_each(|(_, fate)| *fate = Fate::OnItsWay);
                self.small = true;
                Event::NoRoom(Failure::retry("stage_full", "model trouble"))
            }
            Effect::Stage(ticket, staged) => {
                if let Staged::Rows(batches) = &staged {
                    let bytes = batches.iter().map(|batch| batch.bytes.len() as u64).sum::<u64>();
                    self.live_bytes = self.live_bytes.saturating_sub(bytes);
                }
                if self.lie != Lie::Staged {
                    let kept = things(&staged);
                    self.settle(|thing, _| kept.contains(&thing));
                }
                self.staged.as_mut().expect("there is a stage").push_back((ticket.number, staged));
                Event::Staged
            }
            Effect::Fetch(number) => {
                let first = self.staged.as_ref().and_then(|staged| staged.front().cloned());
                let (first, staged) = first.expect("it was just looked at");
                assert_eq!(first, number);
                if !self.machine.is_draining() {
                    self.fetched = Some((number, staged.clone()));
                }
                Event::Fetched(staged)
            }
            Effect::Unstage(_) => {
                self.staged.as_mut().expect("there is a stage").pop_front();
                Event::Unstaged
            }
            Effect::Begun { .. } | Effect::Tell(_) | Effect::Finish(_) => unreachable!("no calls"),
        }
    }

    fn changes(&mut self, rows_max: u32) -> Changes {
        self.answers += 1;
        self.sequence += self.random.within(0..3);
        let number = self.answers;
        let schema = self.random.chance(10).then(|| Bytes::from(number.to_le_bytes().to_vec()));
        let rows = self.random.within(0..u64::from(rows_max.min(20)) + 1) as u32;
        let batch = (rows > 0 && self.random.chance(80)).then(|| {
            let mut bytes = number.to_le_bytes().to_vec();
            bytes.resize(8 + self.random.within(0..990) as usize, 0);
            Batch { bytes: bytes.into(), rows }
        });
        if !self.machine.is_draining() {
            self.things.extend(schema.is_some().then_some((Thing::Schema(number), Fate::OnItsWay)));
            self.things.extend(batch.is_some().then_some((Thing::Rows(number), Fate::OnItsWay)));
            self.live_bytes += batch.as_ref().map_or(0, |batch| batch.bytes.len() as u64);
        } else {
            self.answers -= 1; // the next run reads it again
        }
        Changes { schema, batch, position: number_position(number), sequence: self.sequence }
    }

    fn check_end(&self, end: Effect) -> Result<(), String> {
        match (end, &self.first_failure) {
            (Effect::Finish(Ok(stopped)), None) if self.stopped => {
                let saved_all = self.saved == self.answers || self.lie != Lie::None;
                match stopped.trouble.is_some() || self.small || (saved_all && self.things.is_empty()) {
                    true => Ok(()),
                    false => Err(format!("stopped at {} of {} answers", self.saved, self.answers)),
                }
            }
            (Effect::Finish(Err(failure)), Some(part)) if failure.code == *part => Ok(()),
            (end, failure) => Err(format!("{end:?} after failure {failure:?}")),
        }
    }
}

fn things(staged: &Staged) -> Vec<Thing> {
    match staged {
        Staged::Schema(schema) => vec![Thing::Schema(number_of(schema))],
        Staged::Rows(batches) => batches.iter().map(|batch| Thing::Rows(number_of(&batch.bytes))).collect(),
    }
}

impl Thing {
    fn answer(self) -> u64 {
        match self {
            Self::Schema(answer) | Self::Rows(answer) => answer,
        }
    }
}

fn number_position(number: u64) -> Position {
    Position::new(number.to_le_bytes().to_vec())
}

fn number_of(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"))
}
