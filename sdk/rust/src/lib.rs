//! What the author of a Tarn plugin imports.
//!
//! A plugin is a type that implements [`Source`], [`Destination`] or [`Script`], and one line:
//!
//! ```
//! use tarn_sdk::{Failure, Outcome, Script, ScriptSettings};
//!
//! struct Unchanged;
//!
//! impl Script for Unchanged {
//!     fn describe() -> String {
//!         r#"{"entryPoints": []}"#.to_owned()
//!     }
//!
//!     fn open(_settings: ScriptSettings) -> Result<Self, Failure> {
//!         Ok(Self)
//!     }
//!
//!     fn apply(&mut self, batch: Vec<u8>) -> Result<Outcome, Failure> {
//!         let rows = tarn_sdk::batch::Batch::parse(&batch)?.row_count();
//!         Ok(Outcome { batch, rows, dropped: 0, rejected: Vec::new() })
//!     }
//! }
//!
//! tarn_sdk::export_script!(Unchanged);
//! ```
//!
//! Built for `wasm32-unknown-unknown`, that is a plugin; built natively, it is a library whose logic
//! ordinary unit tests reach. `wit/README.md` has the whole way.
//!
//! The crate is the contract `wit/v0.1` in Rust and nothing else: a plugin that needs a host function
//! calls it here ([`log`], [`clock`], [`postgres`], [`clickhouse`], [`kafka`], [`spool`]) and imports it by that, and a
//! function that it does not call is not imported. Batches move across as the bytes they are.

#[doc(hidden)]
pub mod bindings;
pub mod clickhouse;
pub mod clock;
pub mod inspection;
#[doc(hidden)]
pub mod instance;
pub mod kafka;
pub mod log;
pub mod postgres;
pub mod spool;
pub mod sql;

mod comparison;
mod config;
mod description;
mod destination;
mod export;
mod failure;
mod lookup;
mod parts;
mod preview;
mod replacement;
mod script;
mod source;

pub use comparison::{Compare, Compared, Finding, KeyPage, Outcome as ComparisonOutcome};
pub use config::{
    Deletes, DestinationColumn, DestinationConfig, DestinationTable, ExistingRows, Output, QueueConfig,
    Relations, Rereads, ScriptSettings, ScriptTable, SourceConfig, SourceTable, UsualTypes,
};
pub use description::{Description, Fill};
pub use destination::{Ack, Destination};
pub use failure::{Failure, FailureClass, Problem};
pub use inspection::Inspect;
pub use lookup::Lookup;
pub use parts::LoadParts;
pub use preview::{PlanStep, Preview, StepKind, TablePlan};
pub use replacement::Replace;
pub use script::{Outcome, Rejection, Script};
pub use source::{Changes, Limits, Snapshot, Source};

/// The record batch: reading and writing what crosses between host and plugin.
pub use tarn_batch as batch;

/// The examples of `wit/README.md` are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../wit/README.md")]
struct Readme;
