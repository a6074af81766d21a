//! Records that the scripts or the destination cannot take, and what becomes of them.
//!
//! ```text
//!   source ─> chain: hold back, scripts ─> sieve: hold back, destination
//!                 │ rejected                   │ refused
//!                 └──────────> desk <──────────┘
//!                         SKIP: counts   DEAD_LETTER: keeps
//! ```
//!
//! A dead letter leaves a gap: the destination lacks one change of a row. A later change of the row that says
//! everything makes the gap whole. One that leaves values out (TOAST) would be completed from the row before the
//! gap, with a value that is not the source's any more; so it is held back with the first and becomes a letter
//! too. What a [`book::MirrorBook`] remembers is for that.
//!
//! A record that is delivered again after a crash may be taken this time, by a corrected script: then its letter
//! is withdrawn.

pub(crate) mod book;
pub(crate) mod chain;
mod desk;
mod joined;
mod lanes;
mod letter;
pub(crate) mod link;
pub(crate) mod replay;
pub(crate) mod series;
mod sharing;
pub(crate) mod sieve;

pub(crate) use desk::Desk;
pub(crate) use letter::{shown, without_tables};
