//! A seeded simulation of the loop: everything it waits for is a model, time is paused, and the order of
//! events is the seed's.
//!
//! The product's own `stream`, `snapshot`, `supervise` and machine run against a source that cuts batches
//! inside transactions, disconnects and sends again, a destination that fails before, in and after a write
//! or restarts and loses what was not durable, and a catalog that fails before and after a commit. The
//! process dies at any step of any call. What is held against the loop:
//!
//! - in the end both sides are equal, whatever happened;
//! - nothing is checkpointed that is not durable, nothing confirmed that is not checkpointed;
//! - every record that the script rejects is kept before a position, or a load's end, passes it, and is nowhere
//!   else;
//! - rows come after their columns, batches keep their bounds, memory keeps its window;
//! - it gets there: a run that stands still fails.
//!
//! A planted bug (see [`mutant::Mutant`]) shows for each of these that its breach is seen.

pub mod catalog;
pub mod database;
pub mod destination;
pub mod letters;
pub mod loader;
pub mod machine_bench;
pub mod memory;
pub mod mirror;
pub mod mutant;
pub mod random;
pub mod row;
pub mod script;
pub mod seeds;
pub mod shelf;
pub mod source;
pub mod store;
pub mod storm;
pub mod watch;
pub mod world;

use std::future::Future;

/// Runs a future with paused time on one thread: nothing but the seed decides what happens.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime")
        .block_on(future)
}
