//! Rows with values that the source did not send.
//!
//! Each such value is that of the latest earlier row of the key: one in the same write, or the one in
//! the table. Keys change on the way, so the rows are walked in order and what is known of a key is
//! carried along. A row whose key has a later version in the table already was written by an earlier
//! attempt, and is left out: what it would show is hidden by the later one. So is a row from before a
//! TRUNCATE that an earlier attempt carried out.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use tarn_batch::{Cell, Op, Row};
use tarn_sdk::Failure;

use crate::block::Block;
use crate::client::Client;
use crate::inserts::Inserts;
use crate::plan::{Image, Plan, RowError, Stamp};
use crate::read_back::{Earlier, Key, Wanted, read_back};

/// The rows of a target that are not sent yet, and those of them that lack values.
pub(crate) struct Work<'w, 'b> {
    pub(crate) plan: &'w Rc<Plan>,
    pub(crate) rows: &'w [Row<'b>],
    pub(crate) pending: &'w [Row<'b>],
    pub(crate) stamp: Stamp,
}

/// What a row does to the keys that are followed.
struct Step {
    /// The key it finds the earlier row under.
    base: Key,
    /// The key it leaves a row under; `None` for a delete.
    after: Option<Key>,
}

/// What becomes of a pending row.
enum Outlook<'e> {
    /// It is written, with values of this row.
    Completed(&'e Earlier),
    /// It is left out: nobody could see it.
    Hidden,
}

impl Work<'_, '_> {
    /// Completes the pending rows and puts them into the block, which is sent whenever it is full.
    pub(crate) fn write<C: Client>(
        &self,
        client: &mut C,
        inserts: &mut Inserts<C::Insert>,
        block: &mut Block,
    ) -> Result<(), Failure> {
        let columns = self.missing_columns()?;
        let (followed, wanted) = self.wanted()?;
        let mut known = read_back(client, self.plan, &columns, &wanted)?;
        let values = known.values().flat_map(|earlier| &earlier.values);
        self.plan.note_read_back(self.pending.len(), values.map(|value| value.len()).sum());
        let mut completed = 0;
        self.walk(|row, is_pending| {
            let failed = |error| self.plan.row_failure(row, error);
            let step = self.step(row).map_err(failed)?;
            completed += usize::from(is_pending);
            if !is_pending
                && !followed.contains_key(&step.base)
                && !step.after.as_ref().is_some_and(|key| followed.contains_key(key))
            {
                return Ok(());
            }
            if is_pending && !known.contains_key(&step.base) {
                // The row that was to tell about this key was left out.
                let wanted = Wanted::new(self.plan, row, Image::Before).map_err(failed)?;
                known.extend(read_back(client, self.plan, &columns, &[wanted])?);
            }
            let earlier = known.get(&step.base);
            if is_pending {
                match self.outlook(row, earlier).map_err(failed)? {
                    Outlook::Completed(earlier) => {
                        self.complete(row, &columns, earlier, block).map_err(failed)?;
                    }
                    Outlook::Hidden => {
                        // What this write knows of the key it would have left is older than the table.
                        if let Some(after) = step.after.filter(|after| *after != step.base) {
                            known.remove(&after);
                        }
                        return Ok(());
                    }
                }
            }
            let after = match &step.after {
                // Values are large: none is kept that no later row asks for.
                Some(after) if followed.get(after).is_some_and(|last| *last >= completed) => {
                    Some((after.clone(), self.image(row, &columns, earlier).map_err(failed)?))
                }
                _ => None,
            };
            let version = row.version().to_u128();
            if step.after.as_ref() != Some(&step.base) {
                known.insert(step.base, Earlier { version, deleted: true, values: Vec::new() });
            }
            known.extend(after);
            if block.is_full() {
                inserts.append(client, self.plan, block)?;
            }
            Ok(())
        })
    }

    /// What becomes of a pending row.
    fn outlook<'e>(&self, row: &Row<'_>, earlier: Option<&'e Earlier>) -> Result<Outlook<'e>, RowError> {
        let version = row.version().to_u128();
        match earlier {
            Some(earlier) if earlier.version >= version => Ok(Outlook::Hidden),
            Some(earlier) if !earlier.deleted => Ok(Outlook::Completed(earlier)),
            // What the row would show, a TRUNCATE that is to come again takes away.
            _ if self.plan.emptied.is_some_and(|emptied| version < emptied) => Ok(Outlook::Hidden),
            _ => Err(RowError::Unchanged),
        }
    }

    /// All rows in order, with whether each is a pending one.
    fn walk(&self, mut visit: impl FnMut(&Row<'_>, bool) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut pending = self.pending.iter().peekable();
        for row in self.rows {
            let is_pending = pending.next_if(|next| std::ptr::eq(next.raw(), row.raw())).is_some();
            visit(row, is_pending)?;
        }
        Ok(())
    }

    /// The columns that any pending row lacks.
    fn missing_columns(&self) -> Result<Vec<usize>, Failure> {
        let mut missing = vec![false; self.plan.table.columns.len()];
        for row in self.pending {
            for (source, cell) in row.after().enumerate() {
                let lacks = cell? == Cell::Unchanged && !self.plan.key.contains(&source);
                missing[source] |= lacks && self.plan.column(source).is_some();
            }
        }
        Ok((0..missing.len()).filter(|&source| missing[source]).collect())
    }

    /// The keys that pending rows find their earlier row under, each with the last of these rows, and those of the keys
    /// that no row of the same write tells about: these are looked up in the table.
    fn wanted(&self) -> Result<(HashMap<Key, usize>, Vec<Wanted>), Failure> {
        let mut followed = HashMap::with_capacity(self.pending.len());
        for (at, row) in self.pending.iter().enumerate() {
            let step = self.step(row).map_err(|error| self.plan.row_failure(row, error))?;
            followed.insert(step.base, at);
        }
        let mut told = HashSet::new();
        let mut wanted = Vec::new();
        self.walk(|row, is_pending| {
            let failed = |error| self.plan.row_failure(row, error);
            let step = self.step(row).map_err(failed)?;
            if is_pending && told.insert(step.base.clone()) {
                wanted.push(Wanted::new(self.plan, row, Image::Before).map_err(failed)?);
            }
            if followed.contains_key(&step.base) {
                told.insert(step.base);
            }
            told.extend(step.after.filter(|after| followed.contains_key(after)));
            Ok(())
        })?;
        Ok((followed, wanted))
    }

    fn step(&self, row: &Row<'_>) -> Result<Step, RowError> {
        let mut base = Vec::new();
        if row.op() == Op::Delete {
            self.plan.write_key(row, Image::Before, &mut base)?;
            return Ok(Step { base, after: None });
        }
        let mut after = Vec::new();
        self.plan.write_key(row, Image::After, &mut after)?;
        if self.plan.changes_key(row)? {
            self.plan.write_key(row, Image::Before, &mut base)?;
        } else {
            base.clone_from(&after);
        }
        Ok(Step { base, after: Some(after) })
    }

    /// Puts a pending row into the block, with the earlier row's values where it lacks them.
    fn complete(
        &self,
        row: &Row<'_>,
        columns: &[usize],
        earlier: &Earlier,
        block: &mut Block,
    ) -> Result<(), RowError> {
        let start = block.bytes.len();
        block.make_room(row.raw().len() + earlier.values.iter().map(|value| value.len()).sum::<usize>());
        let out = &mut block.bytes;
        let written = (|| {
            for (source, _) in self.plan.written() {
                self.write_cell(row, source, columns, Some(earlier), out)?;
            }
            self.plan.write_own(row.version(), false, self.stamp, out);
            if self.plan.changes_key(row)? {
                self.plan.write_tombstone(row, self.stamp, out)?;
                return Ok(2);
            }
            Ok(1)
        })();
        match written {
            Ok(rows) => block.rows += rows,
            Err(_) => block.bytes.truncate(start),
        }
        written.map(drop)
    }

    /// What later rows may have to know of a row.
    fn image(
        &self,
        row: &Row<'_>,
        columns: &[usize],
        earlier: Option<&Earlier>,
    ) -> Result<Earlier, RowError> {
        let values = columns.iter().map(|&source| {
            let mut value = Vec::new();
            self.write_cell(row, source, columns, earlier, &mut value)?;
            Ok(value.into())
        });
        let values = values.collect::<Result<_, RowError>>()?;
        Ok(Earlier { version: row.version().to_u128(), deleted: false, values })
    }

    fn write_cell(
        &self,
        row: &Row<'_>,
        source: usize,
        columns: &[usize],
        earlier: Option<&Earlier>,
        out: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        let column = self.plan.column(source).ok_or(RowError::Unchanged)?;
        let cell = match row.after().nth(source).transpose()?.unwrap_or(Cell::Unchanged) {
            Cell::Unchanged => self.plan.cell_kept(row, source)?,
            cell => cell,
        };
        let slot = columns.iter().position(|&column| column == source);
        match (cell, slot.and_then(|slot| earlier?.values.get(slot))) {
            (Cell::Unchanged, Some(value)) => out.extend_from_slice(value),
            (cell, _) => column.write(source, cell, out)?,
        }
        Ok(())
    }
}
