//! `COPY … TO STDOUT`.

use postgres_protocol::message::backend;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout};

use crate::config::{COPY_SILENCE, GATHER_DEADLINE};
use crate::connection::{Connection, State};
use crate::error::Error;
use crate::query::Answer;

/// How far a copy is.
#[derive(Debug)]
pub(crate) enum Copy {
    /// The server sends rows.
    Rows(Answer),
    /// The server is done; the reader was not told yet.
    Done,
}

const DOING: &str = "reading a copy";
const NOT_A_COPY: Error = Error::State("the statement is not COPY … TO STDOUT");

impl<S: AsyncRead + AsyncWrite + Send + 'static> Connection<S> {
    /// Starts a `COPY … TO STDOUT`; [`Self::copy_read`] it to its end.
    ///
    /// # Errors
    /// [`Error::Server`] after which the connection serves on; any other ends it.
    pub async fn copy_out(&mut self, sql: &str) -> Result<(), Error> {
        let mut answer = self.ask(sql, DOING).await?;
        match self.next(&mut answer).await? {
            Some(frame) if frame.tag == backend::COPY_OUT_RESPONSE_TAG => {
                self.state = State::Copying(Copy::Rows(answer));
                Ok(())
            }
            Some(_) => Err(NOT_A_COPY),
            None => self.settle(answer).and(Err(NOT_A_COPY)),
        }
    }

    /// The next CopyData payloads, one after another and whole, until `bytes_max` is reached; empty at
    /// the end of the copy, after which the connection takes queries again.
    ///
    /// # Errors
    /// [`Error::Server`] after which the connection serves on; any other ends it.
    pub async fn copy_read(&mut self, bytes_max: usize) -> Result<Vec<u8>, Error> {
        match std::mem::replace(&mut self.state, State::Broken) {
            State::Copying(Copy::Rows(answer)) => self.read_rows(answer, bytes_max).await,
            State::Copying(Copy::Done) => {
                self.state = State::Idle;
                Ok(Vec::new())
            }
            state => {
                self.state = state;
                Err(Error::State("no copy runs"))
            }
        }
    }

    async fn read_rows(&mut self, mut answer: Answer, bytes_max: usize) -> Result<Vec<u8>, Error> {
        let mut rows = Vec::with_capacity(bytes_max.min(self.reader.buffered().len().max(1 << 16)));
        self.gathering.begin(Instant::now());
        loop {
            let taken = self.take_rows(&mut rows, bytes_max)?;
            self.gathering.count(taken);
            if rows.len() >= bytes_max {
                break;
            }
            answer.deadline = Instant::now() + COPY_SILENCE;
            let head = self.reader.head()?;
            if head.is_some_and(|head| head.tag != backend::COPY_DATA_TAG || head.exceeds_buffer()) {
                // The end of a copy, and of a large row, is smaller than any load.
                self.gathering.end();
            }
            match head {
                Some(head) if head.tag == backend::COPY_DATA_TAG => {
                    if head.exceeds_buffer() {
                        self.reader.take_body(head, &mut rows, DOING).await?;
                    } else {
                        self.fill_rows(answer.deadline).await?;
                    }
                }
                Some(_) => match self.next(&mut answer).await? {
                    Some(frame) => {
                        let ends = [backend::COPY_DONE_TAG, backend::COMMAND_COMPLETE_TAG];
                        if frame.tag == backend::COPY_DATA_TAG {
                            rows.extend_from_slice(self.reader.body(frame));
                        } else if !ends.contains(&frame.tag) {
                            return Err(Error::Protocol(format!("tag {:#04x} in a copy", frame.tag)));
                        }
                    }
                    None => {
                        self.settle(answer)?;
                        if !rows.is_empty() {
                            self.state = State::Copying(Copy::Done);
                        }
                        return Ok(rows);
                    }
                },
                None => self.fill_rows(answer.deadline).await?,
            }
        }
        self.state = State::Copying(Copy::Rows(answer));
        Ok(rows)
    }

    /// Waits for more of the copy: for a good load of it while it is dense.
    async fn fill_rows(&mut self, deadline: Instant) -> Result<(), Error> {
        if self.gathering.is_asleep() {
            match timeout(GATHER_DEADLINE, self.reader.fill()).await {
                Ok(read) => return read.map(drop).map_err(|source| Error::Lost { doing: DOING, source }),
                Err(_) => self.gathering.end(),
            }
        }
        self.reader.fill_by(deadline, DOING).await
    }

    /// Appends the payloads that have arrived whole; how many.
    fn take_rows(&mut self, rows: &mut Vec<u8>, bytes_max: usize) -> Result<u32, Error> {
        let mut taken = 0;
        while rows.len() < bytes_max {
            match self.reader.whole()? {
                Some((head, bytes)) if head.tag == backend::COPY_DATA_TAG => {
                    rows.extend_from_slice(&bytes[4..]);
                    self.reader.skip(head);
                    taken += 1;
                }
                _ => break,
            }
        }
        Ok(taken)
    }
}
