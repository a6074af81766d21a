//! An observer that holds the loop to what it tells.

use std::sync::{Arc, Mutex};

use tarn_replication::{Notice, Observer};

use crate::world::World;

/// A read's bound is on rows; the columns it brings along come on top.
const SCHEMA_BYTES: u64 = 64;

/// See the module's documentation.
pub struct Watch {
    world: Arc<World>,
    window_bytes_max: u64,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    begun: u64,
    ended: u64,
    /// Failures told that no recovery was told of.
    failures: u32,
}

impl Watch {
    /// Watches a life whose window holds so much.
    pub fn new(world: &Arc<World>, window_bytes_max: u64) -> Self {
        Self { world: Arc::clone(world), window_bytes_max, seen: Mutex::default() }
    }
}

impl Observer for Watch {
    fn notice(&self, notice: Notice<'_>) {
        let mut seen = self.seen.lock().expect("no panic inside");
        match notice {
            Notice::Progress { watermarks, window_bytes, .. } => {
                let w = watermarks;
                if !(w.read >= w.written
                    && w.written >= w.durable
                    && w.durable >= w.checkpointed
                    && w.checkpointed >= w.confirmed)
                {
                    self.world.violation(format!("told {w:?}"));
                }
                if window_bytes > self.window_bytes_max + SCHEMA_BYTES {
                    self.world.violation(format!("the window holds {window_bytes} bytes"));
                }
            }
            Notice::BatchBegun { number, .. } => seen.begun = number,
            Notice::BatchEnded(record) => {
                if record.number > seen.begun || record.number <= seen.ended {
                    let (begun, ended) = (seen.begun, seen.ended);
                    self.world.violation(format!("batch {record:?} ended after {ended}, begun {begun}"));
                }
                seen.ended = record.number;
            }
            Notice::Retrying { .. } => {
                seen.failures += 1;
                seen.ended = 0; // the next life may number again what did not end
            }
            Notice::Recovered { attempts, .. } => {
                if attempts > seen.failures {
                    self.world
                        .violation(format!("recovered from {attempts} failures, {} told", seen.failures));
                }
                seen.failures = seen.failures.saturating_sub(attempts);
            }
            _ => {}
        }
    }
}
