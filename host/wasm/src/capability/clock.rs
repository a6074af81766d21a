//! The capability `clock`.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::bindings::tarn::plugin::clock::Host;
use crate::state::State;

/// What `monotonic` counts from.
static START: OnceLock<Instant> = OnceLock::new();

impl Host for State {
    fn now(&mut self) -> wasmtime::Result<i64> {
        self.meter.count_host_call()?;
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        // A machine whose clock stands before 1970 counts as at 1970.
        Ok(since_epoch.map_or(0, |time| i64::try_from(time.as_micros()).unwrap_or(i64::MAX)))
    }

    fn monotonic(&mut self) -> wasmtime::Result<u64> {
        self.meter.count_host_call()?;
        let start = *START.get_or_init(Instant::now);
        Ok(u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX))
    }
}
