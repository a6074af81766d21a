//! Trying out scripts: records as people write them, what a script made of them, and cases that say what
//! it should make. `examples/scripts/README.md` describes the form of records and cases for their authors.
//!
//! The crate turns text into batches and batches into text; it runs no script. Invariants: a value goes in
//! and comes out exactly, to the digit; what does not fit its column is a mistake that names its place.

pub mod config;

mod case;
mod cell;
mod column;
mod image;
mod infer;
mod json;
mod mistake;
mod record;
mod shown;

pub use case::{Case, Made, Suite, Verdict};
pub use column::column;
pub use json::Json;
pub use mistake::Mistake;
pub use record::{Kind, Record, batches};
pub use shown::{Outcome, Shown, ShownMessage, given, outcome};
