//! One connection to a server, and what state it is in.

use std::time::Duration;

use bytes::BytesMut;
use postgres_protocol::message::frontend;
use tarn_transport::Stream;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::time::timeout;

use crate::client::Client;
use crate::config::{CLOSE_DEADLINE, STREAM_SILENCE};
use crate::copy::Copy;
use crate::error::Error;
use crate::frame::FrameReader;
use crate::gathering::Gathering;
use crate::heartbeat::Heartbeat;
use crate::walsender::Started;

/// A session with a server. Dropping it closes the connection; [`Connection::close`] says good-bye first
/// and, after a stream, sends the last confirmed position once more.
///
/// It speaks over any stream. The stream is split into halves: this type keeps the reading one, and the
/// writing one until a replication stream starts, which gives it to a task that answers the walsender
/// whether or not anybody reads (see `heartbeat`).
#[derive(Debug)]
pub struct Connection<S = Stream> {
    pub(crate) reader: FrameReader<ReadHalf<S>>,
    pub(crate) writer: Option<WriteHalf<S>>,
    pub(crate) state: State<S>,
    /// Time waited for the stream since its last byte.
    pub(crate) quiet: Duration,
    /// How much of that is no trouble.
    pub(crate) silence_max: Duration,
    /// Opens the sessions that ask about this one, where it is for a stream.
    pub(crate) client: Option<Client>,
    /// The start of the stream's server, by which it is told from others.
    pub(crate) started: Started,
    pub(crate) gathering: Gathering,
    pub(crate) server: Server,
}

/// What the connection is in the middle of.
///
/// ```text
///            query
///           ┌─────┐   copy_out               end of the copy, read
///           └──> Idle ────────> Copying ────────────────────────────> Idle
///                 │ stream
///                 └────────> Streaming          any call ──(its future dropped, or a failure
///                                                           other than the server's)──> Broken
/// ```
#[derive(Debug)]
pub(crate) enum State<S> {
    /// The server waits for a query.
    Idle,
    /// A `COPY … TO STDOUT` runs.
    Copying(Copy),
    /// A walsender sends; the task owns the writing half.
    Streaming(Heartbeat<S>),
    /// A conversation was left in the middle.
    Broken,
}

/// What the server said about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) version: String,
    pub(crate) backend: i32,
    /// Whether the database's encoding is `SQL_ASCII`: text may be any bytes.
    pub(crate) has_any_bytes: bool,
}

impl Server {
    /// The major version, 0 when the text does not say.
    pub(crate) fn major(&self) -> u32 {
        let digits = self.version.bytes().take_while(u8::is_ascii_digit).count();
        self.version[..digits].parse().unwrap_or(0)
    }
}

impl<S> Connection<S> {
    /// The server's version text, such as `15.13 (Debian 15.13-0+deb12u1)`.
    pub fn server_version(&self) -> &str {
        &self.server.version
    }

    /// The process that serves this connection.
    pub fn backend(&self) -> i32 {
        self.server.backend
    }
}

impl<S: AsyncRead + AsyncWrite + Send + 'static> Connection<S> {
    pub(crate) fn new(reader: FrameReader<ReadHalf<S>>, writer: WriteHalf<S>) -> Self {
        Self {
            reader,
            writer: Some(writer),
            state: State::Idle,
            quiet: Duration::ZERO,
            silence_max: STREAM_SILENCE,
            client: None,
            started: Started::default(),
            gathering: Gathering::new(None),
            server: Server::default(),
        }
    }

    /// The same with what is known of its stream, and how its reader is kept asleep.
    pub(crate) fn with_gathering(self, gathering: Gathering) -> Self {
        Self { gathering, ..self }
    }

    /// The same with who opens sessions at its server.
    pub(crate) fn with_client(self, client: Client) -> Self {
        Self { client: Some(client), ..self }
    }

    /// Takes the connection out of idleness. It counts as broken until the call puts it back, so that
    /// a dropped future cannot leave half an answer to the next call.
    pub(crate) fn begin(&mut self) -> Result<(), Error> {
        match std::mem::replace(&mut self.state, State::Broken) {
            State::Idle => Ok(()),
            State::Copying(copy) => {
                self.state = State::Copying(copy);
                Err(Error::State("a copy is not read to its end"))
            }
            State::Streaming(heartbeat) => {
                self.state = State::Streaming(heartbeat);
                Err(Error::State("it streams"))
            }
            State::Broken => Err(Error::State("an earlier call was left in the middle")),
        }
    }

    /// Closes the connection in order: a stream's last confirmed position is sent again, the server is
    /// told, the task has ended when this returns. Whatever fails is passed over, for the connection is
    /// gone afterwards in any case.
    pub async fn close(mut self) {
        let writer = match std::mem::replace(&mut self.state, State::Broken) {
            State::Streaming(heartbeat) => heartbeat.stop().await,
            _ => self.writer.take(),
        };
        let Some(mut writer) = writer else { return };
        let mut message = BytesMut::new();
        frontend::terminate(&mut message);
        let farewell = async {
            writer.write_all(&message).await?;
            writer.shutdown().await
        };
        if !matches!(timeout(CLOSE_DEADLINE, farewell).await, Ok(Ok(()))) {
            tracing::debug!("the connection was gone before it was closed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_the_text() {
        for (version, major) in [("15.13 (Debian 15.13-0)", 15), ("18beta1", 18), ("9.6.1", 9), ("", 0)] {
            let server = Server { version: version.to_owned(), ..Server::default() };
            assert_eq!(server.major(), major);
        }
    }
}
