//! Rows that changes brought, by table and kind, for people.
//!
//! They are counted as the destination takes them and are no truth: a write that is repeated after a crash
//! counts twice. What is exact is the batches' record.

use bytes::Bytes;
use tarn_batch::{Batch as Rows, Op};
use tarn_model::{Failure, MirrorSpec, RowCounts};
use tarn_replication::{Ack, Batch, Destination};

use crate::journal::{Entry, Journal};

/// A destination whose rows are counted.
pub(crate) struct Counting<D> {
    destination: D,
    mirror: i64,
    /// The tables' names at source and destination.
    names: Vec<(String, String)>,
    journal: Journal,
}

impl<D> Counting<D> {
    pub(crate) fn new(destination: D, mirror: i64, spec: &MirrorSpec, journal: Journal) -> Self {
        let names = spec.tables.iter().map(|table| (table.source.clone(), table.destination.clone()));
        Self { destination, mirror, names: names.collect(), journal }
    }

    /// The name that people know a table by.
    fn name(&self, source: &str) -> String {
        let known = self.names.iter().find(|(known, _)| known == source);
        known.map_or_else(|| source.to_owned(), |(_, destination)| destination.clone())
    }

    fn count(&self, batches: &[Batch]) -> Vec<(String, RowCounts)> {
        let mut counts: Vec<(String, RowCounts)> = Vec::new();
        for batch in batches {
            // The sandbox has checked what a guest returned.
            let Ok(rows) = Rows::parse(&batch.bytes) else { continue };
            let mut by_table = vec![RowCounts::default(); rows.tables().len()];
            for row in rows.rows().flatten() {
                add(&mut by_table[usize::from(row.table_index().0)], row.op());
            }
            for (table, new) in rows.tables().iter().zip(by_table) {
                // Messages of the source's log belong to no table.
                if table.name.is_empty() {
                    continue;
                }
                let name = self.name(&table.qualified_name());
                match counts.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, sum)) => merge(sum, new),
                    None => counts.push((name, new)),
                }
            }
        }
        counts
    }
}

impl<D: Destination> Destination for Counting<D> {
    async fn write(&mut self, batches: Vec<Batch>) -> Result<Ack, Failure> {
        let counts = self.count(&batches);
        let ack = self.destination.write(batches).await?;
        self.journal.put(Entry::RowsWritten { mirror: self.mirror, counts });
        Ok(ack)
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        self.destination.flush().await
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
