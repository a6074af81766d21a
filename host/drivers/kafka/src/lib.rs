//! Kafka, through librdkafka: what is in a cluster, topics, and messages in transactions that carry a position.
//!
//! The driver knows neither tables nor rows: it takes messages as a batch has them (`wit/BATCH.md`, *Messages*) and
//! sends them. Invariants: every wait ends at a deadline; what waits to be sent has a bound in bytes; a message's
//! partition is chosen here and nowhere else, so that equal keys are in one partition whatever the library does;
//! after an error of a producer nothing of its open transaction is ever committed; no text holds a credential.
//!
//! librdkafka blocks: whatever may wait runs on a thread for blocking work, and ends by itself.

mod client;
mod closing;
mod config;
mod context;
mod error;
mod murmur;
mod partitioner;
mod producer;
mod settings;

pub use client::{Client, Cluster, NewTopic, Topic};
pub use error::{Error, Trouble};
pub use producer::{Producer, ProducerSettings};
