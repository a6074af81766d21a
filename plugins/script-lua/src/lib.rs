//! The Lua runtime: PUC Lua 5.4 and the rows of a batch, as one guest of the `script` world.
//!
//! A script reads and assigns columns of the packed row itself: a cell is decoded when it is touched,
//! a row that was not changed is copied as it is. Every value is exact in both directions; what a
//! column cannot hold is refused by name, never rounded or replaced.
//!
//! The host compiles a script by running [`runtime::Runtime::load`] inside the guest once and taking a
//! snapshot of its memory (`guest.rs` has the export for it), so that a script starts where its top
//! level ended. The crate opens no file, knows no store, and its guest imports the log and the clock
//! alone.
//!
//! Natively the same code is a library for its tests.

use tarn_script::{current, number};

mod added;
mod assign;
mod bit32;
mod calendar;
mod config;
mod dialect;
mod failure;
mod float_text;
mod json;
mod library;
mod lua;
mod members;
mod message;
mod modules;
mod msgpack;
mod peerdb;
#[cfg(any(test, target_family = "wasm"))]
mod port;
mod read;
mod record;
mod row;
mod runtime;
mod session;
mod shape;
mod values;
mod vocabulary;
mod wrapper;

#[cfg(target_family = "wasm")]
mod guest;

pub use failure::Fault;
pub use runtime::{Applied, Output, Runtime};
pub use session::Host;
pub use tarn_script::rejection::Rejection;
