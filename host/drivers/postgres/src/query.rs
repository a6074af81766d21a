//! SQL and replication commands by the simple protocol.

use bytes::BytesMut;
use postgres_protocol::message::{backend, frontend};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use crate::config::{ANSWER_BYTES_MAX, QUERY_DEADLINE, STALL};
use crate::connection::{Connection, State};
use crate::error::Error;
use crate::frame::Frame;
use crate::server_error::ServerError;

/// One row of an answer: each column's text, or NULL.
pub type Row = Vec<Option<String>>;

impl<S: AsyncRead + AsyncWrite + Send + 'static> Connection<S> {
    /// Runs SQL or a replication command; the rows of the last statement that has any.
    ///
    /// # Errors
    /// [`Error::Server`] after which the connection serves on; any other ends it. Answers over 64 MiB
    /// are [`Error::AnswerTooLarge`].
    pub async fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        const DOING: &str = "running a query";
        let mut answer = self.ask(sql, DOING).await?;
        let mut rows = Vec::new();
        let mut description = Vec::new();
        let mut bytes = 0;
        while let Some(frame) = self.next(&mut answer).await? {
            match frame.tag {
                backend::ROW_DESCRIPTION_TAG => {
                    rows.clear();
                    description = self.reader.body(frame).to_vec();
                }
                backend::DATA_ROW_TAG => {
                    let body = self.reader.body(frame);
                    bytes += body.len();
                    if bytes > ANSWER_BYTES_MAX {
                        return Err(Error::AnswerTooLarge { bytes_max: ANSWER_BYTES_MAX });
                    }
                    rows.push(parse_row(body, &description)?);
                }
                backend::COMMAND_COMPLETE_TAG | backend::EMPTY_QUERY_RESPONSE_TAG => {}
                _ => return Err(Error::State("a query must not start COPY")),
            }
        }
        self.settle(answer)?;
        Ok(rows)
    }

    /// Sends a statement. Until [`Self::settle`], the connection counts as broken.
    pub(crate) async fn ask(&mut self, sql: &str, doing: &'static str) -> Result<Answer, Error> {
        self.begin()?;
        let mut message = BytesMut::new();
        frontend::query(sql, &mut message)
            .map_err(|_| Error::Protocol("a statement with a zero byte".to_owned()))?;
        self.send(&message, doing).await?;
        Ok(Answer { deadline: Instant::now() + QUERY_DEADLINE, failure: None, doing })
    }

    /// The next frame of an answer that says something; nothing when the server is ready again.
    pub(crate) async fn next(&mut self, answer: &mut Answer) -> Result<Option<Frame>, Error> {
        loop {
            let frame = match self.reader.next(ANSWER_BYTES_MAX, answer.deadline, answer.doing).await {
                Ok(frame) => frame,
                // What the server said last explains why it hung up.
                Err(error) => return Err(answer.failure.take().map_or(error, Error::from)),
            };
            match frame.tag {
                backend::READY_FOR_QUERY_TAG => return Ok(None),
                backend::ERROR_RESPONSE_TAG => {
                    let error = ServerError::parse(self.reader.body(frame));
                    answer.failure.get_or_insert(error);
                }
                backend::NOTICE_RESPONSE_TAG => {
                    let notice = ServerError::parse(self.reader.body(frame));
                    tracing::debug!(severity = notice.severity, message = notice.message, "notice");
                }
                backend::PARAMETER_STATUS_TAG | backend::NOTIFICATION_RESPONSE_TAG => {}
                _ => return Ok(Some(frame)),
            }
        }
    }

    /// Ends an answer after which the server is ready.
    pub(crate) fn settle(&mut self, answer: Answer) -> Result<(), Error> {
        self.state = State::Idle;
        answer.failure.map_or(Ok(()), |failure| Err(failure.into()))
    }

    pub(crate) async fn send(&mut self, message: &[u8], doing: &'static str) -> Result<(), Error> {
        let writer = self.writer.as_mut().ok_or(Error::State("a stream has taken it over"))?;
        let written = timeout(STALL, async {
            writer.write_all(message).await?;
            writer.flush().await
        });
        written
            .await
            .map_err(|_| Error::TimedOut { doing, deadline: STALL })?
            .map_err(|source| Error::Lost { doing, source })
    }
}

/// An answer that is being read.
#[derive(Debug)]
pub(crate) struct Answer {
    /// When the next frame must have come.
    pub(crate) deadline: Instant,
    failure: Option<ServerError>,
    doing: &'static str,
}

/// Reads the body of a `DataRow`: a count, then a length (-1 for NULL) and the text of each column. The body of the
/// `RowDescription` before it says what a column is called whose text cannot be read.
fn parse_row(body: &[u8], description: &[u8]) -> Result<Row, Error> {
    let malformed = || Error::Protocol("a malformed row".to_owned());
    let (count, mut rest) = body.split_first_chunk::<2>().ok_or_else(malformed)?;
    let mut row = Vec::with_capacity(usize::from(u16::from_be_bytes(*count)));
    for index in 0..row.capacity() {
        let (length, after) = rest.split_first_chunk::<4>().ok_or_else(malformed)?;
        rest = after;
        row.push(match i32::from_be_bytes(*length) {
            -1 => None,
            length => {
                let length = usize::try_from(length).map_err(|_| malformed())?;
                let (text, after) = rest.split_at_checked(length).ok_or_else(malformed)?;
                rest = after;
                let text = str::from_utf8(text).map_err(|error| Error::TextNotUtf8 {
                    column: column_name(description, index),
                    byte: text[error.valid_up_to()],
                })?;
                Some(text.to_owned())
            }
        });
    }
    Ok(row)
}

/// The name of a column in the body of a `RowDescription`: a count, then a zero-terminated name and 18 bytes for each.
fn column_name(description: &[u8], index: usize) -> String {
    let mut rest = description.get(2..).unwrap_or_default();
    for _ in 0..index {
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        rest = rest.get(end + 19..).unwrap_or_default();
    }
    let name = rest.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Class;
    use crate::frame::FrameReader;

    #[tokio::test(start_paused = true)]
    async fn a_deadline_ends_a_query_and_the_session() {
        let (client, _server) = tokio::io::duplex(1024);
        let (reader, writer) = tokio::io::split(client);
        let mut session = Connection::new(FrameReader::new(reader), writer);
        let asked = Instant::now();
        let error = session.query("SELECT 1").await.expect_err("too long");
        assert!(matches!(error, Error::TimedOut { deadline: QUERY_DEADLINE, .. }), "{error}");
        assert_eq!((error.sqlstate(), error.class()), ("08000", Class::Connection));
        assert_eq!(asked.elapsed(), QUERY_DEADLINE);
        assert!(matches!(session.query("SELECT 1").await, Err(Error::State(_))));
    }

    #[test]
    fn null_and_empty_text_are_told_apart() {
        let row = parse_row(b"\0\x03\xff\xff\xff\xff\0\0\0\0\0\0\0\x01x", b"").expect("a row");
        assert_eq!(row, [None, Some(String::new()), Some("x".to_owned())]);
    }

    #[test]
    fn a_malformed_row_is_an_error() {
        for body in [&b""[..], b"\0\x01", b"\0\x01\0\0\0\x02x", b"\0\x01\xff\xff\xff\xfe"] {
            assert!(matches!(parse_row(body, b""), Err(Error::Protocol(_))), "{body:?}");
        }
    }

    #[test]
    fn text_that_is_no_utf_8_is_final_and_says_what_to_do() {
        let attributes = [0; 18];
        let description = [b"\0\x02relname\0", &attributes[..], b"label\0", &attributes].concat();
        let error = parse_row(b"\0\x02\0\0\0\x01x\0\0\0\x02a\xe9", &description).expect_err("no UTF-8");
        assert_eq!((error.sqlstate(), error.class()), ("22021", Class::Server));
        assert!(error.chain().contains("\"label\"") && error.chain().contains("0xe9"), "{}", error.chain());
        assert!(error.detail().contains("the name, default or label"), "{}", error.detail());
        // Whatever was said of the columns.
        let error = parse_row(b"\0\x01\0\0\0\x01\xff", b"").expect_err("no UTF-8");
        assert_eq!(error.class(), Class::Server);
    }
}
