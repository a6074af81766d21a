//! What is remembered of mirrors' dead letters while they run, and whose turn it is to write.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tarn_catalog::{LetterMark, NewLetter};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The books of all mirrors. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Books(Arc<Mutex<HashMap<i64, Arc<MirrorBook>>>>);

impl Books {
    /// The book of a mirror.
    pub(crate) fn of(&self, mirror: i64) -> Arc<MirrorBook> {
        let mut books = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(books.entry(mirror).or_default())
    }
}

/// What becomes of a record that has a letter of an earlier run and is delivered again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Again {
    /// It is tried, and its letter withdrawn where it is taken: writing a row twice changes nothing.
    #[default]
    Tried,
    /// It is passed over, and its letter stays. A queue that has moved on takes it for one that it has: its answer
    /// does not say whether the record is there.
    PassedOver,
}

/// What is remembered of one mirror's letters. The catalog has the truth; each run begins with it.
#[derive(Debug, Default)]
pub(crate) struct MirrorBook {
    /// Shared by those who write what the source sends, and a replay's alone while it lasts: it does not come
    /// between a letter that a TRUNCATE made void and the TRUNCATE.
    turn: RwLock<()>,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Letters that wait, each with the keys of its rows.
    letters: HashMap<String, Vec<String>>,
    /// How many letters are about a row.
    keys: HashMap<String, u32>,
    /// Letters of earlier runs, whose records may be delivered again.
    earlier: HashSet<String>,
    /// The greatest position of those.
    earlier_through: u64,
    /// What becomes of those records.
    again: Again,
}

impl MirrorBook {
    /// Waits for the turn to write what the source sends.
    pub(crate) async fn turn(&self) -> RwLockReadGuard<'_, ()> {
        self.turn.read().await
    }

    /// Waits until nobody writes, for the turn to do so alone.
    pub(crate) async fn turn_alone(&self) -> RwLockWriteGuard<'_, ()> {
        self.turn.write().await
    }

    /// Begins a run with what the catalog has.
    pub(crate) fn load(&self, marks: &[LetterMark], again: Again) {
        let mut waiting = self.waiting();
        *waiting = Waiting { again, ..Waiting::default() };
        for mark in marks {
            waiting.add(&mark.identity, &mark.row_keys);
            waiting.earlier.insert(mark.identity.clone());
            waiting.earlier_through = waiting.earlier_through.max(mark.position);
        }
    }

    pub(super) fn note(&self, letters: &[NewLetter]) {
        let mut waiting = self.waiting();
        for letter in letters {
            waiting.add(&letter.identity, &letter.row_keys);
            waiting.earlier.remove(&letter.identity);
        }
    }

    /// Forgets letters that do not wait any more.
    pub(crate) fn forget<'a>(&self, identities: impl IntoIterator<Item = &'a str>) {
        let mut waiting = self.waiting();
        for identity in identities {
            waiting.remove(identity);
        }
    }

    /// Whether no letter waits: then no record has to be looked at.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting().letters.is_empty()
    }

    /// Whether a letter about one of these rows waits.
    pub(super) fn holds(&self, keys: &[String]) -> bool {
        let waiting = self.waiting();
        keys.iter().any(|key| waiting.keys.contains_key(key))
    }

    /// Up to which position records may be delivered again that have a letter; `None` where none may.
    pub(super) fn earlier_through(&self) -> Option<u64> {
        let waiting = self.waiting();
        (!waiting.earlier.is_empty()).then_some(waiting.earlier_through)
    }

    /// What becomes of records that have a letter of an earlier run.
    pub(super) fn again(&self) -> Again {
        self.waiting().again
    }

    /// Whether a record has a letter of an earlier run.
    pub(super) fn came_before(&self, identity: &str) -> bool {
        self.waiting().earlier.contains(identity)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn add(&mut self, identity: &str, keys: &[String]) {
        if self.letters.contains_key(identity) {
            return;
        }
        for key in keys {
            *self.keys.entry(key.clone()).or_default() += 1;
        }
        self.letters.insert(identity.to_owned(), keys.to_vec());
    }

    fn remove(&mut self, identity: &str) {
        self.earlier.remove(identity);
        for key in self.letters.remove(identity).unwrap_or_default() {
            if let Some(count) = self.keys.get_mut(&key) {
                *count -= 1;
                if *count == 0 {
                    self.keys.remove(&key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(identity: &str, key: &str) -> LetterMark {
        LetterMark { identity: identity.into(), row_keys: vec![key.into()], position: 7, ordinal: 0 }
    }

    #[test]
    fn a_row_is_held_as_long_as_a_letter_about_it_waits() {
        let book = MirrorBook::default();
        book.load(&[mark("a", "k"), mark("b", "k")], Again::Tried);
        assert_eq!((book.earlier_through(), book.came_before("a")), (Some(7), true));
        book.forget(["a"]);
        assert!(book.holds(&["k".into()]) && !book.came_before("a"));
        let again = NewLetter { identity: "b".into(), row_keys: vec!["k".into()], ..NewLetter::default() };
        book.note(std::slice::from_ref(&again));
        assert_eq!(book.earlier_through(), None);
        book.forget(["b"]);
        assert!(!book.holds(&["k".into()]) && book.is_empty());
    }
}
