//! The destination, over any client.

use tarn_sdk::{Ack, DestinationConfig, Failure, Problem, log};

use crate::client::{Client, Producer};
use crate::config::{PART_TIMEOUT_MS, PART_WHOLE_MS, POSITIONS, STREAM_TIMEOUT_MS};
use crate::envelope::Envelope;
use crate::failure::of_error;
use crate::part::Part;
use crate::position::{ENDED, Position, Progress};
use crate::topics::Topics;
use crate::validate;

/// A mirror's Kafka.
#[derive(Debug)]
pub(crate) struct Connector<C: Client> {
    pub(crate) client: C,
    pub(crate) config: DestinationConfig,
    pub(crate) topics: Topics,
    pub(crate) envelope: Envelope,
    role: Role,
    /// How long a part may go on in one transaction, in milliseconds.
    pub(crate) part_whole_ms: u32,
    /// Opened when it is first needed, and given up after each failure.
    producer: Option<C::Producer>,
}

/// What the instance writes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Role {
    /// The stream: each write is a transaction, and what is there already is passed over.
    Stream(Progress),
    /// A part of a load: one transaction from its beginning to its end, unless that takes too long.
    Part(Part),
    /// Records that come again long after they were due. Each write is a transaction, and none is passed over: what
    /// was written meanwhile is after them.
    Replay,
}

impl<C: Client> Connector<C> {
    pub(crate) fn new(config: DestinationConfig, client: C) -> Self {
        let role = if config.queue.replays { Role::Replay } else { Role::Stream(Progress::default()) };
        let (topics, envelope) = (Topics::new(), Envelope::default());
        Self { client, config, topics, envelope, role, part_whole_ms: PART_WHOLE_MS, producer: None }
    }

    pub(crate) fn version(&mut self) -> Result<String, Failure> {
        self.client.describe().map(|cluster| cluster.version).map_err(|error| of_error(error, None))
    }

    pub(crate) fn validate(&mut self) -> Result<Vec<Problem>, Failure> {
        validate::validate(&mut self.client, &mut self.topics, &self.config)
    }

    /// Makes the topics that are missing.
    pub(crate) fn prepare(&mut self) -> Result<(), Failure> {
        let mut names: Vec<String> =
            self.config.tables.iter().map(|table| table.destination.clone()).collect();
        if self.config.queue.exactly_once {
            names.push(POSITIONS.to_owned());
        }
        self.topics.ensure(&mut self.client, &self.config, &names)
    }

    pub(crate) fn leave_topics(&self, tables: &[String]) {
        log::info(&format!(
            "the topics {} stay with all their messages: they belong to those who read them",
            tables.join(", ")
        ));
    }

    pub(crate) fn write(&mut self, batches: &[Vec<u8>]) -> Result<Ack, Failure> {
        let before = self.role.clone();
        let written = self.write_all(batches).map_err(|failure| self.judged(failure));
        if written.is_err() {
            // Nothing of an open transaction is committed, and places that were passed meanwhile count no more.
            self.producer = None;
            self.role = before;
        }
        written
    }

    /// A failure with the reason that brokers do not tell: they gave up a transaction that took too long.
    fn judged(&self, failure: Failure) -> Failure {
        match &self.role {
            Role::Part(part) if part.is_given_up(PART_TIMEOUT_MS) => failure.with_hint(
                "brokers gave the transaction up, for one write of the part took minutes: lower max_batch_size, or set \
                 TARN_KAFKA_EXACTLY_ONCE to false",
            ),
            _ => failure,
        }
    }

    fn write_all(&mut self, batches: &[Vec<u8>]) -> Result<Ack, Failure> {
        self.open()?;
        if let Role::Part(part) = &mut self.role {
            part.note_write();
        }
        let sent = self.send(batches)?;
        let whole_ms = self.part_whole_ms;
        let durable = match &mut self.role {
            // Without transactions none can take too long.
            Role::Part(_) if !self.config.queue.exactly_once => false,
            Role::Part(part) => {
                let piecewise = part.is_due(whole_ms);
                if piecewise {
                    self.commit(&[])?;
                }
                piecewise
            }
            Role::Stream(_) | Role::Replay if sent.messages == 0 => true,
            Role::Stream(progress) => {
                let position = progress.position().numbers();
                self.commit(&position)?;
                true
            }
            Role::Replay => {
                self.commit(&[])?;
                true
            }
        };
        Ok(Ack { rows: sent.rows, bytes: sent.bytes, durable })
    }

    /// Makes durable what was written of a part; the stream's rows are by now.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        if self.producer.is_none() {
            return Ok(());
        }
        let flushed = self.commit(&[]).map_err(|failure| self.judged(failure));
        flushed.inspect_err(|_| self.producer = None)
    }

    pub(crate) fn begin_part(&mut self, part: &str) -> Result<bool, Failure> {
        self.producer = None;
        let id = format!("{}.part.{}", self.config.queue.delivery_id, digest(part));
        self.role = Role::Part(Part::new(id));
        self.open()?;
        Ok(self.producer().position() == ENDED)
    }

    pub(crate) fn end_part(&mut self) -> Result<(), Failure> {
        self.open()?;
        let ended = self.commit(&ENDED).map_err(|failure| self.judged(failure));
        // The next part has a producer of its own; this one's threads need not wait for it.
        self.producer = None;
        self.role = Role::Stream(Progress::default());
        ended
    }

    /// Whether the next row is to be written: in the stream, unless it is in the queue already.
    pub(crate) fn is_new(&mut self, class: crate::position::Class, version: u128) -> bool {
        match &mut self.role {
            Role::Stream(progress) => progress.is_new(class, version),
            Role::Part(_) | Role::Replay => true,
        }
    }

    pub(crate) fn producer(&mut self) -> &mut C::Producer {
        self.producer.as_mut().expect("it was opened before anything is sent")
    }

    fn commit(&mut self, position: &[u64]) -> Result<(), Failure> {
        self.producer().commit(position).map_err(|error| of_error(error, None))?;
        if let Role::Part(part) = &mut self.role {
            part.note_commit();
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), Failure> {
        if self.producer.is_some() {
            return Ok(());
        }
        let queue = &self.config.queue;
        let (id, positions, timeout_ms) = match &self.role {
            _ if !queue.exactly_once => (String::new(), "", 0),
            Role::Stream(_) => (format!("{}.stream", queue.delivery_id), POSITIONS, STREAM_TIMEOUT_MS),
            Role::Part(part) => (part.id().to_owned(), POSITIONS, PART_TIMEOUT_MS),
            Role::Replay => (format!("{}.replay", queue.delivery_id), "", STREAM_TIMEOUT_MS),
        };
        let producer = self.client.open(&id, positions, timeout_ms).map_err(|error| of_error(error, None))?;
        if let Role::Stream(progress) = &mut self.role {
            let found = producer.position();
            *progress = match found.is_empty() {
                true => Progress::default(),
                false => Progress::after(Position::parse(&found).ok_or_else(|| unreadable(&id))?),
            };
        }
        self.producer = Some(producer);
        Ok(())
    }
}

fn unreadable(id: &str) -> Failure {
    let message = format!("the position of group {id} is not one that this version writes");
    Failure::permanent("position_unreadable", message)
        .with_hint("update the server to the version that wrote it, or delete the group to begin without one")
}

/// A short name for a part, which its text gives and no other one's: 128 bits of FNV-1a.
fn digest(text: &str) -> String {
    let hash = text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    format!("{hash:032x}")
}
