//! Waiting for a condition under a deadline.

use std::time::{Duration, Instant};

use crate::config::{POLL_INTERVAL, WAIT_DEADLINE};

/// Waits until `look` gives a value and returns it. Panics after a minute, naming `what`.
#[track_caller]
pub fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    until_within(WAIT_DEADLINE, what, look)
}

/// Waits until `look` gives a value and returns it. Panics after `deadline`, naming `what`.
#[track_caller]
pub fn until_within<T>(deadline: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = look() {
            return value;
        }
        assert!(start.elapsed() < deadline, "waited {deadline:?} in vain for: {what}");
        std::thread::sleep(POLL_INTERVAL);
    }
}
