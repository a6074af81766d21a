//! Going slowly enough that nobody else notices.

use std::time::Duration;

use tokio::time::Instant;

use crate::config::VERIFY_BYTES_PER_SECOND_MAX;

/// Lets so many bytes through in a second, on average since the last rest.
#[derive(Debug)]
pub(super) struct Pace {
    /// When everything that was let through has had its time.
    due: Instant,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { due: Instant::now() }
    }

    /// Notes bytes, and returns when it is time for more.
    pub(super) async fn take(&mut self, bytes: u64) {
        let time = Duration::from_secs_f64(bytes as f64 / VERIFY_BYTES_PER_SECOND_MAX as f64);
        // Time that went by unused is not saved up: a burst would be noticed.
        self.due = self.due.max(Instant::now()) + time;
        // The time to work on what was taken counts.
        tokio::time::sleep_until(self.due - time).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn bytes_take_their_time_and_a_rest_earns_no_burst() {
        let began = Instant::now();
        let mut pace = Pace::new();
        tokio::time::advance(Duration::from_secs(60)).await;
        for _ in 0..11 {
            pace.take(VERIFY_BYTES_PER_SECOND_MAX / 2).await;
        }
        let took = began.elapsed() - Duration::from_secs(60);
        assert!((4_990..=5_100).contains(&took.as_millis()), "{took:?}");
    }
}
