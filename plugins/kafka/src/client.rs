//! The cluster, as far as the plugin speaks to it. A trait, so that tests reach the logic natively.

use std::fmt;

use tarn_sdk::kafka;
pub(crate) use tarn_sdk::kafka::{Cluster, Error, NewTopic, Topic};

/// Topics and producers.
pub(crate) trait Client {
    /// Sends messages.
    type Producer: Producer;

    fn describe(&mut self) -> Result<Cluster, Error>;
    fn topics(&mut self, names: &[String]) -> Result<Vec<Topic>, Error>;
    fn create_topics(&mut self, topics: &[NewTopic]) -> Result<(), Error>;
    fn open(&mut self, id: &str, positions: &str, timeout_ms: u32) -> Result<Self::Producer, Error>;
}

/// See `wit/v0.1/capabilities.wit`. Dropping it gives up what was not committed.
pub(crate) trait Producer: fmt::Debug {
    fn position(&self) -> Vec<u64>;
    fn send(&mut self, messages: &[u8]) -> Result<u64, Error>;
    fn commit(&mut self, position: &[u64]) -> Result<(), Error>;
}

/// The peer's cluster, through the host.
#[derive(Debug)]
pub(crate) struct Host;

impl Client for Host {
    type Producer = kafka::Producer;

    fn describe(&mut self) -> Result<Cluster, Error> {
        kafka::describe()
    }

    fn topics(&mut self, names: &[String]) -> Result<Vec<Topic>, Error> {
        kafka::topics(names)
    }

    fn create_topics(&mut self, topics: &[NewTopic]) -> Result<(), Error> {
        kafka::create_topics(topics)
    }

    fn open(&mut self, id: &str, positions: &str, timeout_ms: u32) -> Result<kafka::Producer, Error> {
        kafka::Producer::open(id, positions, timeout_ms)
    }
}

impl Producer for kafka::Producer {
    fn position(&self) -> Vec<u64> {
        Self::position(self)
    }

    fn send(&mut self, messages: &[u8]) -> Result<u64, Error> {
        Self::send(self, messages)
    }

    fn commit(&mut self, position: &[u64]) -> Result<(), Error> {
        Self::commit(self, position)
    }
}
