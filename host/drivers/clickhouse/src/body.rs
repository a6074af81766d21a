//! A request's body: a statement, and data that follows it without being copied.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

/// Two pieces, sent one after the other, of known length together.
#[derive(Debug, Default)]
pub(crate) struct StatementBody {
    statement: Bytes,
    data: Bytes,
}

impl StatementBody {
    pub(crate) fn statement(sql: &str) -> Self {
        Self { statement: Bytes::copy_from_slice(sql.as_bytes()), data: Bytes::new() }
    }

    /// The line break ends the statement: every byte after it is data, also one that is a space.
    pub(crate) fn insert(sql: &str, data: Vec<u8>) -> Self {
        Self { statement: Bytes::from(format!("{sql}\n")), data: Bytes::from(data) }
    }
}

impl Body for StatementBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let body = self.get_mut();
        let piece = [&mut body.statement, &mut body.data].into_iter().find(|piece| !piece.is_empty());
        Poll::Ready(piece.map(|piece| Ok(Frame::data(std::mem::take(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.statement.is_empty() && self.data.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact((self.statement.len() + self.data.len()) as u64)
    }
}
