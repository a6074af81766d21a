//! The catalog: what is stored about peers, mirrors, scripts and progress, and the only crate that knows
//! the database.
//!
//! One set of statements and one list of migrations serve SQLite in the data directory and PostgreSQL by
//! URL. Invariants: a commit that returned survives `kill -9` and a power cut; secrets and records rest sealed; a
//! checkpoint never goes back; a state moves only by compare-and-set.

mod batches;
mod beside;
mod catalog;
mod checkpoints;
mod config;
mod database;
mod dead_letters;
mod deliveries;
mod digest;
mod error;
mod folder;
mod history;
mod keyring;
mod ledger;
mod logs;
mod migrations;
mod mirrors;
mod peers;
mod rotation;
mod schema_changes;
mod scripts;
mod sealing;
mod staged;
mod tags;
mod verifications;
mod write_trials;

pub use batches::{BatchPage, BatchQuery};
pub use catalog::{Catalog, CatalogOptions};
pub use checkpoints::MirrorCheckpoints;
pub use dead_letters::{
    LetterMark, LetterQuery, LetterTrouble, LettersKept, NewLetter, WaitingLetter, letter_digest,
};
pub use error::{CatalogError, FullPlace};
pub use history::TimeUnit;
pub use ledger::MirrorLedger;
pub use logs::{LogPage, LogQuery};
pub use mirrors::{MirrorCreated, MirrorList, MirrorMove, Observed};
pub use peers::{PeerDropped, PeerStored};
pub use rotation::Rotation;
pub use scripts::{NewScript, ScriptDropped, ScriptStored};
pub use staged::{StageLife, StagedEntry};
pub use verifications::VerificationPlanned;
