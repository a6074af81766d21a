//! When a read of a stream or a copy waits for more than a first message.
//!
//! A walsender sends every change by itself, a copy is sent by 8 KiB, and a reader that is woken for each
//! spends more on waking and on handing over than on what comes. So while messages come densely, a read stays asleep until a good
//! load of them is there, for a few milliseconds at most. A stream that is not dense is never waited on:
//! its messages are handed over the moment they come.

use tarn_transport::LowWater;
use tokio::time::{Duration, Instant};

use crate::config::{DENSE_MESSAGES_PER_MS, GATHER_BYTES, GATHER_DEADLINE};

/// How dense the stream is, and the mark that keeps its reader asleep.
#[derive(Debug)]
pub(crate) struct Gathering {
    low_water: Option<LowWater>,
    /// When messages were counted last.
    counted: Instant,
    /// Messages since then.
    messages: u32,
    is_dense: bool,
    is_asleep: bool,
}

impl Gathering {
    /// Nothing is known of the stream yet. Without a mark, it is never waited on.
    pub(crate) fn new(low_water: Option<LowWater>) -> Self {
        Self { low_water, counted: Instant::now(), messages: 0, is_dense: false, is_asleep: false }
    }

    /// Counts messages that were taken.
    pub(crate) fn count(&mut self, messages: u32) {
        self.messages = self.messages.saturating_add(messages);
    }

    /// Until when a read that begins now stays asleep below [`GATHER_BYTES`]; not at all where the stream is
    /// not dense.
    pub(crate) fn begin(&mut self, now: Instant) -> Option<Instant> {
        let elapsed = now.saturating_duration_since(self.counted);
        if elapsed >= Duration::from_millis(1) {
            self.is_dense =
                u128::from(self.messages) >= elapsed.as_millis() * u128::from(DENSE_MESSAGES_PER_MS);
            (self.counted, self.messages) = (now, 0);
        }
        if !self.is_dense || !self.set(GATHER_BYTES) {
            self.end();
            return None;
        }
        self.is_asleep = true;
        Some(now + GATHER_DEADLINE)
    }

    /// Whether a reader is kept asleep below [`GATHER_BYTES`].
    pub(crate) fn is_asleep(&self) -> bool {
        self.is_asleep
    }

    /// Readers are woken by anything again.
    pub(crate) fn end(&mut self) {
        self.is_asleep = false;
        self.set(1);
    }

    /// Sets the mark; whether that was possible.
    fn set(&mut self, bytes: usize) -> bool {
        let set = self.low_water.as_mut().is_some_and(|low_water| low_water.set(bytes).is_ok());
        if !set {
            // A mark that cannot be set is done without.
            self.low_water = None;
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use tarn_transport::{CONNECT_DEADLINE, connect};

    use super::*;

    async fn gathering() -> Gathering {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let stream = connect("127.0.0.1", port, CONNECT_DEADLINE).await.expect("somebody listens");
        Gathering::new(stream.low_water())
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn only_a_dense_stream_is_waited_on() {
        let mut gathering = gathering().await;
        let mut now = Instant::now();
        assert_eq!(gathering.begin(now), None);
        // A second of single messages, then some milliseconds of many, then single ones again.
        for (step, messages, is_dense) in [(100, 1, false), (2, 1000, true), (2, 1000, true), (2, 1, false)] {
            gathering.count(messages);
            now += Duration::from_millis(step);
            assert_eq!(gathering.begin(now).is_some(), is_dense, "{messages} in {step} ms");
        }
    }

    #[tokio::test]
    async fn a_large_transaction_after_silence_is_not_yet_a_dense_stream() {
        let mut gathering = gathering().await;
        gathering.count(500);
        let now = Instant::now() + Duration::from_millis(400);
        assert_eq!(gathering.begin(now), None);
    }

    #[tokio::test]
    async fn a_stream_without_a_mark_is_never_waited_on() {
        let mut gathering = Gathering::new(None);
        gathering.count(1_000_000);
        let now = Instant::now() + Duration::from_millis(2);
        assert_eq!(gathering.begin(now), None);
    }
}
