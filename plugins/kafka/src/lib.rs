//! The Kafka destination.
//!
//! Each change becomes a message of the topic that its table names, or the messages that a script made of it
//! ([`envelope`], [`write`]). A queue keeps what it was given, so writing a row again would double it: every write of
//! the stream is a transaction that carries the place of its last row ([`position`]), and what comes again up to that
//! place is passed over. A load writes each of its parts in a transaction of its own, whose position says that it
//! ended. So for readers of committed messages nothing is lost and nothing doubled, whenever the process ends.
//!
//! It opens no connection and knows no password; messages go through the host. Invariants: messages of one key keep
//! the order of their changes; after any failure the transaction under way is given up before anything else is sent.

mod client;
mod config;
mod connector;
mod envelope;
mod failure;
mod part;
mod position;
mod topics;
mod validate;
mod write;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;

use tarn_batch::Table;
use tarn_sdk::{Ack, Description, Destination, DestinationConfig, Failure, LoadParts, Problem};

use client::Host;
use connector::Connector;

/// The plugin's destination.
#[derive(Debug)]
pub struct Kafka(Connector<Host>);

impl Destination for Kafka {
    fn configure(config: DestinationConfig) -> Result<Self, Failure> {
        Ok(Self(Connector::new(config, Host)))
    }

    fn version(&mut self) -> Result<String, Failure> {
        self.0.version()
    }

    fn validate(&mut self, _schema: Vec<Table>) -> Result<Vec<Problem>, Failure> {
        self.0.validate()
    }

    fn prepare(&mut self, _schema: Vec<Description>) -> Result<(), Failure> {
        self.0.prepare()
    }

    fn evolve(&mut self, _schema: Vec<Description>) -> Result<(), Failure> {
        // Each message says by itself which columns it has.
        Ok(())
    }

    fn write(&mut self, batches: Vec<Vec<u8>>) -> Result<Ack, Failure> {
        self.0.write(&batches)
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.0.flush()
    }

    fn drop_tables(&mut self, tables: Vec<String>) -> Result<(), Failure> {
        self.0.leave_topics(&tables);
        Ok(())
    }
}

impl LoadParts for Kafka {
    fn begin_part(&mut self, part: String) -> Result<bool, Failure> {
        self.0.begin_part(&part)
    }

    fn end_part(&mut self) -> Result<(), Failure> {
        self.0.end_part()
    }
}

tarn_sdk::export_destination!(Kafka, parts);
