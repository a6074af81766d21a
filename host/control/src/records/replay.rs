//! Running dead letters through a mirror's scripts again, and writing them.
//!
//! A letter is written with the version that its record had at the source, so that a later row stays. It has
//! instances of its own, so that it works for a mirror at rest as well; beside a running one it takes its turn
//! between two writes of the stream. Letters go in the order of their records, and one that leaves values out
//! waits for those before it.

use std::collections::HashSet;
use std::sync::Arc;

use tarn_batch::Batch as Rows;
use tarn_catalog::{Catalog, LetterTrouble, WaitingLetter};
use tarn_model::{DeadLetter, DeadLetterState, Failure, FailureClass, Mirror, RecordStage};
use tarn_replication::{Batch, Destination, Rejection, Transform};
use tarn_wasm::NoLog;

use super::book::Books;
use super::chain::Chain;
use super::desk::Desk;
use super::letter;
use crate::config::REPLAY_BYTES_AT_ONCE;
use crate::guest_settings;
use crate::hooks::{Pending, ReplayOutcome, Replayer};
use crate::instances::{self, Store};
use crate::plugins::Plugins;
use crate::stage::Stages;

/// Replays letters with the mirrors' own connectors and scripts.
#[derive(Clone)]
pub struct LetterReplayer {
    catalog: Catalog,
    plugins: Plugins,
    books: Books,
    stages: Stages,
}

/// One replay under way.
struct Replay<T, D> {
    catalog: Catalog,
    mirror: i64,
    chain: Option<Chain<T>>,
    destination: D,
    /// Letters whose records are on their way to the destination.
    group: Vec<(WaitingLetter, Batch)>,
    /// Bytes of those records.
    group_bytes: usize,
    outcomes: Vec<ReplayOutcome>,
    settled: Vec<String>,
}

impl LetterReplayer {
    /// A replayer over what the runs use, too.
    pub fn new(catalog: &Catalog, plugins: &Plugins, books: &Books, stages: &Stages) -> Self {
        let (catalog, plugins) = (catalog.clone(), plugins.clone());
        Self { catalog, plugins, books: books.clone(), stages: stages.clone() }
    }

    async fn run(&self, mirror: &Mirror, ids: &[i64], limit: u32) -> Result<Vec<ReplayOutcome>, Failure> {
        let Self { catalog, plugins, books, stages } = self;
        let log = Arc::new(NoLog);
        let scripts = instances::load_scripts(catalog, plugins, &mirror.spec).await?;
        // A record that stops a script waits on: the desk says that others go on, and keeps nothing itself.
        let peer = instances::peer(catalog, &mirror.spec.destination_peer).await?;
        let chain = instances::chain(
            plugins,
            &scripts,
            &guest_settings::script(&mirror.spec, &peer),
            &Desk::none(catalog, mirror.id),
            log.clone(),
            1,
        )
        .await?;
        let book = books.of(mirror.id);
        let turn = book.turn_alone().await;
        // Looked up within the turn: tables loaded beside are put in their place in another one.
        let store = Store::new(catalog, plugins, mirror.id, &mirror.spec).await?;
        // Read within the turn: a TRUNCATE may have made some of them void.
        let letters = catalog.waiting_letters(mirror.id, ids, limit).await?;
        // Changes before them wait in the stage: a TRUNCATE among those would take the replayed row away, and a value
        // that a letter leaves out is not at the destination yet.
        let waits_after = stages.waits_after(catalog, mirror.id).await?.unwrap_or(u64::MAX);
        let (letters, early): (Vec<_>, Vec<_>) =
            letters.into_iter().partition(|letter| letter.position <= waits_after);
        let early = early.into_iter().map(|letter| {
            let message =
                "changes before it still wait for the destination: replay it once they are delivered";
            waiting(letter.id, message.to_owned())
        });
        let outcomes = early.collect();
        if letters.is_empty() {
            return Ok(outcomes);
        }
        let mut replay = Replay {
            catalog: catalog.clone(),
            mirror: mirror.id,
            chain,
            destination: store.for_replay().open(log).await?,
            group: Vec::new(),
            group_bytes: 0,
            outcomes,
            settled: Vec::new(),
        };
        let ended = replay.take_all(letters).await;
        book.forget(replay.settled.iter().map(String::as_str));
        drop(turn);
        // What was settled before a failure is settled.
        ended.map(|()| replay.outcomes)
    }
}

impl Replayer for LetterReplayer {
    fn replay<'a>(
        &'a self,
        mirror: &'a Mirror,
        ids: &'a [i64],
        limit: u32,
    ) -> Pending<'a, Result<Vec<ReplayOutcome>, Failure>> {
        Box::pin(self.run(mirror, ids, limit))
    }
}

impl<T: Transform, D: Destination> Replay<T, D> {
    async fn take_all(&mut self, letters: Vec<DeadLetter>) -> Result<(), Failure> {
        for letter in letters {
            // Records may be large: one at a time is read.
            if let Some(letter) = self.catalog.waiting_letter(self.mirror, letter.id).await? {
                self.take(letter).await?;
            }
            if self.group_bytes >= REPLAY_BYTES_AT_ONCE {
                self.write_group().await?;
            }
        }
        self.write_group().await
    }

    async fn take(&mut self, mut letter: WaitingLetter) -> Result<(), Failure> {
        let batch = letter::batch(std::mem::take(&mut letter.record));
        if leaves_out(&batch)? {
            let keys: HashSet<&String> = letter.row_keys.iter().collect();
            if self.group.iter().any(|(other, _)| other.row_keys.iter().any(|key| keys.contains(key))) {
                self.write_group().await?;
            }
            if self.catalog.waits_for_earlier(self.mirror, &letter).await? {
                let message =
                    "it leaves values out that an earlier dead letter of the row has: replay that first";
                self.outcomes.push(waiting(letter.letter.id, message.to_owned()));
                return Ok(());
            }
        }
        match (letter.letter.stage, &mut self.chain) {
            (RecordStage::Script, Some(chain)) => {
                let answer = chain.apply(batch).await?;
                if let Some(rejection) = answer.rejected.into_iter().next() {
                    return self.note(letter.letter.id, rejection).await;
                }
                if answer.batch.rows == 0 {
                    return self.settle(vec![letter.letter.id], "the scripts drop the record").await;
                }
                self.add(letter, answer.batch);
            }
            // What the destination refused has been through the scripts.
            (RecordStage::Destination, _) | (RecordStage::Script, None) => self.add(letter, batch),
        }
        Ok(())
    }

    fn add(&mut self, letter: WaitingLetter, batch: Batch) {
        self.group_bytes += batch.bytes.len();
        self.group.push((letter, batch));
    }

    /// Writes what is gathered, smaller parts where a record is refused.
    async fn write_group(&mut self) -> Result<(), Failure> {
        self.group_bytes = 0;
        let mut parts = vec![std::mem::take(&mut self.group)];
        while let Some(mut part) = parts.pop() {
            if part.is_empty() {
                continue;
            }
            let batches = part.iter().map(|(_, batch)| batch.clone()).collect();
            match self.write(batches).await {
                Ok(()) => {
                    let ids = part.iter().map(|(letter, _)| letter.letter.id).collect();
                    self.settle(ids, "").await?;
                }
                Err(refused) if refused.class != FailureClass::Record => return Err(refused),
                Err(refused) if part.len() == 1 => {
                    let rejection = Rejection {
                        message: refused.message,
                        stage: RecordStage::Destination,
                        ..Rejection::default()
                    };
                    self.note(part[0].0.letter.id, rejection).await?;
                }
                Err(_) => {
                    let second = part.split_off(part.len() / 2);
                    parts.extend([second, part]);
                }
            }
        }
        Ok(())
    }

    async fn write(&mut self, batches: Vec<Batch>) -> Result<(), Failure> {
        let ack = self.destination.write(batches).await?;
        if ack.durable { Ok(()) } else { self.destination.flush().await }
    }

    async fn settle(&mut self, ids: Vec<i64>, message: &str) -> Result<(), Failure> {
        let marks = self.catalog.settle_letters(self.mirror, &ids, DeadLetterState::Replayed).await?;
        self.settled.extend(marks.into_iter().map(|mark| mark.identity));
        self.outcomes.extend(ids.into_iter().map(|id| ReplayOutcome {
            id,
            state: DeadLetterState::Replayed,
            message: message.to_owned(),
        }));
        Ok(())
    }

    /// The letter stays, with what is wrong with it now.
    async fn note(&mut self, id: i64, rejection: Rejection) -> Result<(), Failure> {
        let Rejection { script, script_version, line, function, message, log_lines, .. } = rejection;
        self.outcomes.push(waiting(id, message.clone()));
        let trouble = LetterTrouble { script, script_version, line, function, message, log_lines };
        Ok(self.catalog.note_letter_trouble(self.mirror, &[(id, trouble)]).await?)
    }
}

fn waiting(id: i64, message: String) -> ReplayOutcome {
    ReplayOutcome { id, state: DeadLetterState::Waiting, message }
}

fn leaves_out(batch: &Batch) -> Result<bool, Failure> {
    let rows = Rows::parse(&batch.bytes).map_err(super::desk::damaged)?;
    let row = rows.rows().next().transpose().map_err(super::desk::damaged)?;
    Ok(row.is_some_and(|row| letter::leaves_out(&row)))
}
