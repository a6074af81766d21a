//! Frames of the server: a tag, a length, a body.
//!
//! One bounded buffer stands between the socket and everybody who reads. A frame that fits is looked at
//! in place; a larger one is either carried past the buffer straight to where it is wanted
//! ([`FrameReader::take_body`]) or, for answers of queries, lets the buffer grow up to a limit until it
//! is consumed.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::time::{Instant, timeout_at};

use crate::config::{READ_BUFFER_BYTES, STALL};
use crate::error::Error;

/// Tag and length of a frame's start.
const HEADER_BYTES: usize = 5;

/// The head of a frame whose body may not have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) tag: u8,
    pub(crate) body_bytes: usize,
}

impl Head {
    /// Whether the frame is too large to wait for in the buffer.
    pub(crate) fn exceeds_buffer(self) -> bool {
        HEADER_BYTES + self.body_bytes > READ_BUFFER_BYTES
    }
}

/// A whole frame that was consumed; its body stays in the buffer until the next read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) tag: u8,
    start: usize,
    bytes: usize,
}

/// Reads frames from a stream.
#[derive(Debug)]
pub(crate) struct FrameReader<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, buffer: vec![0; READ_BUFFER_BYTES], start: 0, end: 0 }
    }

    /// What has arrived and was not consumed.
    pub(crate) fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The head of the next frame, if it has arrived.
    pub(crate) fn head(&self) -> Result<Option<Head>, Error> {
        let [tag, a, b, c, d, ..] = *self.buffered() else { return Ok(None) };
        let length = u32::from_be_bytes([a, b, c, d]);
        match length.checked_sub(4) {
            Some(body) if length <= i32::MAX as u32 => Ok(Some(Head { tag, body_bytes: body as usize })),
            _ => Err(Error::Protocol(format!("a frame of length {length}"))),
        }
    }

    /// The next frame with its length field before the body, if the whole of it has arrived.
    /// [`Self::skip`] it afterwards.
    pub(crate) fn whole(&self) -> Result<Option<(Head, &[u8])>, Error> {
        let Some(head) = self.head()? else { return Ok(None) };
        Ok(self.buffered().get(1..HEADER_BYTES + head.body_bytes).map(|bytes| (head, bytes)))
    }

    /// Consumes a frame that [`Self::whole`] returned.
    pub(crate) fn skip(&mut self, head: Head) {
        self.consume(HEADER_BYTES + head.body_bytes);
    }

    /// Waits for the next frame of at most `bytes_max` and consumes it.
    pub(crate) async fn next(
        &mut self,
        bytes_max: usize,
        deadline: Instant,
        doing: &'static str,
    ) -> Result<Frame, Error> {
        let head = loop {
            match self.head()? {
                None => self.fill_by(deadline, doing).await?,
                Some(head) if head.body_bytes > bytes_max => {
                    return Err(Error::AnswerTooLarge { bytes_max });
                }
                Some(head) if self.buffered().len() < HEADER_BYTES + head.body_bytes => {
                    self.make_room(HEADER_BYTES + head.body_bytes);
                    self.fill_by(deadline, doing).await?;
                }
                Some(head) => break head,
            }
        };
        let start = self.start + HEADER_BYTES;
        self.consume(HEADER_BYTES + head.body_bytes);
        Ok(Frame { tag: head.tag, start, bytes: head.body_bytes })
    }

    /// The body of the frame that [`Self::next`] returned last.
    pub(crate) fn body(&self, frame: Frame) -> &[u8] {
        &self.buffer[frame.start..frame.start + frame.bytes]
    }

    /// Consumes the frame with the given head and appends its body, past the buffer where it is large.
    pub(crate) async fn take_body(
        &mut self,
        head: Head,
        out: &mut Vec<u8>,
        doing: &'static str,
    ) -> Result<(), Error> {
        self.consume(HEADER_BYTES);
        out.reserve(head.body_bytes);
        let here = self.buffered().len().min(head.body_bytes);
        out.extend_from_slice(&self.buffered()[..here]);
        self.consume(here);
        let mut missing = head.body_bytes - here;
        while missing > 0 {
            let end = Instant::now() + STALL;
            let read = timeout_at(end, (&mut self.source).take(missing as u64).read_buf(out))
                .await
                .map_err(|_| Error::TimedOut { doing, deadline: STALL })?
                .and_then(some_bytes)
                .map_err(|source| Error::Lost { doing, source })?;
            missing -= read;
        }
        Ok(())
    }

    /// Reads once, waiting for something to arrive. Cancelling it loses nothing.
    pub(crate) async fn fill(&mut self) -> io::Result<usize> {
        poll_fn(|cx| self.poll_fill(cx)).await
    }

    /// Reads once if something is there already.
    pub(crate) async fn fill_now(&mut self) -> io::Result<Option<usize>> {
        poll_fn(|cx| match self.poll_fill(cx) {
            Poll::Ready(result) => Poll::Ready(result.map(Some)),
            Poll::Pending => Poll::Ready(Ok(None)),
        })
        .await
    }

    /// Reads once by a deadline.
    pub(crate) async fn fill_by(&mut self, deadline: Instant, doing: &'static str) -> Result<(), Error> {
        let started = Instant::now();
        match timeout_at(deadline, self.fill()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(source)) => Err(Error::Lost { doing, source }),
            Err(_) => {
                let deadline = deadline.saturating_duration_since(started);
                Err(Error::TimedOut { doing, deadline })
            }
        }
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.buffer.len() > READ_BUFFER_BYTES {
                self.buffer = vec![0; READ_BUFFER_BYTES];
            }
        } else if self.buffer.len() - self.end < self.buffer.len() / 4 {
            self.compact();
        }
        let mut room = ReadBuf::new(&mut self.buffer[self.end..]);
        ready!(Pin::new(&mut self.source).poll_read(cx, &mut room))?;
        let read = room.filled().len();
        self.end += read;
        Poll::Ready(some_bytes(read))
    }

    fn make_room(&mut self, frame_bytes: usize) {
        if self.start + frame_bytes > self.buffer.len() {
            self.compact();
            if frame_bytes > self.buffer.len() {
                self.buffer.resize(frame_bytes, 0);
            }
        }
    }

    fn compact(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
    }

    fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        debug_assert!(self.start <= self.end, "nothing is consumed before it arrived");
    }
}

fn some_bytes(read: usize) -> io::Result<usize> {
    if read == 0 {
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection"))
    } else {
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncWriteExt;

    use super::*;

    fn frame(tag: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag];
        bytes.extend(u32::try_from(body.len() + 4).expect("small").to_be_bytes());
        bytes.extend(body);
        bytes
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(5)
    }

    #[tokio::test]
    async fn frames_come_out_however_they_were_cut() {
        let mut bytes = frame(b'A', b"one");
        bytes.extend(frame(b'B', b""));
        bytes.extend(frame(b'C', &[7; 600_000]));
        bytes.extend(frame(b'D', b"end"));
        for piece in [1_usize, 3, 7, 100_000, 1 << 20] {
            let sent = if piece < 100 { &bytes[..13] } else { &bytes[..] };
            let (mut writer, reader) = tokio::io::duplex(piece);
            let sent = sent.to_vec();
            let task = tokio::spawn(async move { writer.write_all(&sent).await.expect("somebody reads") });
            let mut reader = FrameReader::new(reader);
            let mut expected = vec![(b'A', b"one".to_vec()), (b'B', Vec::new())];
            if piece >= 100 {
                expected.extend([(b'C', vec![7; 600_000]), (b'D', b"end".to_vec())]);
            }
            for (tag, body) in expected {
                let frame = reader.next(1 << 20, soon(), "testing").await.expect("a frame");
                assert_eq!((frame.tag, reader.body(frame)), (tag, &body[..]));
            }
            task.await.expect("all was sent");
        }
    }

    #[tokio::test]
    async fn a_large_body_passes_the_buffer_by() {
        let mut bytes = frame(b'd', &[9; 3 * READ_BUFFER_BYTES]);
        bytes.extend(frame(b'Z', b"I"));
        let mut reader = FrameReader::new(&bytes[..]);
        reader.fill().await.expect("bytes");
        let head = reader.head().expect("valid").expect("arrived");
        assert!(head.exceeds_buffer());
        let mut out = vec![1];
        reader.take_body(head, &mut out, "testing").await.expect("the body");
        assert_eq!(out.len(), 1 + 3 * READ_BUFFER_BYTES);
        assert_eq!(reader.buffer.len(), READ_BUFFER_BYTES);
        assert_eq!(reader.next(10, soon(), "testing").await.expect("a frame").tag, b'Z');
    }

    #[tokio::test]
    async fn the_buffer_shrinks_after_a_large_answer() {
        let mut bytes = frame(b'D', &[9; 3 * READ_BUFFER_BYTES]);
        bytes.extend(frame(b'Z', b"I"));
        bytes.extend(frame(b'Z', b"I"));
        let (head, tail) = bytes.split_at(bytes.len() - 6);
        let mut reader = FrameReader::new(tokio::io::AsyncReadExt::chain(head, tail));
        for tag in [b'D', b'Z', b'Z'] {
            assert_eq!(reader.next(1 << 20, soon(), "testing").await.expect("a frame").tag, tag);
        }
        assert_eq!(reader.buffer.len(), READ_BUFFER_BYTES);
    }

    #[tokio::test]
    async fn what_is_too_large_or_malformed_or_cut_is_an_error() {
        let bytes = frame(b'D', &[9; 100]);
        let error = FrameReader::new(&bytes[..]).next(99, soon(), "testing").await.expect_err("too large");
        assert!(matches!(error, Error::AnswerTooLarge { bytes_max: 99 }));

        let error =
            FrameReader::new(&b"D\0\0\0\x03"[..]).next(99, soon(), "testing").await.expect_err("too short");
        assert!(matches!(error, Error::Protocol(_)));

        let error = FrameReader::new(&bytes[..50]).next(100, soon(), "testing").await.expect_err("cut");
        assert_eq!(error.chain(), "connection lost while testing: the server closed the connection");
    }

    #[tokio::test]
    async fn silence_ends_at_the_deadline() {
        let (_writer, reader) = tokio::io::duplex(10);
        let deadline = Instant::now() + Duration::from_millis(10);
        let error = FrameReader::new(reader).next(10, deadline, "testing").await.expect_err("nobody writes");
        assert!(matches!(error, Error::TimedOut { .. }));
    }
}
