//! Performs what the machine decides: waits for calls, timers and the stop, and begins calls.
//!
//! It decides nothing. Each part lives in a [`Hand`]; the loop waits for whichever answers first, tells the
//! machine, and begins what the machine asks for.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tarn_model::Failure;
use tokio::time::{Instant, sleep_until};

use crate::checkpoint::{BatchRecord, Checkpoints, Resume};
use crate::destination::Destination;
use crate::hand::Hand;
use crate::machine::{Effect, Event, Machine, Now, Part, Script, Shelf, Stopped};
use crate::observer::Notice;
use crate::records::Records;
use crate::retry::{BackOff, Remedy, remedy};
use crate::run::Run;
use crate::settings::StreamSettings;
use crate::source::Source;
use crate::stage::{OpenStage, STAGE_FULL, Stage};
use crate::transform::Transform;

/// The instances of one life of a stream. They are dropped when it ends.
pub struct StreamParts<S, T, D, C, G> {
    /// Configured, not yet open.
    pub source: S,
    /// `None` when the mirror has no script; then `T` is [`crate::NoTransform`] where it has no other.
    pub transform: Option<T>,
    /// Its tables exist.
    pub destination: D,
    /// Where positions go.
    pub checkpoints: C,
    /// Where rows wait while the destination fails in passing. With one, the destination is called again after
    /// such a failure; `None` ends the run, and then `G` is [`crate::NoStage`] where it has no other.
    pub stage: Option<OpenStage<G>>,
}

/// Opens the source at `resume` and streams until `run.stop`, then ends what is under way within the drain
/// deadline.
///
/// Dropping the future aborts the calls in flight; the next life starts from the last checkpoint all the
/// same.
///
/// # Errors
///
/// The first failure of any part, after what could still be finished was. A stop that meets trouble is no
/// error: see [`Stopped::trouble`].
pub async fn stream<S, T, D, C, G>(
    mut parts: StreamParts<S, T, D, C, G>,
    resume: Resume,
    settings: StreamSettings,
    run: Run,
) -> Result<Stopped, Failure>
where
    S: Source,
    T: Transform,
    D: Destination,
    C: Checkpoints,
    G: Stage,
{
    let script = if parts.transform.is_some() { Script::Present } else { Script::Absent };
    let records = settings.records.clone();
    let drain_deadline = settings.bounds.drain_deadline;
    let (stage, shelf) = match parts.stage {
        Some(OpenStage { stage, waiting, bytes_max }) => {
            (Hand::new(stage), Some(Shelf::new(waiting, bytes_max)))
        }
        None => (Hand::gone(), None),
    };
    let machine = Machine::new(settings, script, shelf, &resume);
    // An instance whose opening is dropped is dropped with it.
    match run.stop.run_until_cancelled(parts.source.open(&resume.position)).await {
        Some(opened) => opened?,
        None => return Ok(Stopped { watermarks: machine.watermarks(), trouble: None }),
    }
    run.observer.notice(Notice::StreamOpened);
    let mut stream = Stream {
        machine,
        hands: Hands {
            source: Hand::new(parts.source),
            transform: parts.transform.map_or_else(Hand::gone, Hand::new),
            destination: Hand::new(parts.destination),
            checkpoints: Hand::new(parts.checkpoints),
            stage,
        },
        rests: run.apart(),
        delays: run.back_off(),
        records,
        saving: Vec::new(),
        began: Instant::now(),
        run,
    };
    let end = stream.run(drain_deadline).await;
    if end.is_err() {
        stream.run.note_break(stream.began.elapsed());
    }
    end
}

struct Stream<S, T, D, C, G> {
    machine: Machine,
    hands: Hands<S, T, D, C, G>,
    /// Counts the failures of a destination that rests, apart from those that end runs.
    rests: Run,
    delays: BackOff,
    records: Records,
    /// The batches of the save in flight.
    saving: Vec<BatchRecord>,
    began: Instant,
    run: Run,
}

struct Hands<S, T, D, C, G> {
    source: Hand<S, Event>,
    transform: Hand<T, Event>,
    destination: Hand<D, Event>,
    checkpoints: Hand<C, Event>,
    stage: Hand<G, Event>,
}

impl<S: Source, T: Transform, D: Destination, C: Checkpoints, G: Stage> Stream<S, T, D, C, G> {
    async fn run(&mut self, drain_deadline: Duration) -> Result<Stopped, Failure> {
        let mut event = Event::Woke;
        let mut deadline = None;
        // What waits in the stage from before is known though nothing may move for long.
        self.tell_progress();
        loop {
            if let Some(end) = self.step(event) {
                return end;
            }
            if self.machine.is_draining() && deadline.is_none() {
                deadline = Some(Instant::now() + drain_deadline);
            }
            event = match self.next(deadline).await {
                Some(event) => self.ridden_out(event),
                None => return self.machine.give_up(),
            };
        }
    }

    /// Applies an event and begins what follows; the end of the run if that is what follows.
    fn step(&mut self, event: Event) -> Option<Result<Stopped, Failure>> {
        self.tell(&event);
        let before = self.machine.watermarks();
        let waited = (self.machine.delivered(), self.machine.staged_bytes());
        let now = Now { elapsed: self.began.elapsed(), wall: SystemTime::now() };
        let effects = self.machine.apply(now, event);
        let waits = (self.machine.delivered(), self.machine.staged_bytes());
        if self.machine.watermarks() != before || waits != waited {
            self.tell_progress();
        }
        for effect in effects {
            match effect {
                Effect::Finish(end) => return Some(end),
                other => self.begin(other),
            }
        }
        None
    }

    fn tell_progress(&self) {
        self.run.observer.notice(Notice::Progress {
            watermarks: self.machine.watermarks(),
            window_bytes: self.machine.window_bytes(),
            delivered: self.machine.delivered(),
            staged_bytes: self.machine.staged_bytes(),
        });
    }

    /// Passing trouble of the destination is a rest where rows can wait in a stage.
    fn ridden_out(&mut self, event: Event) -> Event {
        let failure = match &event {
            Event::Failed(Part::Destination, failure)
                if self.machine.rides_out_trouble() && remedy(failure) == Remedy::BackOff =>
            {
                failure
            }
            _ => return event,
        };
        Event::Rests(self.rests.note_failure(failure, &mut self.delays))
    }

    fn tell(&mut self, event: &Event) {
        let observer = &self.run.observer;
        match event {
            Event::Read(changes) => {
                if let Some(batch) = &changes.batch {
                    observer.notice(Notice::RowsRead { rows: u64::from(batch.rows) });
                } else if self.machine.is_idle() {
                    // A source without any change may have no position to save either.
                    self.run.note_steady(self.began.elapsed());
                }
            }
            Event::Evolved => {
                observer.notice(Notice::SchemaEvolved);
                self.rests.note_progress();
            }
            Event::Written(ack) if ack.durable => self.rests.note_progress(),
            Event::Flushed => self.rests.note_progress(),
            Event::Saved => {
                if self.saving.is_empty() {
                    self.run.note_steady(self.began.elapsed());
                } else {
                    self.run.note_progress();
                }
                for record in self.saving.drain(..) {
                    observer.notice(Notice::BatchEnded(&record));
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, effect: Effect) {
        let hands = &mut self.hands;
        let keeps = self.machine.rides_out_trouble();
        match effect {
            Effect::Read(limits) => hands.source.begin(|mut source| async move {
                let answer = source.read(limits).await.map(Event::Read);
                (source, answer)
            }),
            Effect::Confirm(position) => hands.source.begin(|mut source| async move {
                let answer = source.confirm(&position).await.map(|()| Event::Confirmed);
                (source, answer)
            }),
            Effect::Transform(batch) => {
                let (records, observer) = (self.records.clone(), Arc::clone(&self.run.observer));
                hands.transform.begin(|mut transform| async move {
                    let judged = match transform.apply(batch.clone()).await {
                        Ok(answer) => records.judge(&batch, answer, &*observer).await,
                        Err(failure) => Err(failure),
                    };
                    (transform, judged.map(Event::Transformed))
                });
            }
            Effect::Write(batches) => hands.destination.begin(|mut destination| async move {
                let answer = destination.write(batches).await.map(Event::Written);
                (destination, kept(answer, keeps))
            }),
            Effect::Flush => hands.destination.begin(|mut destination| async move {
                let answer = destination.flush().await.map(|()| Event::Flushed);
                (destination, kept(answer, keeps))
            }),
            Effect::Evolve(schema) => hands.destination.begin(|mut destination| async move {
                let answer = destination.evolve(schema).await.map(|()| Event::Evolved);
                (destination, kept(answer, keeps))
            }),
            Effect::Save(checkpoint) => {
                self.saving.clone_from(&checkpoint.batches);
                hands.checkpoints.begin(|mut checkpoints| async move {
                    let answer = checkpoints.save(&checkpoint).await.map(|()| Event::Saved);
                    (checkpoints, answer)
                });
            }
            Effect::Stage(ticket, staged) => hands.stage.begin(|mut stage| async move {
                let answer = match stage.put(ticket, &staged).await {
                    Err(failure) if failure.code == STAGE_FULL => Ok(Event::NoRoom(failure)),
                    put => put.map(|()| Event::Staged),
                };
                (stage, answer)
            }),
            Effect::Fetch(number) => hands.stage.begin(|mut stage| async move {
                let answer = stage.get(number).await.map(Event::Fetched);
                (stage, answer)
            }),
            Effect::Unstage(number) => hands.stage.begin(|mut stage| async move {
                let answer = stage.remove(number).await.map(|()| Event::Unstaged);
                (stage, answer)
            }),
            Effect::Tell(standing) => self.run.observer.notice(Notice::Staging(standing)),
            Effect::Begun { number, first_sequence } => {
                self.run.observer.notice(Notice::BatchBegun { number, first_sequence });
            }
            Effect::Finish(_) => {} // `step` returns it
        }
    }

    /// Waits for what happens next; `None` when the drain deadline has passed.
    ///
    /// Every arm may be dropped: a hand's call goes on in its task, and the rest only waits. The order
    /// prefers what makes room over what needs it.
    async fn next(&mut self, deadline: Option<Instant>) -> Option<Event> {
        let hands = &mut self.hands;
        let wake = self.machine.wake_at().map(|elapsed| self.began + elapsed);
        let (part, answer) = tokio::select! {
            biased;
            () = self.run.stop.cancelled(), if deadline.is_none() => return Some(Event::Stop),
            answer = hands.checkpoints.done() => (Part::Checkpoints, answer),
            answer = hands.stage.done() => (Part::Stage, answer),
            answer = hands.destination.done() => (Part::Destination, answer),
            answer = hands.transform.done() => (Part::Transform, answer),
            answer = hands.source.done() => (Part::Source, answer),
            () = sleep_until_some(wake) => return Some(Event::Woke),
            () = sleep_until_some(deadline) => return None,
        };
        Some(answer.unwrap_or_else(|failure| Event::Failed(part, failure)))
    }
}

/// A destination that failed in passing stays where it will be called again.
fn kept(answer: Result<Event, Failure>, keeps: bool) -> Result<Event, Failure> {
    match answer {
        Err(failure) if keeps && remedy(&failure) == Remedy::BackOff => {
            Ok(Event::Failed(Part::Destination, failure))
        }
        other => other,
    }
}

async fn sleep_until_some(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
