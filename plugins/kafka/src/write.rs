//! Batches into messages.

use tarn_batch::{Batch, BatchWriter, Op, Outgoing, Row, Table, TableIndex};
use tarn_sdk::{Deletes, Failure};

use crate::client::{Client, Error, Producer};
use crate::config::SEND_BYTES;
use crate::connector::Connector;
use crate::envelope::{Image, origin};
use crate::failure::of_error;
use crate::position::Class;
use crate::topics::{is_name, topic_of};

/// What a write sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) rows: u64,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

/// Messages on their way to the host.
struct Outbox {
    writer: BatchWriter,
    table: TableIndex,
    /// For each message the batch and the row that it was made of.
    origins: Vec<(usize, u32)>,
    topics: Vec<String>,
    key: Vec<u8>,
    old_key: Vec<u8>,
    value: Vec<u8>,
}

impl Outbox {
    fn new() -> Self {
        let mut writer = BatchWriter::with_capacity(SEND_BYTES);
        let table = writer.add_table(nowhere());
        Self {
            writer,
            table,
            origins: Vec::new(),
            topics: Vec::new(),
            key: Vec::new(),
            old_key: Vec::new(),
            value: Vec::new(),
        }
    }

    fn put(&mut self, row: &Row<'_>, message: &Outgoing<'_>, from: (usize, u32)) {
        let mut header = row.header();
        header.op = Op::Outgoing;
        self.writer.outgoing(self.table, &header, message);
        self.origins.push(from);
        let topic = message.topic.unwrap_or_default();
        if self.topics.last().is_none_or(|last| last != topic) {
            self.topics.push(topic.to_owned());
        }
    }
}

impl<C: Client> Connector<C> {
    /// Sends the messages of all rows that are not in the queue yet.
    pub(crate) fn send(&mut self, batches: &[Vec<u8>]) -> Result<Sent, Failure> {
        let mut sent = Sent::default();
        let mut outbox = Outbox::new();
        for (number, bytes) in batches.iter().enumerate() {
            let batch = Batch::parse(bytes)?;
            for (at, row) in (0..).zip(batch.rows()) {
                let row = row?;
                let table = batch.table(&row);
                sent.rows += 1;
                if self.is_new(Class::of(&row, table), row.version().to_u128()) {
                    self.put(&mut outbox, table, &row, (number, at))?;
                }
                if outbox.writer.bytes() >= SEND_BYTES {
                    outbox = self.hand_over(outbox, batches, &mut sent)?;
                }
            }
        }
        self.hand_over(outbox, batches, &mut sent)?;
        Ok(sent)
    }

    fn hand_over(&mut self, outbox: Outbox, batches: &[Vec<u8>], sent: &mut Sent) -> Result<Outbox, Failure> {
        if outbox.origins.is_empty() {
            return Ok(outbox);
        }
        let Outbox { writer, origins, topics, .. } = outbox;
        self.topics.ensure(&mut self.client, &self.config, &topics)?;
        let messages = writer.finish();
        sent.messages += origins.len() as u64;
        sent.bytes += self.producer().send(&messages).map_err(|error: Error| {
            let from = error.at.and_then(|at| origins.get(at as usize));
            let from = from.and_then(|(batch, row)| origin(&batches[*batch], *row));
            of_error(error, from)
        })?;
        Ok(Outbox::new())
    }

    /// Puts the messages of a row into the outbox.
    fn put(
        &mut self,
        outbox: &mut Outbox,
        table: &Table,
        row: &Row<'_>,
        from: (usize, u32),
    ) -> Result<(), Failure> {
        match row.op() {
            Op::Outgoing => {
                let Some(message) = row.outgoing()? else { return Ok(()) };
                let topic = match message.topic {
                    Some(topic) => topic,
                    None => self.topic(table)?,
                };
                if !is_name(topic) {
                    let key = message.record_key.unwrap_or_default();
                    let message = format!("{topic:?} is no name of a topic (key {key})");
                    return Err(Failure::record("topic_name", message)
                        .with_hint(
                            "a topic's name has letters, digits, '.', '_' and '-', at most 249 of them",
                        )
                        .with_table(table.qualified_name()));
                }
                outbox.put(row, &Outgoing { topic: Some(topic), ..message }, from);
            }
            // It was for scripts; none of them made a message of it.
            Op::Message => {}
            Op::Insert | Op::Update | Op::Delete => self.put_change(outbox, table, row, from)?,
            Op::Truncate | Op::Relation => self.put_for_all(outbox, table, row, from)?,
        }
        Ok(())
    }

    fn put_change(
        &mut self,
        outbox: &mut Outbox,
        table: &Table,
        row: &Row<'_>,
        from: (usize, u32),
    ) -> Result<(), Failure> {
        let topic = self.topic(table)?.to_owned();
        let (mut key, mut old_key, mut value) = (
            std::mem::take(&mut outbox.key),
            std::mem::take(&mut outbox.old_key),
            std::mem::take(&mut outbox.value),
        );
        let is_delete = row.op() == Op::Delete;
        self.envelope.key(&mut key, table, row, Image::of(row.op()))?;
        let deletes = self.config.queue.deletes;
        if row.op() == Op::Update && row.before().is_some() {
            self.envelope.key(&mut old_key, table, row, Image::Before)?;
            if old_key != key {
                // Whoever keeps the last message of each key would keep the row under its old one for ever.
                if deletes != Deletes::Tombstone {
                    self.envelope.moved(&mut value, table, row, &old_key)?;
                    outbox.put(row, &keyed(&topic, &old_key, Some(&value)), from);
                }
                if deletes != Deletes::Record {
                    outbox.put(row, &keyed(&topic, &old_key, None), from);
                }
            }
        }
        if !is_delete || deletes != Deletes::Tombstone {
            self.envelope.change(&mut value, table, row, &key)?;
            outbox.put(row, &keyed(&topic, &key, Some(&value)), from);
        }
        if is_delete && deletes != Deletes::Record {
            outbox.put(row, &keyed(&topic, &key, None), from);
        }
        (outbox.key, outbox.old_key, outbox.value) = (key, old_key, value);
        Ok(())
    }

    /// What concerns all keys goes to every partition, so that it has its place among the changes of each.
    fn put_for_all(
        &mut self,
        outbox: &mut Outbox,
        table: &Table,
        row: &Row<'_>,
        from: (usize, u32),
    ) -> Result<(), Failure> {
        let topic = self.topic(table)?.to_owned();
        let mut value = std::mem::take(&mut outbox.value);
        match row.op() {
            Op::Relation => self.envelope.schema(&mut value, table, row)?,
            _ => self.envelope.truncate(&mut value, table, row)?,
        }
        self.topics.ensure(&mut self.client, &self.config, std::slice::from_ref(&topic))?;
        let there =
            self.client.topics(std::slice::from_ref(&topic)).map_err(|error| of_error(error, None))?;
        let partitions = there.first().map_or(1, |topic| topic.partitions);
        for partition in 0..i32::try_from(partitions).unwrap_or(i32::MAX) {
            let message = Outgoing {
                topic: Some(&topic),
                value: Some(&value),
                partition: Some(partition),
                ..Outgoing::default()
            };
            outbox.put(row, &message, from);
        }
        outbox.value = value;
        Ok(())
    }

    /// The topic of a table's records.
    fn topic(&self, table: &Table) -> Result<&str, Failure> {
        let name = table.qualified_name();
        topic_of(&self.config, &name).ok_or_else(|| {
            let (what, hint) = match table.name.is_empty() {
                true => (
                    "a message of the source's log has no topic".to_owned(),
                    "let the script name a topic: what is of no table has none of its own",
                ),
                false => (format!("table {name} is not mapped to a topic"), ""),
            };
            Failure::record("topic_missing", what).with_hint(hint).with_table(name)
        })
    }
}

fn keyed<'a>(topic: &'a str, key: &'a [u8], value: Option<&'a [u8]>) -> Outgoing<'a> {
    Outgoing { topic: Some(topic), key: Some(key), value, ..Outgoing::default() }
}

/// The table of messages on their way: each names its topic.
fn nowhere() -> Table {
    Table { id: 0, schema: String::new(), name: String::new(), version: 0, columns: Vec::new() }
}
