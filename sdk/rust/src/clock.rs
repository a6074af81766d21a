//! Capability `clock`. Natively, in a plugin's own tests, it is the machine's.

#[cfg(target_family = "wasm")]
pub use crate::bindings::imports::tarn::plugin::clock::{monotonic, now};

#[cfg(not(target_family = "wasm"))]
pub use native::{monotonic, now};

#[cfg(not(target_family = "wasm"))]
mod native {
    use std::sync::OnceLock;
    use std::time::{Instant, SystemTime, UNIX_EPOCH};

    /// Microseconds since 1970-01-01 UTC.
    pub fn now() -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    }

    /// Microseconds that only grow, from an arbitrary start.
    pub fn monotonic() -> u64 {
        static START: OnceLock<Instant> = OnceLock::new();
        u64::try_from(START.get_or_init(Instant::now).elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
