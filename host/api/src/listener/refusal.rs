//! What a connection too many is told.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::config::RETRY_WHEN_BUSY_SECONDS;
use crate::error::Code;

/// Answers the first request, whatever it is, and closes. Some of it is read before, so that a client that is
/// still writing gets the answer and no reset.
pub(super) async fn send<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S) -> io::Result<()> {
    let mut ignored = [0; 4096];
    let read = stream.read(&mut ignored).await?;
    if read == 0 {
        return Ok(());
    }
    stream.write_all(text().as_bytes()).await?;
    stream.shutdown().await?;
    while stream.read(&mut ignored).await? > 0 {}
    Ok(())
}

fn text() -> String {
    let code = Code::Unavailable as u8;
    let message = "the server has as many connections as it takes; try again";
    let body = serde_json::json!({"code": code, "message": message, "details": []}).to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Retry-After: {RETRY_WHEN_BUSY_SECONDS}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n{body}"
    )
}
