//! What scripts are made of, in every language: records whose cells are decoded when they are touched,
//! values exact in both directions, JSON and MessagePack of rows, and what becomes of a record.
//!
//! The Lua and the JavaScript runtime are this crate with a language in front of it. It knows no language,
//! calls nothing of the host and opens nothing.

pub mod added;
pub mod assign;
pub mod author;
pub mod binding;
pub mod buffer;
pub mod config;
pub mod current;
#[cfg(feature = "fixture")]
pub mod fixture;
pub mod float_text;
pub mod handover;
pub mod interval;
pub mod json;
pub mod moment;
pub mod msgpack;
pub mod number;
pub mod rejection;
pub mod trail;
pub mod transform;
pub mod uuid;
