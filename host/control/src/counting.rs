//! Rows that changes brought, by table and kind, for people.
//!
//! They are counted as the destination takes them and are no truth: a write that is repeated after a crash
//! counts twice. What is exact is the batches' record.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use tarn_batch::{Batch as Rows, Op};
use tarn_model::{Failure, MirrorSpec, RowCounts};
use tarn_replication::{Ack, Batch, Destination};

use crate::journal::{Entry, Journal};
use crate::latency::{MirrorLatency, Runs};

/// A destination whose rows are counted.
pub(crate) struct Counting<D> {
    destination: D,
    mirror: i64,
    /// The tables' names at the destination, by those at the source: there may be ten thousand.
    names: HashMap<String, String>,
    journal: Journal,
    latency: Arc<MirrorLatency>,
    /// Commit times of what is written and not yet seen to be in its table.
    pending: HashMap<String, Runs>,
}

impl<D> Counting<D> {
    pub(crate) fn new(
        destination: D,
        mirror: i64,
        spec: &MirrorSpec,
        journal: Journal,
        latency: Arc<MirrorLatency>,
    ) -> Self {
        let names = spec.tables.iter().map(|table| (table.source.clone(), table.destination.clone()));
        Self { destination, mirror, names: names.collect(), journal, latency, pending: HashMap::new() }
    }

    /// The name that people know a table by.
    fn name(&self, source: &str) -> String {
        self.names.get(source).map_or(source, String::as_str).to_owned()
    }

    fn count(&mut self, batches: &[Batch]) -> Vec<(String, RowCounts)> {
        let mut counts: Vec<(String, RowCounts)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for batch in batches {
            // The sandbox has checked what a guest returned.
            let Ok(rows) = Rows::parse(&batch.bytes) else { continue };
            let mut by_table = vec![(RowCounts::default(), Runs::default()); rows.tables().len()];
            for row in rows.rows().flatten() {
                let (counts, runs) = &mut by_table[usize::from(row.table_index().0)];
                add(counts, row.op());
                let commit_us = row.header().commit_time_us;
                // A time before 1970 is that of no commit.
                if commit_us > 0 {
                    runs.add(commit_us);
                }
            }
            for (table, (new, runs)) in rows.tables().iter().zip(by_table) {
                // Messages of the source's log belong to no table.
                if table.name.is_empty() {
                    continue;
                }
                let name = self.name(&table.qualified_name());
                self.measure(&name, runs);
                match places.get(&name) {
                    Some(place) => merge(&mut counts[*place].1, new),
                    None => {
                        places.insert(name.clone(), counts.len());
                        counts.push((name, new));
                    }
                }
            }
        }
        counts
    }
}

impl<D> Counting<D> {
    fn measure(&mut self, table: &str, runs: Runs) {
        if runs.is_empty() {
            return;
        }
        self.latency.writing(&runs);
        match self.pending.get_mut(table) {
            Some(pending) => pending.append(runs),
            None => {
                self.pending.insert(table.to_owned(), runs);
            }
        }
    }

    /// The destination has everything in its tables.
    fn note_shown(&mut self) {
        for (table, runs) in self.pending.drain() {
            self.latency.shown(&table, &runs);
        }
    }
}

impl<D: Destination> Destination for Counting<D> {
    async fn write(&mut self, batches: Vec<Batch>) -> Result<Ack, Failure> {
        let counts = self.count(&batches);
        // Of what failed nothing is shown; it is written again.
        let ack = self.destination.write(batches).await.inspect_err(|_| self.pending.clear())?;
        if ack.durable {
            self.note_shown();
        }
        self.journal.put(Entry::RowsWritten { mirror: self.mirror, counts });
        Ok(ack)
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        self.destination.flush().await.inspect_err(|_| self.pending.clear())?;
        self.note_shown();
        Ok(())
    }

    async fn evolve(&mut self, schema: Bytes) -> Result<(), Failure> {
        self.destination.evolve(schema).await
    }
}

fn add(counts: &mut RowCounts, op: Op) {
    let kind = match op {
        Op::Insert => &mut counts.inserts_count,
        Op::Update => &mut counts.updates_count,
        Op::Delete => &mut counts.deletes_count,
        // What a queue takes is inserted there, whatever happened to the row that it was made of.
        Op::Outgoing => &mut counts.inserts_count,
        Op::Truncate | Op::Message | Op::Relation => return,
    };
    *kind += 1;
    counts.total_count += 1;
}

fn merge(sum: &mut RowCounts, new: RowCounts) {
    sum.total_count += new.total_count;
    sum.inserts_count += new.inserts_count;
    sum.updates_count += new.updates_count;
    sum.deletes_count += new.deletes_count;
}
