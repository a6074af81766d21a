//! What the loops do at their edges: stops, deadlines, panics, rejected records, retries.
//!
//! The simulation in `tests/sim` covers that nothing is lost; these tests cover what a person sees.

#![expect(clippy::unwrap_used, reason = "a test that unwraps nothing fails where it should")]

mod fakes;
mod snapshot;
mod stream;
mod supervise;
