//! The TCP connection below an SSH session: it rests while the inbox is full, and notices a server that is
//! silent although it was asked.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::inbox::Inbox;
use crate::config::SSH_SILENCE;

pub(super) struct Socket<S> {
    stream: S,
    inbox: Arc<Inbox>,
    /// Ends when the server was silent for too long. Keepalives ask it for an answer meanwhile.
    silence: Pin<Box<Sleep>>,
    /// Whether the time is to be counted anew: something arrived, or nothing was read for a while.
    heard: bool,
}

impl<S> Socket<S> {
    pub(super) fn new(stream: S, inbox: &Arc<Inbox>) -> Self {
        Self { stream, inbox: Arc::clone(inbox), silence: Box::pin(sleep(SSH_SILENCE)), heard: true }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Socket<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match this.inbox.poll_room(cx) {
            Poll::Ready(room) => room?,
            Poll::Pending => {
                this.heard = true;
                return Poll::Pending;
            }
        }
        if let Poll::Ready(outcome) = Pin::new(&mut this.stream).poll_read(cx, buf) {
            this.heard = true;
            return Poll::Ready(outcome);
        }
        if std::mem::take(&mut this.heard) {
            this.silence.as_mut().reset(Instant::now() + SSH_SILENCE);
        }
        ready!(this.silence.as_mut().poll(cx));
        let text = format!("the server said nothing for {} s", SSH_SILENCE.as_secs());
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, text)))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Socket<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::{advance, timeout};

    use super::super::inbox::Abandon;
    use super::*;
    use crate::config::SSH_INBOX_BYTES_MAX;

    const MOMENT: Duration = Duration::from_millis(1);

    async fn taken(inbox: &Inbox, bytes: usize) {
        let mut buffer = vec![0; bytes];
        let mut buffer = ReadBuf::new(&mut buffer);
        std::future::poll_fn(|cx| inbox.poll_take(cx, &mut buffer)).await.expect("something is there");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_silent_for_a_minute_is_gone() {
        let inbox = Arc::new(Inbox::new("jump:22"));
        let (mut server, ours) = duplex(64);
        let mut socket = Socket::new(ours, &inbox);
        for _ in 0..3 {
            let nearly = SSH_SILENCE - Duration::from_secs(1);
            assert!(timeout(nearly, socket.read_u8()).await.is_err(), "it may be silent for so long");
            server.write_u8(1).await.expect("room");
            socket.read_u8().await.expect("a byte");
        }
        let error =
            timeout(SSH_SILENCE + MOMENT, socket.read_u8()).await.expect("an end").expect_err("silence");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_read_while_the_inbox_is_full_and_that_is_no_silence() {
        let inbox = Arc::new(Inbox::new("jump:22"));
        let (mut server, ours) = duplex(64);
        let mut socket = Socket::new(ours, &inbox);
        inbox.put(&vec![0; SSH_INBOX_BYTES_MAX]);
        server.write_u8(1).await.expect("room");
        assert!(timeout(SSH_SILENCE * 3, socket.read_u8()).await.is_err(), "it rests");
        taken(&inbox, SSH_INBOX_BYTES_MAX).await;
        socket.read_u8().await.expect("a byte");
        advance(SSH_SILENCE - MOMENT).await;
        assert!(timeout(Duration::ZERO, socket.read_u8()).await.is_err(), "the minute begins anew");
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_was_given_up_ends_while_it_waits() {
        let inbox = Arc::new(Inbox::new("jump:22"));
        let (_server, ours) = duplex(64);
        let mut socket = Socket::new(ours, &inbox);
        let abandon = Abandon::of(&inbox);
        let waiting = async { timeout(Duration::from_secs(1), socket.read_u8()).await };
        let (outcome, ()) = tokio::join!(waiting, async {
            tokio::task::yield_now().await;
            drop(abandon);
        });
        let error = outcome.expect("an end at once").expect_err("given up");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
    }
}
