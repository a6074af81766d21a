//! The JavaScript runtime: QuickJS-NG and the rows of a batch, as one guest of the `script` world.
//!
//! A script reads and assigns columns of the packed row itself: a cell is decoded when it is touched, a row that
//! was not changed is copied as it is. Every value is exact in both directions; what a column cannot hold is
//! refused by name, never rounded or replaced. What does not depend on the language is `tarn_script`, which the
//! Lua runtime shares.
//!
//! The host compiles a script by running [`Runtime::load`] inside the guest once and taking a snapshot of its
//! memory (`guest.rs` has the export for it), so that a script starts where its top level ended. The crate opens
//! no file, knows no store, and its guest imports the log and the clock alone.
//!
//! Natively the same code is a library for its tests.

mod assign;
mod config;
mod console;
mod failure;
mod js;
mod json;
mod library;
mod mark;
mod message;
mod modules;
mod msgpack;
mod read;
mod record;
mod row;
mod runtime;
mod session;
mod values;
mod vocabulary;

#[cfg(target_family = "wasm")]
mod guest;

pub use console::Level;
pub use failure::Fault;
pub use runtime::{Applied, Output, Runtime};
pub use session::Host;
pub use tarn_script::rejection::Rejection;
