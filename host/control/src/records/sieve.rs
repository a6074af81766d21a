//! A destination that gives up single records instead of a whole write.
//!
//! A destination names a record that it cannot hold in a failure, for people. Which one it is, is found by writing
//! halves: every row is written once more at most a few times, which changes nothing, and only where there is
//! trouble. Rows stay in their order, and each part is made durable before the next, since a refusal gives up what
//! was written since the last flush.
//!
//! A destination may find a record only when it makes rows durable, such as a table's constraint that its server
//! checks at the end of an insert. That is a refusal of what was written since the last flush.
//!
//! For the same reason nothing can be looked for while earlier writes are not durable, as in a load, which
//! flushes at a partition's end. Such a write fails as passing trouble, the partition is read again, and from
//! there on every write of the run is made durable at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use tarn_batch::Batch as Rows;
use tarn_model::{Failure, FailureClass, RecordStage};
use tarn_replication::{Ack, Batch, Destination, Observer, PartState, Records, Rejection};

use super::desk::{Desk, damaged};
use super::letter::{key_text, picked, table_name};

/// What the sieves of one run share.
#[derive(Clone)]
pub(crate) struct SieveParts {
    /// What becomes of records.
    pub(crate) records: Records,
    /// Where they are noted.
    pub(crate) desk: Desk,
    /// Who is told.
    pub(crate) observer: Arc<dyn Observer>,
    /// Whether each write is made durable, because a record was refused.
    pub(crate) careful: Arc<AtomicBool>,
    /// Whether scripts see the records first: then they are counted there.
    pub(crate) scripted: bool,
}

/// See the module's documentation.
pub(crate) struct Sieve<D> {
    destination: D,
    parts: SieveParts,
    /// Whether the destination holds rows that are not durable.
    holds_rows: bool,
}

impl<D: Destination> Sieve<D> {
    pub(crate) fn new(destination: D, parts: SieveParts) -> Self {
        Self { destination, parts, holds_rows: false }
    }

    /// Writes what does not have to wait for a dead letter.
    async fn sift(&mut self, batches: Vec<Batch>) -> Result<Ack, Failure> {
        let keeper = self.parts.desk.keeper().cloned();
        self.parts.void_emptied(&batches).await?;
        let kept = self.parts.all_without_held(batches).await?;
        if kept.is_empty() {
            return Ok(Ack { rows: 0, bytes: 0, durable: !self.holds_rows });
        }
        let written = match self.parts.careful.load(Ordering::Relaxed) && !self.holds_rows {
            true => self.write_durably(kept.clone()).await,
            false => self.destination.write(kept.clone()).await,
        };
        match written {
            Ok(ack) => {
                if let Some(keeper) = &keeper {
                    for batch in &kept {
                        keeper.withdraw(batch, RecordStage::Destination, &[]).await?;
                    }
                }
                self.parts.count(&kept);
                self.holds_rows = !ack.durable;
                Ok(ack)
            }
            Err(refused) if refused.class != FailureClass::Record => Err(refused),
            Err(refused) => {
                self.parts.careful.store(true, Ordering::Relaxed);
                if self.holds_rows {
                    return Err(again_first(refused));
                }
                self.write_parts(kept).await
            }
        }
    }

    /// What becomes of the rows since the last flush.
    fn made_durable(&mut self, outcome: Result<(), Failure>) -> Result<(), Failure> {
        match outcome {
            Ok(()) => {
                self.holds_rows = false;
                Ok(())
            }
            // Which of them it is, nobody here knows any more.
            Err(refused) if refused.class == FailureClass::Record && self.parts.records.go_on() => {
                self.parts.careful.store(true, Ordering::Relaxed);
                Err(again_first(refused))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Writes so that the rows are durable: a store may refuse one of them only then.
    async fn write_durably(&mut self, batches: Vec<Batch>) -> Result<Ack, Failure> {
        let ack = self.destination.write(batches).await?;
        if !ack.durable {
            self.destination.flush().await?;
        }
        Ok(Ack { durable: true, ..ack })
    }

    /// Writes parts, smaller ones where a record in them is refused, down to that record.
    async fn write_parts(&mut self, batches: Vec<Batch>) -> Result<Ack, Failure> {
        let mut sum = Ack { rows: 0, bytes: 0, durable: true };
        let mut parts = vec![batches];
        while let Some(part) = parts.pop() {
            // A record before these may have become a letter meanwhile.
            let part = self.parts.all_without_held(part).await?;
            if part.is_empty() {
                continue;
            }
            match self.write_durably(part.clone()).await {
                Ok(ack) => {
                    sum.rows += ack.rows;
                    sum.bytes += ack.bytes;
                    self.parts.count(&part);
                    for batch in &part {
                        if let Some(keeper) = self.parts.desk.keeper() {
                            keeper.withdraw(batch, RecordStage::Destination, &[]).await?;
                        }
                    }
                }
                Err(refused) if refused.class != FailureClass::Record => return Err(refused),
                Err(refused) => match halves(part)? {
                    Halves::Two(first, second) => parts.extend([second, first]),
                    Halves::Record(batch) => self.parts.give_up(&batch, &refused).await?,
                },
            }
        }
        Ok(sum)
    }
}

impl SieveParts {
    /// Counts records that were taken.
    fn count(&self, batches: &[Batch]) {
        if !self.scripted {
            batches.iter().for_each(|batch| self.records.passed(batch.rows));
        }
    }

    /// Gives up letters that a TRUNCATE among the rows makes void.
    async fn void_emptied(&self, batches: &[Batch]) -> Result<(), Failure> {
        if let Some(keeper) = self.desk.keeper() {
            for batch in batches {
                keeper.void_emptied(batch).await?;
            }
        }
        Ok(())
    }

    /// What of the batches does not have to wait for a letter.
    async fn all_without_held(&self, batches: Vec<Batch>) -> Result<Vec<Batch>, Failure> {
        let mut kept = Vec::with_capacity(batches.len());
        for batch in batches {
            kept.push(self.without_held(batch).await?);
        }
        kept.retain(|batch| batch.rows > 0);
        // Rows before a TRUNCATE may have become letters just now.
        self.void_emptied(&kept).await?;
        Ok(kept)
    }

    /// The batch without rows that leave out what a dead letter has, which become letters, and without those that
    /// are passed over.
    async fn without_held(&self, batch: Batch) -> Result<Batch, Failure> {
        let Some(keeper) = self.desk.keeper() else { return Ok(batch) };
        let over = keeper.passed_over(&batch, RecordStage::Destination)?;
        let batch = if over.is_empty() {
            batch
        } else {
            let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
            picked(&rows, |at, _| !over.contains(&at)).map_err(damaged)?
        };
        let held = keeper.held_back(&batch, RecordStage::Destination, &[])?;
        if held.is_empty() {
            return Ok(batch);
        }
        let looked_at = u32::try_from(held.len()).unwrap_or(u32::MAX);
        self.records.settle(&batch, &held, looked_at, &*self.observer).await?;
        let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
        picked(&rows, |at, _| !held.iter().any(|rejection| rejection.row == at)).map_err(damaged)
    }

    /// Settles a record that the destination refused.
    async fn give_up(&self, batch: &Batch, refused: &Failure) -> Result<(), Failure> {
        let rejection = {
            let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
            let row = rows.rows().next().ok_or_else(|| refused.clone())?.map_err(damaged)?;
            let table = rows.table(&row);
            Rejection {
                table: table_name(table),
                key: key_text(table, &row),
                message: refused.message.clone(),
                stage: RecordStage::Destination,
                ..Rejection::default()
            }
        };
        self.records.settle(batch, &[rejection], 1, &*self.observer).await
    }
}

impl<D: Destination> Destination for Sieve<D> {
    async fn write(&mut self, batches: Vec<Batch>) -> Result<Ack, Failure> {
        if !self.parts.records.go_on() {
            return self.destination.write(batches).await;
        }
        let book = self.parts.desk.keeper().map(|keeper| Arc::clone(keeper.book()));
        let _turn = match &book {
            Some(book) => Some(book.turn().await),
            None => None,
        };
        self.sift(batches).await
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        let flushed = self.destination.flush().await;
        self.made_durable(flushed)
    }

    async fn evolve(&mut self, schema: Bytes) -> Result<(), Failure> {
        self.destination.evolve(schema).await
    }

    async fn begin_part(&mut self, part: &str) -> Result<PartState, Failure> {
        self.holds_rows = false;
        self.destination.begin_part(part).await
    }

    async fn end_part(&mut self) -> Result<(), Failure> {
        let ended = self.destination.end_part().await;
        self.made_durable(ended)
    }
}

/// The failure of rows that are written again before a record among them is looked for.
fn again_first(refused: Failure) -> Failure {
    let message = format!("{}; the rows before it are written again first", refused.message);
    Failure::retry("record_refused", message).with_table(refused.table)
}

/// A part in two.
enum Halves {
    Two(Vec<Batch>, Vec<Batch>),
    /// It is one record.
    Record(Batch),
}

fn halves(mut part: Vec<Batch>) -> Result<Halves, Failure> {
    if part.len() > 1 {
        let second = part.split_off(part.len() / 2);
        return Ok(Halves::Two(part, second));
    }
    let Some(batch) = part.pop() else { return Ok(Halves::Two(Vec::new(), Vec::new())) };
    if batch.rows <= 1 {
        return Ok(Halves::Record(batch));
    }
    let (rows, middle) = (Rows::parse(&batch.bytes).map_err(damaged)?, batch.rows / 2);
    let first = picked(&rows, |at, _| at < middle).map_err(damaged)?;
    let second = picked(&rows, |at, _| at >= middle).map_err(damaged)?;
    Ok(Halves::Two(vec![first], vec![second]))
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Mutex;

    use tarn_batch::Op;
    use tarn_replication::{LeavingOut, RecordDesk, Silent};

    use super::super::letter::tests::{Change, changes};
    use super::*;

    /// Notes the keys of what is left out.
    #[derive(Default)]
    struct Noted(Mutex<Vec<String>>);

    impl RecordDesk for Noted {
        fn leave_out<'a>(&'a self, _batch: &'a Batch, rejected: &'a [Rejection]) -> LeavingOut<'a> {
            Box::pin(async move {
                let keys = rejected.iter().map(|rejection| rejection.key.clone());
                self.0.lock().expect("whole").extend(keys);
                Ok(())
            })
        }
    }

    /// Refuses rows by their key, and then loses what was not flushed, as the contract says.
    pub(crate) struct Picky {
        refuses: Vec<i64>,
        /// What it refuses only when it makes rows durable.
        refuses_late: Vec<i64>,
        written: Vec<i64>,
        durable: Vec<i64>,
    }

    impl Sieve<Picky> {
        /// The keys that the destination has.
        pub(crate) fn durable(&self) -> &[i64] {
            &self.destination.durable
        }
    }

    impl Picky {
        pub(crate) fn new(refuses: &[i64]) -> Self {
            Self {
                refuses: refuses.to_vec(),
                refuses_late: Vec::new(),
                written: Vec::new(),
                durable: Vec::new(),
            }
        }
    }

    impl Destination for Picky {
        async fn write(&mut self, batches: Vec<Batch>) -> Result<Ack, Failure> {
            let mut count = 0;
            for batch in &batches {
                let rows = Rows::parse(&batch.bytes).expect("a batch");
                for row in rows.rows() {
                    let key = row.expect("a row").cell(0).expect("a cell").value().expect("a key");
                    let key = i64::from_le_bytes(key.try_into().expect("eight bytes"));
                    if self.refuses.contains(&key) {
                        self.written.clone_from(&self.durable);
                        let failure = Failure::new(FailureClass::Record, "refused", "does not fit");
                        return Err(failure.with_table("public.t"));
                    }
                    self.written.push(key);
                    count += 1;
                }
            }
            Ok(Ack { rows: count, bytes: count, durable: false })
        }

        async fn flush(&mut self) -> Result<(), Failure> {
            if self.written.iter().any(|key| self.refuses_late.contains(key)) {
                self.written.clone_from(&self.durable);
                return Err(Failure::new(FailureClass::Record, "refused", "does not fit"));
            }
            self.durable.clone_from(&self.written);
            Ok(())
        }

        async fn evolve(&mut self, _schema: Bytes) -> Result<(), Failure> {
            Ok(())
        }
    }

    fn rows(ids: std::ops::Range<i64>) -> Batch {
        let rows: Vec<_> = ids.map(|id| Change(Op::Insert, id.unsigned_abs(), id, Some("x"), None)).collect();
        changes(&rows)
    }

    fn sieve(refuses: &[i64], limit: u32) -> (Sieve<Picky>, Arc<Noted>) {
        let noted = Arc::new(Noted::default());
        let parts = SieveParts {
            records: Records::leave_out(Arc::clone(&noted) as Arc<dyn RecordDesk>, limit),
            desk: Desk::Stop,
            observer: Arc::new(Silent),
            careful: Arc::default(),
            scripted: false,
        };
        (Sieve::new(Picky::new(refuses), parts), noted)
    }

    #[tokio::test]
    async fn every_row_but_the_refused_ones_is_written_and_durable_in_its_order() {
        let (mut sieve, noted) = sieve(&[3, 4, 17, 29], 100);
        let ack = sieve.write(vec![rows(0..10), rows(10..30)]).await.expect("written");
        assert_eq!((ack.rows, ack.durable), (26, true));
        let expected: Vec<_> = (0..30).filter(|id| ![3, 4, 17, 29].contains(id)).collect();
        assert_eq!(sieve.destination.durable, expected);
        assert_eq!(*noted.0.lock().expect("whole"), ["id=3", "id=4", "id=17", "id=29"]);
    }

    #[tokio::test]
    async fn nothing_is_looked_for_while_earlier_rows_would_be_lost_by_it() {
        let (mut sieve, noted) = sieve(&[7], 100);
        assert!(!sieve.write(vec![rows(0..5)]).await.expect("written").durable);
        let failure = sieve.write(vec![rows(5..10)]).await.expect_err("the rows before are gone");
        assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Retry, "record_refused"));
        assert!(noted.0.lock().expect("whole").is_empty());
        // The next instance of the run writes nothing that is not durable, and finds the record.
        let parts = sieve.parts.clone();
        let mut again = Sieve::new(Picky::new(&[7]), parts);
        assert!(again.write(vec![rows(0..5)]).await.expect("written").durable);
        again.write(vec![rows(5..10)]).await.expect("written");
        assert_eq!(again.destination.durable, [0, 1, 2, 3, 4, 5, 6, 8, 9]);
        assert_eq!(*noted.0.lock().expect("whole"), ["id=7"]);
    }

    #[tokio::test]
    async fn a_record_that_is_refused_only_when_rows_are_made_durable_is_found_too() {
        let (mut sieve, noted) = sieve(&[], 100);
        sieve.destination.refuses_late = vec![3, 17];
        assert!(!sieve.write(vec![rows(0..10)]).await.expect("written").durable);
        let failure = sieve.flush().await.expect_err("one of ten");
        assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Retry, "record_refused"));
        assert!(noted.0.lock().expect("whole").is_empty());
        // The next instance of the run.
        let mut again = Sieve::new(Picky::new(&[]), sieve.parts.clone());
        again.destination.refuses_late = vec![3, 17];
        for batch in [rows(0..10), rows(10..30)] {
            assert!(again.write(vec![batch]).await.expect("written").durable);
        }
        let expected: Vec<_> = (0..30).filter(|id| ![3, 17].contains(id)).collect();
        assert_eq!(again.destination.durable, expected);
        assert_eq!(*noted.0.lock().expect("whole"), ["id=3", "id=17"]);
    }

    #[tokio::test]
    async fn a_column_that_holds_nothing_ends_the_write_at_the_limit() {
        let every: Vec<_> = (0..100).collect();
        let (mut sieve, noted) = sieve(&every, 5);
        let failure = sieve.write(vec![rows(0..100)]).await.expect_err("too many");
        assert_eq!(failure.code, "record_errors_too_many");
        assert_eq!(noted.0.lock().expect("whole").len(), 5);
    }

    #[tokio::test]
    async fn other_trouble_and_a_policy_that_stops_are_handed_on() {
        let (mut sieve, _) = sieve(&[1], 5);
        sieve.parts.records = Records::stop();
        let failure = sieve.write(vec![rows(0..5)]).await.expect_err("refused");
        assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Record, "refused"));
    }
}
