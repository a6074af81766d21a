//! The command line's client of the API: `tarn peer`, `mirror`, `script`, `logs`, `apply`, `export`.
//!
//! It speaks HTTP to a server like any other client and knows neither sandbox nor catalog, so that it
//! builds in seconds. What it compares and shows are plain values and texts; the only places that talk to
//! a server are `http` and `calls`, the only one that prints is `output`. Invariants: no secret is taken
//! from the command line or shown; a file is read strictly, so that nothing in it is passed over; what a
//! refusal says is said whole, with its remedies.

mod access;
mod address;
mod answer;
mod apply;
mod calls;
mod command;
mod config;
mod describe;
mod error;
mod export;
mod file;
mod http;
mod instance;
mod logs;
mod mirror;
mod output;
mod peer;
mod plan;
mod reference;
mod script;
mod setup;
mod table;

pub use command::{ClientCommand, run};
pub use script::{BuiltScript, ScriptBuilder};
