//! The little of HTTP/1.1 that fixtures speak: one request a connection, bodies by length or chunked.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::config::ANSWER_DEADLINE;

/// An answer.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    /// The status code.
    pub status: u16,
    /// Header names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// The body, complete.
    pub body: Vec<u8>,
}

impl HttpAnswer {
    /// The first header of this lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON. Panics, showing the answer, when it is none.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("no JSON ({error}) in {}: {}", self.status, self.text()))
    }
}

/// A request to one server.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: &'a [u8],
}

impl Request<'_> {
    /// Sends it and waits for the whole answer.
    pub(crate) fn send(&self, host: &str, port: u16) -> io::Result<HttpAnswer> {
        let mut stream = TcpStream::connect((host, port))?;
        stream.set_read_timeout(Some(ANSWER_DEADLINE))?;
        stream.set_nodelay(true)?;
        let mut head = format!("{} {} HTTP/1.1\r\nHost: {host}:{port}\r\n", self.method, self.path);
        for (name, value) in self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\nConnection: close\r\n\r\n", self.body.len()));
        stream.write_all(head.as_bytes())?;
        stream.write_all(self.body)?;
        read_answer(&mut BufReader::new(stream))
    }
}

/// The value of a Basic Authorization header.
pub(crate) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// Text as it stands in a query's value.
pub(crate) fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(byte.into());
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
        encoded
    })
}

fn read_answer(stream: &mut impl BufRead) -> io::Result<HttpAnswer> {
    let status_line = read_line(stream)?;
    let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| malformed("status line"))?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(stream)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| malformed("header"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut answer = HttpAnswer { status, headers, body: Vec::new() };
    if answer.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
        read_chunks(stream, &mut answer.body)?;
    } else if let Some(length) = answer.header("content-length") {
        let length = length.parse().map_err(|_| malformed("content-length"))?;
        if stream.take(length).read_to_end(&mut answer.body)? < length as usize {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    } else {
        stream.read_to_end(&mut answer.body)?;
    }
    Ok(answer)
}

fn read_chunks(stream: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let line = read_line(stream)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| malformed("chunk size"))?;
        if stream.take(size).read_to_end(body)? < size as usize {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // The line break after a chunk, or the end of the trailers.
        while !read_line(stream)?.is_empty() {}
        if size == 0 {
            return Ok(());
        }
    }
}

fn read_line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("malformed {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunked_body_is_joined() {
        let mut answer: &[u8] =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=1\r\nde\r\n0\r\n\r\n";
        assert_eq!(read_answer(&mut answer).expect("an answer").text(), "abcde");
    }

    #[test]
    fn a_body_that_ends_early_is_an_error() {
        let mut answer: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc";
        assert!(read_answer(&mut answer).is_err());
    }
}
