//! Comparing both sides of a mirror while it runs, row by row, without stopping either.
//!
//! # The argument
//!
//! The source's rows are read at a held point, go through the mirror's script as in a load, and are encoded by
//! the destination's own component, which compares the bytes with what the store holds of their keys. A row
//! that is equal is equal, whenever it was written. One that is not may only be late, so it is a *suspect*:
//!
//! 1. A new point is held, at sequence S. The suspects are read anew at it, by their keys.
//! 2. The mirror's checkpoint passes S: everything that the point sees is durable at the destination.
//! 3. The destination is asked for each key's row as of S. What differs now, and has no later row that could
//!    hide the right one, differs.
//!
//! A commit is in the source's log shortly before others see it, and then the destination may have a row of S
//! that the point lacks; so a difference counts once it was found at two points. A row that has a later one at
//! each look is *unsettled*, unless that later one was there before the point was held: then it is not from
//! the source, and a difference. While the mirror rests nothing can be told about suspects, and the result says
//! so.
//!
//! Rows that only the destination has are found by the numbers of keys: those that the source's rows gave are
//! added up in buckets ([`digest`]), those of the destination's keys as well, and the keys of buckets that
//! differ are looked up at the source. That needs keys that a script leaves as they are.
//!
//! # Its life
//!
//! [`Verifier`] owns every verification under way. Progress is stored with each partition, so that a restart
//! goes on there: a row that moves from a partition that is to come into one that is done meanwhile is still
//! found, because its key's bucket differs.

mod digest;
mod instances;
mod keys;
mod pace;
mod point;
mod request;
mod run;
mod script;
mod search;
mod suspect;
mod table;
mod trial;
mod verifier;

pub use request::VerificationRequest;
pub use verifier::Verifier;
