//! A batch shared out to several instances of its scripts, and what they made of it in one batch again.
//!
//! Rows of one key go to one instance, in their order. A change of the key goes to the instance of the new one: so
//! each instance sees all that becomes of the keys that are its own. What has no key (an emptied table, a logical
//! message) goes to one instance for each table.
//!
//! Each row carries its place in the batch as the ordinal of its version, which scripts hand on as they find it.
//! By that the rows find their order again, and get their own ordinals back.

use std::hash::{DefaultHasher, Hasher as _};
use std::iter::Peekable;

use bytes::Bytes;
use tarn_batch::{Batch as Rows, BatchWriter, DecodeError, Row, Table, TableIndex};
use tarn_model::Failure;
use tarn_replication::{Batch, Rejection};

use super::desk::damaged;
use super::joined::Joined;
use super::letter::{self, Image};

/// What scripts made of a batch, or of a share of it; rejections have places in the batch.
#[derive(Debug)]
pub(super) struct Applied {
    pub(super) batch: Batch,
    pub(super) dropped: u32,
    pub(super) rejected: Vec<Rejection>,
}

/// A batch in shares.
pub(super) struct Shared {
    /// For each instance its rows; possibly none.
    pub(super) shares: Vec<Batch>,
    /// Of each row of the batch where it belongs.
    origins: Vec<Origin>,
}

#[derive(Clone, Copy)]
struct Origin {
    share: usize,
    ordinal: u64,
}

/// A table's part in which share a row goes to.
struct Keyed {
    table: Table,
    hasher: DefaultHasher,
    key: Vec<usize>,
}

impl Keyed {
    fn new(table: &Table) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(table.qualified_name().as_bytes());
        Self { key: table.key_columns(), table: table.clone(), hasher }
    }

    fn share(&self, row: &Row<'_>, shares: usize) -> usize {
        let mut hasher = self.hasher.clone();
        for &column in &self.key {
            if let Some(value) = letter::cell_of(row, column, Image::Newest).value() {
                hasher.write_usize(value.len());
                hasher.write(value);
            }
        }
        // The remainder is below the number of shares.
        usize::try_from(hasher.finish() % shares as u64).unwrap_or_default()
    }
}

impl Shared {
    /// Shares a batch out.
    pub(super) fn out(batch: &Batch, shares: usize) -> Result<Self, Failure> {
        let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
        let keyed: Vec<_> = rows.tables().iter().map(Keyed::new).collect();
        let capacity = batch.bytes.len() / shares.max(1);
        let mut writers: Vec<_> = (0..shares).map(|_| BatchWriter::with_capacity(capacity)).collect();
        for writer in &mut writers {
            for Keyed { table, .. } in &keyed {
                writer.add_table(table);
            }
        }
        let mut origins = Vec::with_capacity(batch.rows as usize);
        for (place, row) in (0..).zip(rows.rows()) {
            let row = row.map_err(damaged)?;
            let index = row.table_index();
            let share = if shares > 1 { keyed[usize::from(index.0)].share(&row, shares) } else { 0 };
            // Each writer has the batch's tables in their order.
            writers[share].append_row_at(&row, index, place);
            origins.push(Origin { share, ordinal: row.version().ordinal });
        }
        let shares = writers
            .into_iter()
            .map(|writer| Batch { rows: writer.rows(), bytes: Bytes::from(writer.finish()) })
            .collect();
        Ok(Self { shares, origins })
    }

    /// What became of the shares, as what became of the batch; `None` where rows have other places than they came
    /// with, or another order.
    pub(super) fn together(self, answers: Vec<Applied>) -> Result<Option<Applied>, Failure> {
        let (mut dropped, mut rejected, mut bytes) = (0, Vec::new(), 0);
        let mut batches = Vec::with_capacity(answers.len());
        for mut answer in answers {
            dropped = answer.dropped.saturating_add(dropped);
            rejected.append(&mut answer.rejected);
            bytes += answer.batch.bytes.len();
            batches.push(answer.batch);
        }
        rejected.sort_by_key(|rejection| rejection.row);
        let batch = self.rows_together(&batches, bytes)?;
        Ok(batch.map(|batch| Applied { batch, dropped, rejected }))
    }

    fn rows_together(&self, batches: &[Batch], bytes: usize) -> Result<Option<Batch>, Failure> {
        if batches.iter().all(|batch| batch.rows == 0) {
            return Ok(Some(Batch { rows: 0, bytes: Bytes::new() }));
        }
        let mut joined = Joined::with_capacity(bytes);
        let mut parsed = Vec::with_capacity(batches.len());
        for (share, batch) in batches.iter().enumerate().filter(|(_, batch)| batch.rows > 0) {
            let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
            parsed.push((share, joined.add_tables(rows.tables())?, rows));
        }
        let mut parts: Vec<_> = parsed
            .iter()
            .map(|(share, tables, rows)| Part { share: *share, tables, rows: rows.rows().peekable() })
            .collect();
        let mut least = 0;
        while let Some(part) = first(&mut parts) {
            let Some(row) = part.rows.next() else { break };
            let row = row.map_err(damaged)?;
            let place = row.version().ordinal;
            let origin = usize::try_from(place).ok().and_then(|place| self.origins.get(place));
            let Some(origin) = origin.filter(|origin| place >= least && origin.share == part.share) else {
                return Ok(None);
            };
            least = place;
            joined.append_at(&row, part.tables[usize::from(row.table_index().0)], origin.ordinal);
        }
        Ok(Some(joined.finish()))
    }
}

/// The rows of a share that are still to be taken.
struct Part<'a, I: Iterator> {
    share: usize,
    tables: &'a [TableIndex],
    rows: Peekable<I>,
}

/// The part whose next row comes first. A row that cannot be read comes at once.
fn first<'p, 'a, 'r, I>(parts: &'p mut [Part<'a, I>]) -> Option<&'p mut Part<'a, I>>
where
    I: Iterator<Item = Result<Row<'r>, DecodeError>>,
{
    let places = parts.iter_mut().enumerate().filter_map(|(at, part)| {
        let place = part.rows.peek()?.as_ref().map_or(0, |row| row.version().ordinal);
        Some((place, at))
    });
    let (_, at) = places.min()?;
    parts.get_mut(at)
}

/// The places that rows of a share have in the batch.
pub(super) fn places(batch: &Batch) -> Result<Vec<u32>, Failure> {
    let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
    let place = |row: Row<'_>| u32::try_from(row.version().ordinal).unwrap_or(u32::MAX);
    rows.rows().map(|row| row.map(place).map_err(damaged)).collect()
}

#[cfg(test)]
mod tests {
    use tarn_batch::Op;

    use super::super::letter::tests::{Change, changes, table};
    use super::*;

    fn keys(batch: &Batch) -> Vec<i64> {
        let rows = Rows::parse(&batch.bytes).expect("a batch");
        let key = |row: Row<'_>| {
            let cell = letter::cell_of(&row, 0, Image::Newest);
            i64::from_le_bytes(cell.value().expect("a key").try_into().expect("eight bytes"))
        };
        rows.rows().map(|row| key(row.expect("a row"))).collect()
    }

    fn unchanged(shared: &Shared) -> Vec<Applied> {
        let shares = shared.shares.iter().cloned();
        shares.map(|batch| Applied { batch, dropped: 0, rejected: Vec::new() }).collect()
    }

    /// Rows of fifty keys in turn, each with a version of its own.
    fn many() -> Batch {
        let rows: Vec<_> = (0..1_000)
            .map(|at| Change(Op::Update, at + 10, (at % 50).cast_signed(), Some("x"), None))
            .collect();
        changes(&rows)
    }

    #[test]
    fn rows_of_a_key_have_one_share_and_all_of_them_come_back_in_their_order() {
        let given = many();
        for count in [1, 2, 3, 16] {
            let shared = Shared::out(&given, count).expect("shared");
            assert_eq!(shared.shares.len(), count);
            for key in 0..50 {
                let with_key = shared.shares.iter().filter(|share| keys(share).contains(&key));
                assert_eq!(with_key.count(), 1, "key {key} of {count} shares");
            }
            let used = shared.shares.iter().filter(|share| share.rows > 0).count();
            assert!(used > count / 2, "{used} of {count} shares are used");
            let answers = unchanged(&shared);
            let together = shared.together(answers).expect("read").expect("in order");
            assert_eq!(together.batch, given);
        }
    }

    #[test]
    fn a_change_of_the_key_goes_to_the_instance_of_the_new_one() {
        let (old, new) = (1, 2);
        let given = changes(&[
            Change(Op::Insert, 10, old, Some("a"), None),
            Change(Op::Insert, 11, new, Some("a"), None),
            Change(Op::Delete, 12, new, None, None),
            Change(Op::Update, 13, new, Some("a"), Some(old)),
            Change(Op::Update, 14, new, Some("b"), None),
            Change(Op::Insert, 15, old, Some("c"), None),
        ]);
        // Some number of shares keeps the two apart.
        let shared = (2..16)
            .map(|count| Shared::out(&given, count).expect("shared"))
            .find(|shared| shared.origins[0].share != shared.origins[1].share)
            .expect("they have different ones");
        let (first, second) = (shared.origins[0].share, shared.origins[1].share);
        let shares: Vec<_> = shared.origins.iter().map(|origin| origin.share).collect();
        assert_eq!(shares, [first, second, second, second, second, first]);
    }

    #[test]
    fn several_rows_of_one_and_none_of_another_keep_their_places() {
        let given = many();
        let shared = Shared::out(&given, 4).expect("shared");
        let mut answers = unchanged(&shared);
        for answer in &mut answers {
            let rows = Rows::parse(&answer.batch.bytes).expect("a batch");
            let mut writer = BatchWriter::default();
            let index = writer.add_table(table());
            for row in rows.rows() {
                let row = row.expect("a row");
                for _ in 0..row.version().ordinal % 3 {
                    writer.append_row(&row, index);
                }
            }
            answer.batch = Batch { rows: writer.rows(), bytes: Bytes::from(writer.finish()) };
        }
        let together = shared.together(answers).expect("read").expect("in order").batch;
        let expected: Vec<_> = (0..1_000)
            .flat_map(|at| std::iter::repeat_n(at % 50, usize::try_from(at % 3).expect("small")))
            .collect();
        assert_eq!(keys(&together), expected);
        let tables = Rows::parse(&together.bytes).expect("a batch").tables().len();
        assert_eq!(tables, 1, "each share brings the same table");
    }

    #[test]
    fn a_row_in_the_place_of_another_share_is_told() {
        let given = many();
        let shared = Shared::out(&given, 2).expect("shared");
        let mut answers = unchanged(&shared);
        answers.swap(0, 1);
        assert!(shared.together(answers).expect("read").is_none());
    }
}
