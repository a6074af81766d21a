//! The task that keeps a walsender satisfied.
//!
//! A walsender ends a connection that is silent for `wal_sender_timeout`, also while the host is busy
//! with the destination and reads nothing. So the writing half of a streaming connection belongs to a
//! task of its own, which sends the last confirmed position when it changes, when the server asks, and
//! every ten seconds; reading never waits for writing. Each status asks the server for an answer, so that
//! a reader can tell a quiet server from a dead connection.
//!
//! The connection owns the task: [`Heartbeat::stop`] lets it send the last status and awaits it, a drop
//! aborts it (and with it ends the connection).

use std::time::{Duration, SystemTime};

use bytes::{BufMut, BytesMut};
use tokio::io::{self, AsyncWrite, AsyncWriteExt, WriteHalf};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::config::{CLOSE_DEADLINE, STALL, STATUS_INTERVAL};
use crate::error::Error;

/// Seconds from 1970 to 2000, where the server's clock starts.
const SERVER_EPOCH: Duration = Duration::from_secs(946_684_800);

/// How far a stream was written, made durable and applied: log sequence numbers, 0 before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) written: u64,
    pub(crate) flushed: u64,
    pub(crate) applied: u64,
}

/// What the task is told.
#[derive(Clone, Copy, Debug, Default)]
struct Orders {
    progress: Progress,
    stop: bool,
}

/// The handle of the task.
#[derive(Debug)]
pub(crate) struct Heartbeat<S> {
    orders: watch::Sender<Orders>,
    task: JoinHandle<io::Result<WriteHalf<S>>>,
}

impl<S: AsyncWrite + Send + 'static> Heartbeat<S> {
    /// Gives the writing half to a task of its own.
    pub(crate) fn start(writer: WriteHalf<S>) -> Self {
        let (orders, received) = watch::channel(Orders::default());
        Self { orders, task: tokio::spawn(beat(writer, received)) }
    }

    /// Sends a new progress at once.
    pub(crate) fn confirm(&self, progress: Progress) {
        self.orders.send_modify(|orders| orders.progress = progress);
    }

    /// Sends the last progress again at once.
    pub(crate) fn repeat(&self) {
        self.orders.send_modify(|_| {});
    }

    /// Why the task ended, if it has.
    pub(crate) async fn check(&mut self) -> Result<(), Error> {
        if !self.task.is_finished() {
            return Ok(());
        }
        let source = match (&mut self.task).await {
            Ok(Ok(_)) => io::Error::other("the status task was stopped"),
            Ok(Err(error)) => error,
            Err(error) => io::Error::other(error),
        };
        Err(Error::Lost { doing: "sending a status", source })
    }

    /// Sends the last progress again and ends the task; the writing half, unless it failed.
    pub(crate) async fn stop(mut self) -> Option<WriteHalf<S>> {
        self.orders.send_modify(|orders| orders.stop = true);
        match timeout(CLOSE_DEADLINE, &mut self.task).await {
            Ok(Ok(Ok(writer))) => Some(writer),
            Ok(_) => None,
            Err(_) => {
                self.task.abort();
                // An aborted task ends at its next wait; its result is the cancellation.
                let _ = (&mut self.task).await;
                None
            }
        }
    }
}

impl<S> Drop for Heartbeat<S> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn beat<S: AsyncWrite>(
    mut writer: WriteHalf<S>,
    mut orders: watch::Receiver<Orders>,
) -> io::Result<WriteHalf<S>> {
    let mut due = Instant::now();
    loop {
        tokio::select! {
            // Both are cancel-safe: a change that is not seen now is seen in the next turn.
            changed = orders.changed() => {
                if changed.is_err() {
                    return Ok(writer);
                }
            }
            () = tokio::time::sleep_until(due) => {}
        }
        let Orders { progress, stop } = *orders.borrow_and_update();
        let message = status(progress, SystemTime::now());
        let written = timeout(STALL, async {
            writer.write_all(&message).await?;
            writer.flush().await
        });
        written.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        if stop {
            return Ok(writer);
        }
        due = Instant::now() + STATUS_INTERVAL;
    }
}

/// A standby status update that asks for an answer, in its CopyData frame.
fn status(progress: Progress, now: SystemTime) -> BytesMut {
    const BODY_BYTES: u32 = 1 + 8 + 8 + 8 + 8 + 1;
    let clock = now.duration_since(SystemTime::UNIX_EPOCH + SERVER_EPOCH).unwrap_or_default();
    let mut message = BytesMut::with_capacity(5 + BODY_BYTES as usize);
    message.put_u8(b'd');
    message.put_u32(4 + BODY_BYTES);
    message.put_u8(b'r');
    message.put_u64(progress.written);
    message.put_u64(progress.flushed);
    message.put_u64(progress.applied);
    message.put_i64(i64::try_from(clock.as_micros()).unwrap_or(i64::MAX));
    message.put_u8(1);
    message
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, DuplexStream};

    use super::*;

    const FRAME_BYTES: usize = 39;

    async fn flushed(server: &mut DuplexStream) -> u64 {
        let mut frame = [0; FRAME_BYTES];
        server.read_exact(&mut frame).await.expect("a status");
        assert_eq!((frame[0], frame[5], frame[FRAME_BYTES - 1]), (b'd', b'r', 1));
        u64::from_be_bytes(frame[14..22].try_into().expect("eight bytes"))
    }

    #[test]
    fn a_status_holds_the_three_positions_and_the_servers_clock() {
        let now = SystemTime::UNIX_EPOCH + SERVER_EPOCH + Duration::from_micros(7);
        let message = status(Progress { written: 3, flushed: 2, applied: 1 }, now);
        assert_eq!(
            &message[..],
            [
                &b"d\0\0\0\x26r"[..],
                &[0, 0, 0, 0, 0, 0, 0, 3],
                &[0, 0, 0, 0, 0, 0, 0, 2],
                &[0, 0, 0, 0, 0, 0, 0, 1],
                &[0, 0, 0, 0, 0, 0, 0, 7],
                &[1]
            ]
            .concat()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_progress_is_repeated_while_nobody_does_anything() {
        let (client, mut server) = tokio::io::duplex(1024);
        let (_reader, writer) = tokio::io::split(client);
        let heartbeat = Heartbeat::start(writer);
        assert_eq!(flushed(&mut server).await, 0);
        heartbeat.confirm(Progress { written: 9, flushed: 8, applied: 8 });
        let confirmed = Instant::now();
        assert_eq!(flushed(&mut server).await, 8);
        assert_eq!(confirmed.elapsed(), Duration::ZERO);
        for _ in 0..3 {
            assert_eq!(flushed(&mut server).await, 8);
        }
        assert_eq!(confirmed.elapsed(), 3 * STATUS_INTERVAL);
    }

    #[tokio::test]
    async fn stopping_sends_the_last_progress_and_gives_the_half_back() {
        let (client, mut server) = tokio::io::duplex(1024);
        let (_reader, writer) = tokio::io::split(client);
        let heartbeat = Heartbeat::start(writer);
        heartbeat.confirm(Progress { written: 9, flushed: 8, applied: 8 });
        assert!(heartbeat.stop().await.is_some());
        let mut last = 0;
        let mut frame = [0; FRAME_BYTES];
        while server.read_exact(&mut frame).await.is_ok() {
            last = frame[21];
            if last == 8 {
                break;
            }
        }
        assert_eq!(last, 8);
    }

    #[tokio::test]
    async fn a_drop_ends_the_task() {
        let (client, server) = tokio::io::duplex(1024);
        let (reader, writer) = tokio::io::split(client);
        drop((Heartbeat::start(writer), reader));
        let mut server = server;
        let mut rest = Vec::new();
        server.read_to_end(&mut rest).await.expect("the other side is closed");
    }

    #[tokio::test]
    async fn a_broken_connection_is_reported() {
        let (client, server) = tokio::io::duplex(1024);
        let (_reader, writer) = tokio::io::split(client);
        let mut heartbeat = Heartbeat::start(writer);
        drop(server);
        heartbeat.repeat();
        let error = loop {
            match heartbeat.check().await {
                Ok(()) => tokio::task::yield_now().await,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::Lost { .. }));
    }
}
