//! A cluster in memory, for the tests: transactions, positions and fencing, and whatever trouble a test asks for.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use tarn_batch::Batch;
use tarn_sdk::kafka::Trouble;

use crate::client::{Client, Cluster, Error, NewTopic, Producer, Topic};

/// A message as a reader of committed ones sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) topic: String,
    pub(crate) key: Option<String>,
    pub(crate) value: Option<String>,
    pub(crate) partition: Option<i32>,
}

#[derive(Debug, Default)]
pub(crate) struct Inner {
    pub(crate) topics: BTreeMap<String, u32>,
    pub(crate) committed: Vec<Message>,
    pub(crate) positions: HashMap<String, Vec<u64>>,
    epochs: HashMap<String, u32>,
    /// The next commits do as these say.
    pub(crate) commits: Vec<Commit>,
    /// Values longer than this are refused.
    pub(crate) value_bytes_max: usize,
    /// Longer time-outs of transactions are refused.
    pub(crate) timeout_ms_max: u32,
}

/// What a commit does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// It is done, and nobody hears of it.
    Unheard,
    /// It is not done.
    Lost,
}

/// The cluster; clones are the same one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fake(pub(crate) Rc<RefCell<Inner>>);

#[derive(Debug)]
pub(crate) struct FakeProducer {
    cluster: Fake,
    id: String,
    epoch: u32,
    position: Vec<u64>,
    open: Vec<Message>,
}

impl Fake {
    pub(crate) fn new() -> Self {
        let fake = Self::default();
        fake.0.borrow_mut().value_bytes_max = 10_000;
        fake.0.borrow_mut().timeout_ms_max = u32::MAX;
        fake
    }

    /// What readers of committed messages see: topic, key, value.
    pub(crate) fn committed(&self) -> Vec<Message> {
        self.0.borrow().committed.clone()
    }
}

impl Client for Fake {
    type Producer = FakeProducer;

    fn describe(&mut self) -> Result<Cluster, Error> {
        Ok(Cluster { version: "a fake".to_owned() })
    }

    fn topics(&mut self, names: &[String]) -> Result<Vec<Topic>, Error> {
        let inner = self.0.borrow();
        let there = inner.topics.iter().filter(|(name, _)| names.contains(name));
        Ok(there.map(|(name, &partitions)| Topic { name: name.clone(), partitions }).collect())
    }

    fn create_topics(&mut self, topics: &[NewTopic]) -> Result<(), Error> {
        let mut inner = self.0.borrow_mut();
        for topic in topics {
            let partitions = u32::try_from(topic.partitions).unwrap_or(3);
            inner.topics.entry(topic.name.clone()).or_insert(partitions);
        }
        Ok(())
    }

    fn open(&mut self, id: &str, positions: &str, timeout_ms: u32) -> Result<FakeProducer, Error> {
        let mut inner = self.0.borrow_mut();
        if timeout_ms > inner.timeout_ms_max {
            return Err(Error { code: 50, ..error(Trouble::Refused, "the time-out is too long") });
        }
        let epoch = inner.epochs.entry(id.to_owned()).or_default();
        *epoch += 1;
        let epoch = *epoch;
        let position = match positions.is_empty() {
            true => Vec::new(),
            false => inner.positions.get(id).cloned().unwrap_or_default(),
        };
        Ok(FakeProducer { cluster: self.clone(), id: id.to_owned(), epoch, position, open: Vec::new() })
    }
}

impl Producer for FakeProducer {
    fn position(&self) -> Vec<u64> {
        self.position.clone()
    }

    fn send(&mut self, messages: &[u8]) -> Result<u64, Error> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        let batch = Batch::parse(messages).expect("a batch");
        let mut bytes = 0;
        for (at, row) in (0..).zip(batch.rows()) {
            let message = row.expect("a row").outgoing().expect("sound").expect("a message");
            let length = message.value.map_or(0, <[u8]>::len);
            if length > self.cluster.0.borrow().value_bytes_max {
                return Err(Error { at: Some(at), code: 10, ..error(Trouble::Unfit, "it is too large") });
            }
            bytes += length as u64;
            self.open.push(Message {
                topic: message.topic.expect("a topic").to_owned(),
                key: message.key.map(text),
                value: message.value.map(text),
                partition: message.partition,
            });
        }
        Ok(bytes)
    }

    fn commit(&mut self, position: &[u64]) -> Result<(), Error> {
        let mut inner = self.cluster.0.borrow_mut();
        if inner.epochs[&self.id] != self.epoch {
            return Err(error(Trouble::Fenced, "another began"));
        }
        let outcome = inner.commits.pop();
        if outcome != Some(Commit::Lost) {
            inner.committed.append(&mut self.open);
            if !position.is_empty() {
                inner.positions.insert(self.id.clone(), position.to_vec());
            }
        }
        match outcome {
            Some(_) => Err(error(Trouble::Unavailable, "no answer")),
            None => Ok(()),
        }
    }
}

fn error(trouble: Trouble, message: &str) -> Error {
    Error { trouble, code: 0, message: message.to_owned(), topic: String::new(), at: None }
}
