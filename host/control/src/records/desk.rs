//! Where records are noted that a mirror goes on without.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tarn_batch::{Batch as Rows, DecodeError, Op};
use tarn_catalog::{Catalog, LettersKept};
use tarn_model::{Failure, RecordErrorPolicy, RecordStage};
use tarn_replication::{Batch, LeavingOut, RecordDesk, Records, Rejection};

use super::book::{Again, MirrorBook};
use super::letter::{identity, key_text, leaves_out, letter_of, row_keys, table_name};

/// What a mirror's policy does with a record.
#[derive(Clone)]
pub(crate) enum Desk {
    /// Nothing: the mirror stops.
    Stop,
    /// It is counted.
    Skip(Arc<Skipper>),
    /// It is kept.
    Keep(Arc<Keeper>),
}

/// Counts.
pub(crate) struct Skipper {
    catalog: Catalog,
    mirror: i64,
}

/// Keeps letters.
pub(crate) struct Keeper {
    catalog: Catalog,
    mirror: i64,
    bytes_max: u64,
    book: Arc<MirrorBook>,
}

impl Desk {
    /// The desk of a mirror's policy; `bytes_max` is the room for its letters.
    pub(crate) fn new(
        policy: RecordErrorPolicy,
        catalog: &Catalog,
        mirror: i64,
        bytes_max: u64,
        book: Arc<MirrorBook>,
    ) -> Self {
        let catalog = catalog.clone();
        match policy {
            RecordErrorPolicy::Stop => Self::Stop,
            RecordErrorPolicy::Skip => Self::Skip(Arc::new(Skipper { catalog, mirror })),
            RecordErrorPolicy::DeadLetter => {
                Self::Keep(Arc::new(Keeper { catalog, mirror, bytes_max, book }))
            }
        }
    }

    /// A desk that goes on and notes nothing, for who notes it himself.
    pub(crate) fn none(catalog: &Catalog, mirror: i64) -> Self {
        Self::Skip(Arc::new(Skipper { catalog: catalog.clone(), mirror }))
    }

    /// What the loop is told to do with records, of which so many may be left out of ten times as many.
    pub(crate) fn records(&self, limit: u32) -> Records {
        match self {
            Self::Stop => Records::stop(),
            Self::Skip(skipper) => Records::leave_out(Arc::clone(skipper) as Arc<dyn RecordDesk>, limit),
            Self::Keep(keeper) => Records::leave_out(Arc::clone(keeper) as Arc<dyn RecordDesk>, limit),
        }
    }

    /// Whether the mirror goes on without a record.
    pub(crate) fn goes_on(&self) -> bool {
        !matches!(self, Self::Stop)
    }

    /// Who keeps letters, where letters are kept.
    pub(crate) fn keeper(&self) -> Option<&Arc<Keeper>> {
        match self {
            Self::Keep(keeper) => Some(keeper),
            Self::Stop | Self::Skip(_) => None,
        }
    }
}

impl RecordDesk for Skipper {
    fn leave_out<'a>(&'a self, _batch: &'a Batch, rejected: &'a [Rejection]) -> LeavingOut<'a> {
        Box::pin(async move { Ok(self.catalog.count_skipped(self.mirror, rejected.len() as u64).await?) })
    }
}

impl RecordDesk for Keeper {
    fn leave_out<'a>(&'a self, batch: &'a Batch, rejected: &'a [Rejection]) -> LeavingOut<'a> {
        Box::pin(self.keep(batch, rejected))
    }
}

impl Keeper {
    /// What is remembered of the letters.
    pub(crate) fn book(&self) -> &Arc<MirrorBook> {
        &self.book
    }

    async fn keep(&self, batch: &Batch, rejected: &[Rejection]) -> Result<(), Failure> {
        let letters = {
            let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
            let mut letters = Vec::with_capacity(rejected.len());
            let mut rejected: Vec<_> = rejected.iter().collect();
            rejected.sort_by_key(|rejection| rejection.row);
            let mut next = rejected.into_iter().peekable();
            for (at, row) in (0..).zip(rows.rows()) {
                let row = row.map_err(damaged)?;
                while let Some(rejection) = next.next_if(|rejection| rejection.row == at) {
                    letters.push(letter_of(rows.table(&row), &row, rejection));
                }
            }
            letters
        };
        match self.catalog.keep_letters(self.mirror, &letters, self.bytes_max).await? {
            LettersKept::Done => {
                self.book.note(&letters);
                Ok(())
            }
            LettersKept::Full { bytes } => Err(self.full(bytes)),
        }
    }

    fn full(&self, bytes: u64) -> Failure {
        let message = format!(
            "the mirror's dead letters take {bytes} bytes, and there is no room for more within {}",
            self.bytes_max
        );
        Failure::permanent("dead_letters_full", message).with_hint(
            "replay or discard some of them (tarn mirror dead-letters), or raise dead_letter_mib_max, then resume",
        )
    }

    /// Rows of a batch that have to wait for a letter: they leave values out that only the record in the letter
    /// has. `rejected` are rows of the batch itself that become letters.
    pub(super) fn held_back(
        &self,
        batch: &Batch,
        stage: RecordStage,
        rejected: &[Rejection],
    ) -> Result<Vec<Rejection>, Failure> {
        if rejected.is_empty() && self.book.is_empty() {
            return Ok(Vec::new());
        }
        let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
        let rejected: HashSet<u32> = rejected.iter().map(|rejection| rejection.row).collect();
        let mut gaps: HashSet<String> = HashSet::new();
        let mut held = Vec::new();
        for (at, row) in (0..).zip(rows.rows()) {
            let row = row.map_err(damaged)?;
            let table = rows.table(&row);
            if rejected.contains(&at) {
                gaps.extend(row_keys(stage, table, &row));
                continue;
            }
            if !leaves_out(&row) {
                continue;
            }
            let keys = row_keys(stage, table, &row);
            if keys.iter().any(|key| gaps.contains(key)) || self.book.holds(&keys) {
                held.push(Rejection {
                    row: at,
                    table: table_name(table),
                    key: key_text(table, &row),
                    stage,
                    message:
                        "it leaves values out that an earlier change of the row has, which is a dead letter"
                            .to_owned(),
                    ..Rejection::default()
                });
                gaps.extend(keys);
            }
        }
        Ok(held)
    }

    /// The places of records that are passed over, since they have a letter of an earlier run.
    pub(super) fn passed_over(&self, batch: &Batch, stage: RecordStage) -> Result<HashSet<u32>, Failure> {
        match self.book.again() {
            Again::Tried => Ok(HashSet::new()),
            Again::PassedOver => Ok(self.came_before(batch, stage)?.into_keys().collect()),
        }
    }

    /// Withdraws letters of earlier runs whose records came again and were taken: all of the batch but the
    /// rejected ones.
    pub(super) async fn withdraw(
        &self,
        batch: &Batch,
        stage: RecordStage,
        rejected: &[Rejection],
    ) -> Result<(), Failure> {
        if self.book.again() == Again::PassedOver {
            return Ok(());
        }
        let mut taken = self.came_before(batch, stage)?;
        for rejection in rejected {
            taken.remove(&rejection.row);
        }
        if !taken.is_empty() {
            let taken: Vec<_> = taken.into_values().collect();
            self.catalog.withdraw_letters(self.mirror, &taken).await?;
            self.book.forget(taken.iter().map(String::as_str));
        }
        Ok(())
    }

    /// Records of a batch that have a letter of an earlier run: their places, and what tells the letters.
    fn came_before(&self, batch: &Batch, stage: RecordStage) -> Result<HashMap<u32, String>, Failure> {
        let Some(through) = self.book.earlier_through() else { return Ok(HashMap::new()) };
        let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
        let mut found = HashMap::new();
        for (at, row) in (0..).zip(rows.rows()) {
            let row = row.map_err(damaged)?;
            if row.version().commit <= through {
                let identity = identity(stage, rows.table(&row), &row);
                if self.book.came_before(&identity) {
                    found.insert(at, identity);
                }
            }
        }
        Ok(found)
    }

    /// Gives up letters of tables that a batch empties. The rows after it are not of them; those before it are
    /// gone with it.
    pub(super) async fn void_emptied(&self, batch: &Batch) -> Result<(), Failure> {
        if self.book.is_empty() {
            return Ok(());
        }
        let emptied = {
            let rows = Rows::parse(&batch.bytes).map_err(damaged)?;
            let mut emptied = Vec::new();
            for row in rows.rows() {
                let row = row.map_err(damaged)?;
                if row.op() == Op::Truncate {
                    let version = row.version();
                    emptied.push((table_name(rows.table(&row)), (version.commit, version.ordinal)));
                }
            }
            emptied
        };
        for (table, before) in emptied {
            let void = self.catalog.void_letters(self.mirror, Some(&table), Some(before)).await?;
            self.book.forget(void.iter().map(|mark| mark.identity.as_str()));
        }
        Ok(())
    }
}

pub(super) fn damaged(error: DecodeError) -> Failure {
    Failure::permanent("batch_damaged", format!("a batch cannot be read: {error}"))
        .with_hint("report it to whoever wrote the plugin")
}

#[cfg(test)]
mod tests;
