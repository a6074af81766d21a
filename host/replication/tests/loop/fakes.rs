//! Instances that answer what a test tells them to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tarn_model::{Failure, Position, RecordStage};
use tarn_replication::{
    Ack, Batch, Changes, Checkpoint, Checkpoints, Destination, LeavingOut, Limits, Notice, Observer,
    RecordDesk, Records, Rejection, Source, Transform, Transformed,
};

/// Lines of what happened, in order.
#[derive(Clone, Default)]
pub struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    pub fn line(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Journal {
    fn notice(&self, notice: Notice<'_>) {
        match notice {
            Notice::Retrying { failure, attempt, .. } => {
                self.line(format!("retry {attempt}: {}", failure.code))
            }
            Notice::Recovered { attempts, .. } => self.line(format!("recovered from {attempts}")),
            Notice::GivenUp { .. } => self.line("given up"),
            Notice::StreamOpened => self.line("opened"),
            Notice::RecordLeftOut(rejection) => self.line(format!("left out {}", rejection.key)),
            Notice::RowsDropped { rows } => self.line(format!("dropped {rows}")),
            Notice::BatchEnded(record) => self.line(format!("batch {} of {}", record.number, record.rows)),
            Notice::PartitionEnded(done) => {
                self.line(format!("partition {} {} of {}", done.table, done.number, done.rows));
            }
            _ => {}
        }
    }
}

pub fn position(sequence: u64) -> Position {
    Position::new(sequence.to_be_bytes().to_vec())
}

pub fn batch(rows: u32) -> Batch {
    Batch { bytes: Bytes::from(vec![0; rows as usize * 10]), rows }
}

/// What a call does.
#[derive(Clone, Debug)]
pub enum Reply {
    Rows(u32),
    Fail(Failure),
    Panic,
    Hang,
}

/// Answers its replies in order, then heartbeats.
pub struct FakeSource {
    pub replies: VecDeque<Reply>,
    pub sequence: u64,
    pub journal: Journal,
}

impl FakeSource {
    pub fn new(journal: &Journal, replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: replies.into_iter().collect(), sequence: 100, journal: journal.clone() }
    }
}

impl Source for FakeSource {
    async fn open(&mut self, _start: &Position) -> Result<(), Failure> {
        if matches!(self.replies.front(), Some(Reply::Hang)) {
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    async fn read(&mut self, limits: Limits) -> Result<Changes, Failure> {
        let batch = match self.replies.pop_front() {
            Some(Reply::Rows(rows)) => {
                self.sequence += u64::from(rows);
                Some(batch(rows))
            }
            Some(Reply::Fail(failure)) => return Err(failure),
            Some(Reply::Panic) => panic!("a planted panic"),
            Some(Reply::Hang) => std::future::pending().await,
            None => {
                tokio::time::sleep(limits.wait).await;
                None
            }
        };
        Ok(Changes { schema: None, batch, position: position(self.sequence), sequence: self.sequence })
    }

    async fn confirm(&mut self, position: &Position) -> Result<(), Failure> {
        let sequence = u64::from_be_bytes(position.as_bytes().try_into().unwrap());
        self.journal.line(format!("confirmed {sequence}"));
        Ok(())
    }
}

/// Takes note of nothing but that a record came.
pub struct FakeDesk(pub Journal);

impl RecordDesk for FakeDesk {
    fn leave_out<'a>(&'a self, batch: &'a Batch, rejected: &'a [Rejection]) -> LeavingOut<'a> {
        Box::pin(async move {
            self.0.line(format!("noted {} of {}", rejected.len(), batch.rows));
            Ok(())
        })
    }
}

/// Goes on without rejected records.
pub fn skipping() -> Records {
    Records::leave_out(Arc::new(FakeDesk(Journal::default())), 1_000)
}

/// Rejects the first row of each batch, drops the second.
pub struct FakeScript;

impl Transform for FakeScript {
    async fn apply(&mut self, given: Batch) -> Result<Transformed, Failure> {
        let rejected = Rejection {
            row: 0,
            table: "public.users".to_owned(),
            key: "id=42".to_owned(),
            line: 3,
            message: "attempt to index a nil value".to_owned(),
            stage: RecordStage::Script,
            script: "mask".to_owned(),
            script_version: 2,
            function: "onRecord".to_owned(),
            log_lines: vec!["seen 41".to_owned()],
        };
        Ok(Transformed { batch: batch(given.rows - 2), dropped: 1, rejected: vec![rejected] })
    }
}

/// Takes writes after a delay, unless it has replies left that say otherwise.
pub struct FakeDestination {
    pub replies: VecDeque<Reply>,
    pub delay: Duration,
    pub journal: Journal,
}

impl FakeDestination {
    pub fn new(journal: &Journal, replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: replies.into_iter().collect(), delay: Duration::ZERO, journal: journal.clone() }
    }
}

impl Destination for FakeDestination {
    async fn write(&mut self, batches: Vec<Batch>) -> Result<Ack, Failure> {
        tokio::time::sleep(self.delay).await;
        match self.replies.pop_front() {
            Some(Reply::Fail(failure)) => return Err(failure),
            Some(Reply::Hang) => std::future::pending().await,
            Some(Reply::Panic) => panic!("a planted panic"),
            Some(Reply::Rows(_)) | None => {}
        }
        let rows = batches.iter().map(|batch| u64::from(batch.rows)).sum();
        self.journal.line(format!("wrote {rows}"));
        Ok(Ack { rows, bytes: 0, durable: true })
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    async fn evolve(&mut self, _schema: Bytes) -> Result<(), Failure> {
        Ok(())
    }
}

pub struct FakeCheckpoints {
    pub journal: Journal,
}

impl Checkpoints for FakeCheckpoints {
    async fn save(&mut self, checkpoint: &Checkpoint) -> Result<(), Failure> {
        self.journal.line(format!("saved {}", checkpoint.sequence));
        Ok(())
    }
}
