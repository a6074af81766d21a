//! The replication stream: `START_REPLICATION` and what follows.

use std::time::Duration;

use postgres_protocol::message::backend;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout_at};

use crate::config::GATHER_BYTES;
use crate::connection::{Connection, State};
use crate::error::Error;
use crate::heartbeat::{Heartbeat, Progress};
use crate::server_error::ServerError;
use crate::walsender::Walsender;

const DOING: &str = "reading the stream";
const NOT_A_STREAM: Error = Error::State("the command is not START_REPLICATION");
const NO_STREAM: Error = Error::State("no stream runs");

/// `CopyBothResponse`, which the message library does not know.
const COPY_BOTH_RESPONSE_TAG: u8 = b'W';

/// Where a keepalive message asks for an answer: after `k`, a position and a time.
const KEEPALIVE_REPLY: usize = 17;

impl<S: AsyncRead + AsyncWrite + Send + 'static> Connection<S> {
    /// Starts a `START_REPLICATION`. From now on the connection only streams.
    ///
    /// # Errors
    /// [`Error::Server`] after which the connection serves on; any other ends it.
    pub async fn stream(&mut self, command: &str) -> Result<(), Error> {
        if self.client.is_some() {
            self.started = self.started().await?;
        }
        let mut answer = self.ask(command, "starting the stream").await?;
        match self.next(&mut answer).await? {
            Some(frame) if frame.tag == COPY_BOTH_RESPONSE_TAG => {
                let writer = self.writer.take().ok_or(NO_STREAM)?;
                self.quiet = Duration::ZERO;
                self.state = State::Streaming(Heartbeat::start(writer));
                Ok(())
            }
            Some(_) => Err(NOT_A_STREAM),
            None => self.settle(answer).and(Err(NOT_A_STREAM)),
        }
    }

    /// The next messages, each as a big-endian u32 length and the payload, up to about `bytes_max`
    /// (a larger message comes alone). Waits up to `wait` for a first one, takes with it what has
    /// arrived, and returns; empty when nothing came. While messages come densely, it sleeps for a good
    /// load of them, a few milliseconds at most. Keepalives are answered here and handed over too.
    ///
    /// # Errors
    /// Any ends the stream; so does the server's warning that it passes changes over.
    pub async fn stream_read(&mut self, bytes_max: usize, wait: Duration) -> Result<Vec<u8>, Error> {
        match std::mem::replace(&mut self.state, State::Broken) {
            State::Streaming(mut heartbeat) => {
                heartbeat.check().await?;
                let messages = self.read_messages(&heartbeat, bytes_max, wait).await?;
                self.state = State::Streaming(heartbeat);
                Ok(messages)
            }
            state => {
                self.state = state;
                Err(NO_STREAM)
            }
        }
    }

    /// Tells the server, now and from now on, how far the stream was written, made durable and applied.
    ///
    /// # Errors
    /// The one that ended the stream.
    pub async fn stream_confirm(&mut self, written: u64, flushed: u64, applied: u64) -> Result<(), Error> {
        match &mut self.state {
            State::Streaming(heartbeat) => {
                heartbeat.check().await?;
                heartbeat.confirm(Progress { written, flushed, applied });
                Ok(())
            }
            _ => Err(NO_STREAM),
        }
    }

    async fn read_messages(
        &mut self,
        heartbeat: &Heartbeat<S>,
        bytes_max: usize,
        wait: Duration,
    ) -> Result<Vec<u8>, Error> {
        let started = Instant::now();
        let mut asleep_until = self.gathering.begin(started);
        let mut messages = Vec::with_capacity(bytes_max.min(self.reader.buffered().len()));
        loop {
            let taken = self.take_messages(heartbeat, &mut messages, bytes_max)?;
            self.gathering.count(taken);
            if messages.len() >= bytes_max || asleep_until.is_some() && messages.len() >= GATHER_BYTES {
                break;
            }
            if let Some(head) = self.reader.head()?
                && head.exceeds_buffer()
                && head.tag == backend::COPY_DATA_TAG
            {
                if messages.is_empty() {
                    self.take_large(&mut messages).await?;
                }
                break;
            }
            let lost = |source| Error::Lost { doing: DOING, source };
            if let Some(until) = asleep_until {
                match timeout_at(until, self.reader.fill()).await {
                    Ok(read) => {
                        read.map_err(lost)?;
                        self.quiet = Duration::ZERO;
                    }
                    Err(_) => {
                        self.gathering.end();
                        asleep_until = None;
                    }
                }
                continue;
            }
            if !messages.is_empty() {
                match self.reader.fill_now().await.map_err(lost)? {
                    Some(_) => continue,
                    None => break,
                }
            }
            match timeout_at(started + wait, self.reader.fill()).await {
                Ok(read) => {
                    read.map_err(lost)?;
                    self.quiet = Duration::ZERO;
                }
                Err(_) => {
                    // What came while the server was asked is taken by the next read.
                    self.notice_silence(started.elapsed()).await?;
                    break;
                }
            }
        }
        Ok(messages)
    }

    /// Appends the messages that have arrived whole; how many.
    fn take_messages(
        &mut self,
        heartbeat: &Heartbeat<S>,
        messages: &mut Vec<u8>,
        bytes_max: usize,
    ) -> Result<u32, Error> {
        let mut taken = 0;
        while messages.len() < bytes_max {
            let Some((head, bytes)) = self.reader.whole()? else { break };
            match head.tag {
                backend::COPY_DATA_TAG => {
                    let at = messages.len();
                    // The frame's length field becomes the message's: it does not count itself.
                    messages.extend_from_slice(bytes);
                    messages[at..at + 4].copy_from_slice(&length(head.body_bytes));
                    if bytes.get(4) == Some(&b'k') && bytes.get(4 + KEEPALIVE_REPLY) == Some(&1) {
                        heartbeat.repeat();
                    }
                }
                backend::ERROR_RESPONSE_TAG => return Err(ServerError::parse(&bytes[4..]).into()),
                backend::NOTICE_RESPONSE_TAG => {
                    if let Some(warning) = ServerError::of_skipping(&bytes[4..]) {
                        return Err(warning.into());
                    }
                }
                backend::PARAMETER_STATUS_TAG => {}
                backend::COPY_DONE_TAG | backend::COMMAND_COMPLETE_TAG => {
                    let source = std::io::Error::other("the server ended the stream");
                    return Err(Error::Lost { doing: DOING, source });
                }
                tag => return Err(Error::Protocol(format!("tag {tag:#04x} in a stream"))),
            }
            self.reader.skip(head);
            taken += 1;
        }
        Ok(taken)
    }

    async fn take_large(&mut self, messages: &mut Vec<u8>) -> Result<(), Error> {
        // The end of a message is smaller than any load.
        self.gathering.end();
        if let Some(head) = self.reader.head()? {
            messages.extend_from_slice(&length(head.body_bytes));
            self.reader.take_body(head, messages, DOING).await?;
        }
        Ok(())
    }

    /// Counts the time that was waited in vain since the last byte. Where it is long, the walsender has to be at work.
    async fn notice_silence(&mut self, waited: Duration) -> Result<(), Error> {
        self.quiet += waited;
        if self.quiet < self.silence_max || self.walsender_works().await {
            return Ok(());
        }
        // It may have ended its work while the server was asked.
        let arrived = self.reader.fill_now().await;
        match arrived.map_err(|source| Error::Lost { doing: DOING, source })? {
            Some(_) => {
                self.quiet = Duration::ZERO;
                Ok(())
            }
            None => Err(Error::TimedOut {
                doing: "waiting for any sign of the server",
                deadline: self.silence_max,
            }),
        }
    }

    /// Whether the walsender is known to be at work; the time of silence then begins anew.
    async fn walsender_works(&mut self) -> bool {
        let Some(client) = &self.client else { return false };
        let backend = self.server.backend;
        // A session that is opened is large, and rarely so.
        match Box::pin(client.walsender(backend, &self.started)).await {
            Ok(Walsender::Works) => {
                tracing::info!(backend, "the walsender is silent, and at work on what it has not sent yet");
                self.quiet = Duration::ZERO;
                true
            }
            Ok(state) => {
                tracing::info!(backend, ?state, "the walsender is silent, and not at work");
                false
            }
            Err(error) => {
                tracing::warn!(backend, error = error.chain(), "nobody tells why the walsender is silent");
                false
            }
        }
    }
}

fn length(body_bytes: usize) -> [u8; 4] {
    u32::try_from(body_bytes).expect("a frame's length is 31 bits").to_be_bytes()
}
