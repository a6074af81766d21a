//! Sending messages, in transactions that carry a position.
//!
//! A producer with an id begins by ending what an earlier one of the id left open, and no earlier one can commit
//! anything from then on. Each transaction commits numbers beside its messages, where consumers keep their offsets:
//! in a group of the producer's id, one at each partition of a topic that is there for nothing else. So both become
//! visible at one instant, and the next producer of the id reads which transaction was the last.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rdkafka::config::FromClientConfigAndContext;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerGroupMetadata};
use rdkafka::error::KafkaError;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use rdkafka::types::RDKafkaErrorCode as Code;
use rdkafka::{Offset, TopicPartitionList};
use tarn_batch::{Batch, Outgoing, Row, RowHeader};

use crate::client::{Client, blocking};
use crate::config;
use crate::context::Context;
use crate::error::{Error, Heard, Trouble};
use crate::settings;

/// How a producer is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProducerSettings {
    /// Its id, under which there is one at a time; empty for messages without transactions.
    pub id: String,
    /// The topic beside which positions are kept.
    pub positions: String,
    /// How long a transaction may take before the brokers give it up, in milliseconds.
    pub timeout_ms: u32,
}

/// See the module's documentation. After an error it is of no use any more: drop it.
pub struct Producer(Option<Arc<Open>>);

struct Open {
    client: Client,
    native: BaseProducer<Context>,
    visibility: Visibility,
    positions: Option<Positions>,
    state: Mutex<State>,
}

/// When messages show.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visibility {
    /// Each as soon as it is there.
    AtOnce,
    /// Those of a transaction once it is committed.
    ByTransaction,
}

/// Where positions are kept.
struct Positions {
    topic: String,
    group: ConsumerGroupMetadata,
    /// What was there when the producer began.
    found: Vec<u64>,
}

/// Whether a transaction is under way.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Transaction {
    #[default]
    None,
    Begun,
}

#[derive(Default)]
struct State {
    transaction: Transaction,
    /// Calls of `send`, for messages that have no key.
    turn: u32,
    partitions: HashMap<String, (u32, Instant)>,
}

impl Producer {
    /// Opens a producer. One with an id ends what an earlier one of it left open.
    ///
    /// # Errors
    /// Any [`Error`].
    pub async fn open(client: &Client, producer: ProducerSettings) -> Result<Self, Error> {
        let client = client.clone();
        client.0.closing.done().await;
        blocking(move || Open::new(client, &producer)).await.map(|open| Self(Some(Arc::new(open))))
    }

    /// The numbers of the last transaction that was committed before this producer began; none where there was none.
    pub fn position(&self) -> &[u64] {
        let positions = self.0.as_ref().and_then(|open| open.positions.as_ref());
        positions.map_or(&[], |positions| &positions.found)
    }

    /// Sends the messages of a batch, in order, and returns how many bytes they have. Waits while there is no room
    /// for more of them. What is sent within a transaction shows once it is committed.
    ///
    /// # Errors
    /// Any [`Error`], with the message it concerns where it is of one.
    pub async fn send(&self, batch: Vec<u8>) -> Result<u64, Error> {
        let open = self.opened()?;
        blocking(move || open.send(&batch)).await
    }

    /// Waits until everything sent is with the brokers, and commits it with a position; one without
    /// numbers leaves the one that is there.
    ///
    /// # Errors
    /// Any [`Error`]; whether the transaction is committed tells the position of the next producer.
    pub async fn commit(&self, position: Vec<u64>) -> Result<(), Error> {
        let open = self.opened()?;
        blocking(move || open.commit(&position)).await
    }

    /// Gives up what was not committed, and waits until the library's threads have ended.
    pub async fn close(mut self) {
        let Some(open) = self.0.take() else { return };
        // Nobody can do anything about a panic in there, and nothing of it would be committed.
        let ended = blocking(move || {
            drop(open);
            Ok(())
        });
        drop(ended.await);
    }

    fn opened(&self) -> Result<Arc<Open>, Error> {
        self.0.clone().ok_or_else(|| Error::new(Trouble::Unavailable, "the producer is closed"))
    }
}

impl Drop for Producer {
    /// What [`Self::close`] does, where nobody can wait for it: the client's next producer does.
    fn drop(&mut self) {
        let Some(open) = self.0.take() else { return };
        let client = open.client.clone();
        client.0.closing.add(open);
    }
}

impl std::fmt::Debug for Producer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Producer").field("open", &self.0.is_some()).finish_non_exhaustive()
    }
}

/// Ends what an earlier producer of the id left open. The call goes on where it was when it is repeated.
fn begin_transactions(native: &BaseProducer<Context>) -> Result<(), Error> {
    let began = Instant::now();
    let mut refused_since: Option<Instant> = None;
    loop {
        let left = config::BEGIN_DEADLINE.saturating_sub(began.elapsed());
        let wait = config::FIRST_WAIT.min(left);
        let Err(error) = native.init_transactions(wait) else { return Ok(()) };
        native.poll(config::EVENTS_PAUSE);
        // The library tells of a refusal once, however often it tries to log in.
        let heard = native.context().heard();
        refused_since = match &heard {
            Some(Heard { trouble: Some(Trouble::Unauthorized), .. }) => {
                refused_since.or(Some(Instant::now()))
            }
            _ => None,
        };
        let stays_out = refused_since.is_some_and(|since| since.elapsed() >= config::REFUSED_LOGIN_MAX);
        let error = Error::of("beginning with transactions", &error);
        if error.code != Code::OperationTimedOut as i32 || left <= wait || stays_out {
            return Err(error.because(heard));
        }
    }
}

impl Open {
    fn new(client: Client, producer: &ProducerSettings) -> Result<Self, Error> {
        let ProducerSettings { id, positions, timeout_ms } = producer;
        let config = settings::producer(&client.0.config, id, *timeout_ms)?;
        let native: BaseProducer<Context> = BaseProducer::from_config_and_context(&config, client.context())
            .map_err(|error| client.unusable(&error))?;
        if !id.is_empty() {
            begin_transactions(&native)?;
        }
        let positions = match id.is_empty() || positions.is_empty() {
            true => None,
            // After the earlier producer's transaction was ended: what it committed is known by now.
            false => Some(Positions::read(&client, id, positions)?),
        };
        let visibility = if id.is_empty() { Visibility::AtOnce } else { Visibility::ByTransaction };
        Ok(Self { client, native, visibility, positions, state: Mutex::default() })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // What a panic left half done is given up with the transaction.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, batch: &[u8]) -> Result<u64, Error> {
        let damaged = |error| Error::new(Trouble::Refused, format!("the messages cannot be read: {error}"));
        let batch = Batch::parse(batch).map_err(damaged)?;
        let mut state = self.state();
        self.begin(&mut state)?;
        state.turn = state.turn.wrapping_add(1);
        let mut bytes = 0;
        for (at, row) in (0..).zip(batch.rows()) {
            let row = row.map_err(damaged)?;
            let Some(message) = row.outgoing().map_err(damaged)? else {
                return Err(Error::new(Trouble::Refused, "a row of a table was given for a message").at(at));
            };
            bytes += self.send_one(&mut state, &row, &message, at).map_err(|error| error.at(at))?;
        }
        Ok(bytes)
    }

    fn begin(&self, state: &mut State) -> Result<(), Error> {
        if let Some(undelivered) = self.undelivered() {
            return Err(undelivered);
        }
        if self.visibility == Visibility::ByTransaction && state.transaction == Transaction::None {
            let begun = self.native.begin_transaction();
            begun.map_err(|error| self.failed("beginning a transaction", &error))?;
            state.transaction = Transaction::Begun;
        }
        Ok(())
    }

    fn send_one(
        &self,
        state: &mut State,
        row: &Row<'_>,
        message: &Outgoing<'_>,
        at: u32,
    ) -> Result<u64, Error> {
        let topic = message.topic.unwrap_or_default();
        if topic.is_empty() {
            return Err(Error::new(Trouble::Unfit, "a message names no topic"));
        }
        let mut headers = OwnedHeaders::new();
        let mut size = message.key.map_or(0, <[u8]>::len) + message.value.map_or(0, <[u8]>::len);
        for header in message.headers {
            let (key, value) =
                header.map_err(|_| Error::new(Trouble::Refused, "the headers cannot be read"))?;
            if key.contains('\0') {
                return Err(Error::new(Trouble::Unfit, "a header's name has a zero byte").of_topic(topic));
            }
            size += key.len() + value.map_or(0, <[u8]>::len);
            headers = headers.insert(Header { key, value });
        }
        let most = settings::message_bytes_max(&self.client.0.config) as usize;
        if size + config::MESSAGE_OVERHEAD_BYTES > most {
            let message = format!(
                "a message of {size} bytes for topic {topic} is larger than the {most} that the peer takes"
            );
            let code = Code::MessageSizeTooLarge as i32;
            return Err(Error { code, ..Error::new(Trouble::Unfit, message) }.of_topic(topic));
        }
        let count = self.partitions(state, topic)?;
        let partition = self.client.0.partitioner.choose(message, count, state.turn, at);
        let partition = partition.map_err(|error| error.of_topic(topic))?;
        let mut record = BaseRecord::<[u8], [u8], ()>::to(topic).partition(partition).headers(headers);
        record.key = message.key;
        record.payload = message.value;
        record.timestamp = timestamp_ms(row.header().commit_time_us);
        self.enqueue(record, topic)?;
        Ok(size as u64)
    }

    fn enqueue(&self, mut record: BaseRecord<'_, [u8], [u8], ()>, topic: &str) -> Result<(), Error> {
        let end = Instant::now() + config::DELIVERY_DEADLINE;
        loop {
            match self.native.send(record) {
                Ok(()) => return Ok(()),
                Err((KafkaError::MessageProduction(Code::QueueFull), back)) if Instant::now() < end => {
                    self.native.poll(config::ROOM_PAUSE);
                    if let Some(undelivered) = self.undelivered() {
                        return Err(undelivered);
                    }
                    record = back;
                }
                Err((error, _)) => {
                    let doing = format!("a message for topic {topic} was not taken");
                    return Err(self.failed(&doing, &error).of_topic(topic));
                }
            }
        }
    }

    /// How many partitions a topic has.
    fn partitions(&self, state: &mut State, topic: &str) -> Result<u32, Error> {
        if let Some((count, asked)) = state.partitions.get(topic)
            && asked.elapsed() < config::PARTITIONS_FRESH
        {
            return Ok(*count);
        }
        let end = Instant::now() + config::NEW_TOPIC_DEADLINE;
        loop {
            self.ask_for_partitions(state, topic)?;
            match state.partitions.get(topic) {
                Some((count, _)) => return Ok(*count),
                // It may have been made just now.
                None if Instant::now() < end => std::thread::sleep(config::NEW_TOPIC_PAUSE),
                None => {
                    let message = format!("there is no topic {topic}");
                    return Err(Error::new(Trouble::UnknownTopic, message).of_topic(topic));
                }
            }
        }
    }

    /// Asks for the partitions of all topics: brokers make one that is asked for by its name.
    fn ask_for_partitions(&self, state: &mut State, wanted: &str) -> Result<(), Error> {
        let metadata = self.native.client().fetch_metadata(None, config::METADATA_DEADLINE);
        let metadata = metadata.map_err(|error| self.failed("asking for partitions", &error))?;
        let asked = Instant::now();
        state.partitions.clear();
        for topic in metadata.topics() {
            let count = u32::try_from(topic.partitions().len()).unwrap_or(u32::MAX);
            let is_whole = topic.error().is_none() && count > 0;
            if is_whole && (state.partitions.len() < config::TOPICS_KNOWN_MAX || topic.name() == wanted) {
                state.partitions.insert(topic.name().to_owned(), (count, asked));
            }
        }
        Ok(())
    }

    fn commit(&self, position: &[u64]) -> Result<(), Error> {
        let mut state = self.state();
        let flushed = self.native.flush(config::DELIVERY_DEADLINE);
        // The first message that was not taken says more than what follows of it.
        if let Some(undelivered) = self.undelivered() {
            return Err(undelivered);
        }
        flushed.map_err(|error| self.failed("sending messages", &error))?;
        if self.visibility == Visibility::AtOnce {
            return Ok(());
        }
        if state.transaction == Transaction::None {
            if position.is_empty() {
                return Ok(());
            }
            // A position of its own: everything before it brought nothing.
            self.begin(&mut state)?;
        }
        if let Some(positions) = &self.positions
            && !position.is_empty()
        {
            let list = positions.list(position)?;
            self.native
                .send_offsets_to_transaction(&list, &positions.group, config::COMMIT_DEADLINE)
                .map_err(|error| self.failed("keeping the position", &error))?;
        }
        self.native
            .commit_transaction(config::COMMIT_DEADLINE)
            .map_err(|error| self.failed("committing", &error))?;
        state.transaction = Transaction::None;
        Ok(())
    }

    /// Why a message was not taken, if one was not.
    fn undelivered(&self) -> Option<Error> {
        let undelivered = self.native.context().take_undelivered()?;
        let undelivered = match undelivered.is_given_up() {
            true => self.transaction_error().unwrap_or(undelivered),
            false => undelivered,
        };
        Some(undelivered.because(self.native.context().take_heard()))
    }

    /// What ended the transaction that a message was given up with. The library gives messages up where brokers refuse
    /// what comes before them, a topic in the transaction most of all, and keeps the reason with the transaction: whatever
    /// is asked of it next is answered with that. A second beginning is what can do nothing else.
    fn transaction_error(&self) -> Option<Error> {
        const DOING: &str = "the transaction was given up";
        if self.visibility == Visibility::AtOnce {
            return None;
        }
        if let Some((code, _)) = self.native.client().fatal_error() {
            return Some(Error::of_code(DOING, code));
        }
        let error = self.native.begin_transaction().err()?;
        let code = error.rdkafka_error_code().filter(|code| *code != Code::State)?;
        let mut told = Error::of_code(DOING, code);
        let context = self.native.context();
        if let KafkaError::Transaction(reason) = &error {
            told.message = format!("{DOING}: {}", context.strike_secrets(&reason.string()));
        }
        if let Some(topic) = context.take_kept_out() {
            told.message = format!("{} (topic {topic})", told.message);
            told = told.of_topic(&topic);
        }
        Some(told)
    }

    fn failed(&self, doing: &str, error: &KafkaError) -> Error {
        self.native.poll(config::EVENTS_PAUSE);
        let undelivered = self.undelivered();
        let fatal = self.native.client().fatal_error();
        let error = match (undelivered, fatal) {
            (Some(undelivered), _) => undelivered,
            (None, Some((code, _))) => Error::of_code(doing, code),
            (None, None) => Error::of(doing, error),
        };
        error.because(self.native.context().take_heard())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.state().transaction == Transaction::Begun {
            // Should it fail, the brokers give it up after its time-out, or when the next producer of the id begins.
            drop(self.native.abort_transaction(config::ABORT_DEADLINE));
        }
    }
}

impl Positions {
    fn read(client: &Client, id: &str, topic: &str) -> Result<Self, Error> {
        let doing = "asking for the position";
        let mut config = settings::base(&client.0.config)?;
        config
            .set("group.id", id)
            .set("enable.auto.commit", "false")
            .set("isolation.level", "read_committed");
        let consumer: BaseConsumer<Context> =
            BaseConsumer::from_config_and_context(&config, client.context())
                .map_err(|error| client.unusable(&error))?;
        let failed = |error: &KafkaError| {
            Error::of(doing, error).of_topic(topic).because(consumer.context().take_heard())
        };
        let group = consumer.group_metadata();
        let group = group.ok_or_else(|| Error::new(Trouble::Unavailable, "the library gave no group"))?;
        let mut positions = Self { topic: topic.to_owned(), group, found: Vec::new() };
        let list = consumer.committed_offsets(positions.asked(), config::BEGIN_DEADLINE);
        let list = list.map_err(|error| failed(&error))?;
        for element in list.elements() {
            element.error().map_err(|error| failed(&error))?;
            match element.offset() {
                Offset::Offset(number) if number >= 0 => positions.found.push(number.cast_unsigned()),
                _ => break,
            }
        }
        Ok(positions)
    }

    /// Every place that a number may be at.
    fn asked(&self) -> TopicPartitionList {
        let mut list = TopicPartitionList::new();
        for (partition, _) in (0..).zip(0..config::POSITION_NUMBERS_MAX) {
            list.add_partition(&self.topic, partition);
        }
        list
    }

    fn list(&self, position: &[u64]) -> Result<TopicPartitionList, Error> {
        let beyond = || Error::new(Trouble::Refused, "a position has too many numbers, or too large ones");
        if position.len() > config::POSITION_NUMBERS_MAX {
            return Err(beyond());
        }
        let mut list = TopicPartitionList::new();
        for (partition, number) in (0..).zip(position) {
            let offset = Offset::Offset(i64::try_from(*number).map_err(|_| beyond())?);
            list.add_partition_offset(&self.topic, partition, offset)
                .map_err(|error| Error::of("keeping the position", &error))?;
        }
        Ok(list)
    }
}

/// A record's time in Kafka's unit; none where it is not known.
fn timestamp_ms(commit_time_us: i64) -> Option<i64> {
    (commit_time_us != RowHeader::TIME_UNKNOWN && commit_time_us > 0).then_some(commit_time_us / 1000)
}
