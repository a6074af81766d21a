//! Transactions that the server sends before they commit.
//!
//! It sends them in blocks, those of several transactions one after another, and among them whole transactions that
//! committed meanwhile. What of a transaction is to be delivered is known when it commits: until then its messages
//! are put aside as they came, each transaction's in a file. At the commit they are read back in their order and
//! taken as those of a transaction that came whole, but for the parts that were rolled back. So rows have the same
//! places either way, and a stream that is started again may bring a transaction in the other.
//!
//! Nothing of it is in a position: before it confirms a commit the server sends the transaction again.

use std::collections::{HashMap, HashSet};

use tarn_sdk::Failure;
use tarn_sdk::spool::Error;

use crate::config::{PUT_ASIDE_BYTES, READ_BACK_BYTES, UNDONE_PARTS_MAX};
use crate::lsn::Lsn;
use crate::peer::Spool;
use crate::pgoutput::split_frame;

/// The transactions in progress.
#[derive(Debug, Default)]
pub(super) struct InProgress {
    block: Option<Block>,
    /// By the number of each transaction, the parts of it that were rolled back.
    undone: HashMap<u32, HashSet<u32>>,
}

/// A block that is coming in.
#[derive(Debug)]
struct Block {
    transaction: u32,
    /// Messages that are not put aside yet, each behind its length.
    waiting: Vec<u8>,
}

impl InProgress {
    /// Whether what comes belongs to a block.
    pub(super) fn is_in_block(&self) -> bool {
        self.block.is_some()
    }

    pub(super) fn start(&mut self, transaction: u32) {
        self.undone.entry(transaction).or_default();
        self.block = Some(Block { transaction, waiting: Vec::new() });
    }

    /// Takes a message of the block. Where it fails, the message was not taken.
    pub(super) fn put(&mut self, data: &[u8], spool: &impl Spool) -> Result<(), Failure> {
        let Some(block) = &mut self.block else { return Ok(()) };
        if block.waiting.len() >= PUT_ASIDE_BYTES {
            block.put_aside(spool)?;
        }
        let length = u32::try_from(data.len()).expect("a message came with a length of four bytes");
        block.waiting.extend_from_slice(&length.to_be_bytes());
        block.waiting.extend_from_slice(data);
        Ok(())
    }

    pub(super) fn stop(&mut self, spool: &impl Spool) -> Result<(), Failure> {
        if let Some(block) = &mut self.block {
            block.put_aside(spool)?;
        }
        self.block = None;
        Ok(())
    }

    /// Forgets a transaction that was rolled back, or leaves a part of it out.
    pub(super) fn abort(&mut self, transaction: u32, part: u32, spool: &impl Spool) -> Result<(), Failure> {
        if transaction == part {
            self.undone.remove(&transaction);
            spool.remove(transaction.into());
        } else if let Some(undone) = self.undone.get_mut(&transaction) {
            undone.insert(part);
            if undone.len() > UNDONE_PARTS_MAX {
                let message = format!("more than {UNDONE_PARTS_MAX} parts of a transaction were rolled back");
                return Err(Failure::retry(Error::FULL, message));
            }
        }
        Ok(())
    }

    /// What is to be delivered of a transaction that has committed, whose record ends there.
    pub(super) fn commit(&mut self, transaction: u32, end: Lsn) -> Committed {
        let undone = self.undone.remove(&transaction).unwrap_or_default();
        Committed { file: transaction.into(), undone, end, offset: 0, chunk: Vec::new(), taken: 0 }
    }
}

impl Block {
    fn put_aside(&mut self, spool: &impl Spool) -> Result<(), Failure> {
        if !self.waiting.is_empty() {
            spool.append(self.transaction.into(), &self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }
}

/// A transaction that was put aside, as it is read back.
#[derive(Debug)]
pub(super) struct Committed {
    file: u64,
    undone: HashSet<u32>,
    /// Where its commit record ends.
    pub(super) end: Lsn,
    /// Where in the file what is read next begins.
    offset: u64,
    /// What was read, and how much of it was taken.
    chunk: Vec<u8>,
    taken: usize,
}

impl Committed {
    /// Reads on where no whole message is left; whether there is one now.
    pub(super) fn fill(&mut self, spool: &impl Spool) -> Result<bool, Failure> {
        let mut wanted = READ_BACK_BYTES;
        while split_frame(&self.chunk[self.taken..]).is_none() {
            self.chunk.drain(..self.taken);
            self.taken = 0;
            if let Some(length) = self.chunk.first_chunk::<4>() {
                wanted = wanted.max(u32::from_be_bytes(*length).saturating_add(4));
            }
            let more = spool.read(self.file, self.offset, wanted)?;
            if more.is_empty() {
                return Ok(false);
            }
            self.offset += more.len() as u64;
            self.chunk.extend_from_slice(&more);
        }
        Ok(true)
    }

    /// The next message, after [`Self::fill`] said that there is one.
    pub(super) fn message(&self) -> &[u8] {
        split_frame(&self.chunk[self.taken..]).map_or(&[], |(message, _)| message)
    }

    /// What was read and is not taken: messages, each behind its length.
    pub(super) fn rest(&self) -> &[u8] {
        &self.chunk[self.taken..]
    }

    /// Goes on to the message after it.
    pub(super) fn pass(&mut self) {
        self.taken += 4 + self.message().len();
    }

    /// Whether a part was rolled back.
    pub(super) fn is_undone(&self, part: u32) -> bool {
        self.undone.contains(&part)
    }

    /// Gives up what was put aside.
    pub(super) fn forget(self, spool: &impl Spool) {
        spool.remove(self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is put there.
    struct Nowhere;

    impl Spool for Nowhere {
        fn append(&self, _file: u64, _bytes: &[u8]) -> Result<(), Error> {
            unreachable!("no message came")
        }
        fn read(&self, _file: u64, _offset: u64, _bytes_max: u32) -> Result<Vec<u8>, Error> {
            unreachable!("no message came")
        }
        fn remove(&self, _file: u64) {}
        fn clear(&self) {}
    }

    #[test]
    fn more_parts_than_are_kept_in_mind_are_answered_as_no_room() {
        let mut transactions = InProgress::default();
        transactions.start(1);
        for part in 0..UNDONE_PARTS_MAX as u32 {
            transactions.abort(1, part + 2, &Nowhere).expect("kept in mind");
        }
        transactions.abort(1, 2, &Nowhere).expect("it is known already");
        let failure = transactions.abort(1, u32::MAX, &Nowhere).expect_err("one too many");
        assert_eq!(failure.code, Error::FULL);
        transactions.abort(1, 1, &Nowhere).expect("all of it was rolled back");
        assert!(transactions.undone.is_empty());
    }
}
