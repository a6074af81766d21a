//! The ClickHouse destination.
//!
//! A target is a `ReplacingMergeTree` sorted by the source's key. Each row carries its version (commit
//! position and ordinal at the source, never a clock) and whether it is deleted; `SELECT … FINAL` shows
//! what the source has. So writing is inserting: an update is the row again, a delete a row that says
//! so, and what was written twice counts once.
//!
//! The plugin decides what every value becomes and never lets one become another: what a column
//! cannot hold is a failure of its row, told with table, key and column. It opens no connection and
//! knows no password; statements and inserts go through the host.
//!
//! A row's way: [`write`] walks the batches, a [`plan`] turns a row into RowBinary with one
//! [`encoder`] a column, a [`block`] gathers rows, [`inserts`] sends them; values that the source left
//! out are put in by [`unchanged`]. A target's way: a [`design`] says what it should be, [`existing`] what it
//! is, an [`evolution`] finds the way in steps
//! ([`change`]), [`evolve`] tells or does them, [`replacement`] puts one that was loaded [`beside`] in its place, [`validate`] tells what would not work, [`inspection`] how much
//! is there, [`comparison`] whether it is what it should be.

mod beside;
mod block;
mod calendar_range;
mod change;
mod client;
mod column_type;
mod comparison;
mod config;
mod connector;
mod ddl;
mod design;
mod emptied;
mod encoder;
mod evolution;
mod evolve;
mod existing;
mod failure;
mod fault;
mod filling;
mod inserts;
mod inspection;
mod key_literal;
mod known_errors;
mod nested;
mod origin;
mod plan;
mod read_back;
mod replacement;
mod row_binary;
mod target_type;
mod targets;
mod unchanged;
mod validate;
mod value_literal;
mod widening;
mod write;

#[cfg(test)]
mod engine_tests;

use tarn_batch::Table;
use tarn_sdk::inspection::{Answer, Question};
use tarn_sdk::{
    Ack, Compare, Compared, Description, Destination, DestinationConfig, Failure, Finding, Inspect, KeyPage,
    Preview, Problem, Replace, TablePlan,
};

use client::Host;
use connector::Connector;

/// The plugin's destination.
#[derive(Debug)]
pub struct ClickHouse(Connector<Host>);

impl Destination for ClickHouse {
    fn configure(config: DestinationConfig) -> Result<Self, Failure> {
        Ok(Self(Connector::new(config, Host)))
    }

    fn version(&mut self) -> Result<String, Failure> {
        self.0.version()
    }

    fn validate(&mut self, schema: Vec<Table>) -> Result<Vec<Problem>, Failure> {
        self.0.validate(&schema)
    }

    fn prepare(&mut self, schema: Vec<Description>) -> Result<(), Failure> {
        self.0.prepare(&schema)
    }

    fn evolve(&mut self, schema: Vec<Description>) -> Result<(), Failure> {
        self.0.evolve(&schema)
    }

    fn write(&mut self, batches: Vec<Vec<u8>>) -> Result<Ack, Failure> {
        self.0.write(&batches)
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.0.flush()
    }

    fn drop_tables(&mut self, tables: Vec<String>) -> Result<(), Failure> {
        self.0.drop_tables(&tables)
    }
}

impl Compare for ClickHouse {
    fn compare(&mut self, rows: &[u8], sequence: u64, hash_max: u64) -> Result<Compared, Failure> {
        self.0.compare(rows, sequence, hash_max)
    }

    fn find(&mut self, table: &Table, keys: &[Vec<String>], sequence: u64) -> Result<Vec<Finding>, Failure> {
        self.0.find(table, keys, sequence)
    }

    fn list_keys(&mut self, table: &Table, after: &[String], count_max: u32) -> Result<KeyPage, Failure> {
        self.0.list_keys(table, after, count_max)
    }
}

impl Replace for ClickHouse {
    fn replace(&mut self, tables: Vec<String>) -> Result<(), Failure> {
        self.0.replace(&tables)
    }
}

impl Preview for ClickHouse {
    fn preview(&mut self, schema: Vec<Description>) -> Result<Vec<TablePlan>, Failure> {
        self.0.preview(&schema)
    }
}

impl Inspect for ClickHouse {
    fn inspect(question: Question) -> Result<Answer, Failure> {
        inspection::inspect(&mut Host, &question)
    }
}

tarn_sdk::export_destination!(ClickHouse, comparison, replacement, preview);
tarn_sdk::export_inspection!(ClickHouse);
