//! The recent records of one mirror, bounded in bytes and in records a table.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tarn_batch::{Batch, BatchWriter, Op, Row, Table};

use crate::config::{RECENT_BYTES_MAX, RECENT_TABLE_BYTES_MAX, RECENT_WHOLE_BYTES_MAX};

/// The recent records of one mirror.
#[derive(Debug, Default)]
pub(crate) struct Ring(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// Records of one table at most.
    rows_max: usize,
    /// Batches as they came, oldest first.
    whole: VecDeque<Bytes>,
    whole_bytes: usize,
    /// Records of older batches by table, oldest first.
    cut: BTreeMap<String, Cut>,
    cut_bytes: usize,
}

/// Records of one table, each a batch.
#[derive(Debug, Default)]
struct Cut {
    records: VecDeque<Bytes>,
    bytes: usize,
}

impl Ring {
    /// Sets how many records of each table are kept from now on.
    pub(super) fn keep(&self, rows_max: usize) {
        self.kept().rows_max = rows_max;
    }

    /// Takes a batch in.
    pub(super) fn remember(&self, batch: &Bytes) {
        let mut kept = self.kept();
        kept.whole_bytes += batch.len();
        kept.whole.push_back(batch.clone());
        while kept.whole_bytes > RECENT_WHOLE_BYTES_MAX {
            let Some(oldest) = kept.whole.pop_front() else { break };
            kept.whole_bytes -= oldest.len();
            kept.cut(&oldest);
        }
    }

    /// The last records of a table, oldest first.
    pub(super) fn last(&self, table: &str, limit: usize) -> Vec<Bytes> {
        let kept = self.kept();
        let limit = limit.min(kept.rows_max);
        // From the newest batch backwards, for as long as records are missing.
        let mut newest_first: Vec<Bytes> = Vec::new();
        for batch in kept.whole.iter().rev() {
            let missing = limit - newest_first.len();
            if missing == 0 {
                break;
            }
            let records = cut(batch, missing).into_iter().filter(|(name, _)| name == table);
            newest_first.extend(records.flat_map(|(_, records)| records.into_iter().rev()).take(missing));
        }
        let older = kept.cut.get(table).into_iter().flat_map(|cut| cut.records.iter().rev().cloned());
        let missing = limit - newest_first.len();
        newest_first.extend(older.take(missing));
        newest_first.reverse();
        newest_first
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A panic while it is changed leaves at worst records out.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Keeps the last records of each table of a batch.
    fn cut(&mut self, batch: &Bytes) {
        for (table, records) in cut(batch, self.rows_max) {
            let cut = self.cut.entry(table).or_default();
            for record in records {
                cut.bytes += record.len();
                self.cut_bytes += record.len();
                cut.records.push_back(record);
            }
            while cut.records.len() > self.rows_max || cut.bytes > RECENT_TABLE_BYTES_MAX {
                self.cut_bytes -= cut.drop_oldest();
            }
        }
        // The table with the most gives way first.
        while self.cut_bytes > RECENT_BYTES_MAX {
            let Some(largest) = self.cut.values_mut().max_by_key(|cut| cut.bytes) else { break };
            self.cut_bytes -= largest.drop_oldest();
        }
        self.cut.retain(|_, cut| !cut.records.is_empty());
    }
}

impl Cut {
    /// Forgets the oldest record and returns its size.
    fn drop_oldest(&mut self) -> usize {
        let bytes = self.records.pop_front().map_or(0, |record| record.len());
        self.bytes -= bytes;
        bytes
    }
}

/// The last records of each table of a batch, oldest first, as batches of one record each. What is no change
/// of a row is left out; a damaged batch, which the loop refuses elsewhere, has none.
fn cut(batch: &[u8], rows_max: usize) -> Vec<(String, Vec<Bytes>)> {
    let Ok(batch) = Batch::parse(batch) else { return Vec::new() };
    let mut last: Vec<VecDeque<Row<'_>>> = batch.tables().iter().map(|_| VecDeque::new()).collect();
    for row in batch.rows().map_while(Result::ok) {
        if rows_max > 0 && matches!(row.op(), Op::Insert | Op::Update | Op::Delete) {
            let rows = &mut last[usize::from(row.table_index().0)];
            if rows.len() == rows_max {
                rows.pop_front();
            }
            rows.push_back(row);
        }
    }
    let named = batch.tables().iter().zip(last).filter(|(_, rows)| !rows.is_empty());
    named
        .map(|(table, rows)| (table.qualified_name(), rows.iter().map(|row| alone(row, table)).collect()))
        .collect()
}

/// A row as a batch of its own.
fn alone(row: &Row<'_>, table: &Table) -> Bytes {
    let mut writer = BatchWriter::with_capacity(row.raw().len());
    let index = writer.add_table(table);
    writer.append_row(row, index);
    writer.finish().into()
}

#[cfg(test)]
pub(super) mod tests {
    use tarn_batch::{Cell, Column, RowHeader, Type, Version};

    use super::*;

    /// Rows of `public.<table> (id bigint, filler text)`.
    pub(crate) fn batch(table: &str, ids: &[i64]) -> Bytes {
        batch_of(&[(table, ids)], 1)
    }

    fn batch_of(tables: &[(&str, &[i64])], filler_bytes: usize) -> Bytes {
        let column = |name: &str, data_type: Type, key: u16| Column {
            name: name.to_owned(),
            data_type,
            type_name: "x".to_owned(),
            nullable: key == 0,
            key,
            attribute: 1,
        };
        let mut writer = BatchWriter::with_capacity(0);
        let header =
            RowHeader { op: Op::Insert, version: Version::default(), commit_time_us: 0, transaction: 0 };
        for (number, (name, ids)) in (1_u32..).zip(tables) {
            let columns = vec![column("id", Type::Int8, 1), column("filler", Type::Text, 0)];
            let index = writer.add_table(Table {
                id: number,
                schema: "public".to_owned(),
                name: (*name).to_owned(),
                version: 1,
                columns,
            });
            for id in *ids {
                writer.begin_row(index, &header);
                writer.value(&id.to_le_bytes());
                writer.value(&vec![b'x'; filler_bytes]);
                writer.end_row();
            }
            writer.begin_row(index, &RowHeader { op: Op::Truncate, ..header });
            writer.end_row();
        }
        writer.finish().into()
    }

    fn ring(rows_max: usize) -> Ring {
        let ring = Ring::default();
        ring.keep(rows_max);
        ring
    }

    fn ids(ring: &Ring, table: &str, limit: usize) -> Vec<i64> {
        let records = ring.last(table, limit);
        let id = |record: Bytes| {
            let batch = Batch::parse(&record).expect("sound");
            assert_eq!(batch.row_count(), 1);
            let row = batch.rows().next().expect("one").expect("sound");
            let Cell::Value(id) = row.cell(0).expect("sound") else { panic!("an id") };
            i64::from_le_bytes(id.try_into().expect("eight bytes"))
        };
        records.into_iter().map(id).collect()
    }

    #[test]
    fn the_last_records_of_a_table_come_oldest_first() {
        let ring = ring(4);
        ring.remember(&batch_of(&[("t", &[1, 2, 3]), ("u", &[10])], 1));
        ring.remember(&batch("t", &[4, 5]));
        assert_eq!(ids(&ring, "public.t", 10), [2, 3, 4, 5]);
        assert_eq!(ids(&ring, "public.t", 2), [4, 5]);
        assert_eq!(ids(&ring, "public.u", 10), [10]);
        assert_eq!(ids(&ring, "public.other", 10), [0; 0]);
    }

    #[test]
    fn records_of_a_quiet_table_outlive_the_batches_of_a_busy_one() {
        let ring = ring(3);
        ring.remember(&batch("quiet", &[1]));
        let filler = RECENT_WHOLE_BYTES_MAX / 4;
        for id in 0..20 {
            ring.remember(&batch_of(&[("busy", &[id])], filler));
        }
        assert_eq!(ids(&ring, "public.quiet", 10), [1]);
        assert_eq!(ids(&ring, "public.busy", 10), [17, 18, 19]);
    }

    #[test]
    fn whatever_comes_the_bytes_are_bounded() {
        let ring = ring(1_000);
        let names: Vec<String> = (0..40).map(|number| format!("t{number}")).collect();
        let filler = RECENT_TABLE_BYTES_MAX / 10;
        for round in 0..12 {
            for name in &names {
                ring.remember(&batch_of(&[(name, &[round])], filler));
            }
            // One that is larger than all the room for whole batches.
            ring.remember(&batch_of(&[("huge", &[round])], RECENT_WHOLE_BYTES_MAX + 1));
        }
        let kept = ring.kept();
        let of_whole: usize = kept.whole.iter().map(Bytes::len).sum();
        let of_cut: usize = kept.cut.values().flat_map(|cut| &cut.records).map(Bytes::len).sum();
        assert_eq!((of_whole, of_cut), (kept.whole_bytes, kept.cut_bytes), "the counts are true");
        assert!(of_whole <= RECENT_WHOLE_BYTES_MAX && of_cut <= RECENT_BYTES_MAX);
        assert!(kept.cut.values().all(|cut| cut.bytes <= RECENT_TABLE_BYTES_MAX));
        assert!(!kept.cut.contains_key("public.huge"), "a record that fills a table's room is not kept");
    }

    #[test]
    fn damaged_bytes_are_passed_over() {
        let ring = ring(3);
        ring.remember(&Bytes::from_static(b"TRNB nonsense"));
        ring.remember(&batch("t", &[1]));
        assert_eq!(ids(&ring, "public.t", 10), [1]);
    }
}
