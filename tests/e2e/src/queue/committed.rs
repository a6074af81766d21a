//! Which messages of a partition were committed, read from its batches.
//!
//! A client's reader of committed messages relies on the broker to name transactions that were given up, which this
//! broker does not. The batches themselves say all: whose they are, and how each transaction ended. Written after
//! Kafka's protocol guide: Fetch, version 4, and the record batch, version 2.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::ops::RangeInclusive;
use std::time::Duration;

const FETCH: i16 = 1;
const FETCH_VERSION: i16 = 4;
const TRANSACTIONAL: u16 = 1 << 4;
const CONTROL: u16 = 1 << 5;
/// What a control record's key says of a transaction that was given up.
const ABORT: i16 = 0;

/// The offsets of committed messages, in their order, and where the next message will be.
pub(super) fn ranges(address: &str, topic: &str, partition: i32) -> (Vec<RangeInclusive<i64>>, i64) {
    let mut stream = TcpStream::connect(address).expect("the broker is there");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a deadline");
    let mut committed = Vec::new();
    let mut open: HashMap<i64, Vec<RangeInclusive<i64>>> = HashMap::new();
    let mut next = 0;
    loop {
        let (end, records) = fetch(&mut stream, topic, partition, next);
        let mut rest = &records[..];
        while let Some((batch, after)) = Batch::read(rest) {
            rest = after;
            next = batch.last + 1;
            let offsets = batch.first..=batch.last;
            match batch.kind {
                Kind::Plain => committed.push(offsets),
                Kind::Transactional => open.entry(batch.producer).or_default().push(offsets),
                Kind::Commit => committed.extend(open.remove(&batch.producer).unwrap_or_default()),
                Kind::Abort => drop(open.remove(&batch.producer)),
            }
        }
        if next >= end || records.is_empty() {
            committed.sort_by_key(|range| *range.start());
            return (committed, end);
        }
    }
}

/// What a batch is.
enum Kind {
    Plain,
    Transactional,
    Commit,
    Abort,
}

/// A batch of records.
struct Batch {
    first: i64,
    last: i64,
    producer: i64,
    kind: Kind,
}

impl Batch {
    /// The first batch, and what follows it; `None` where it is not whole.
    fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let length = i32::from_be_bytes(bytes.get(8..12)?.try_into().ok()?);
        let (batch, rest) = bytes.split_at_checked(12 + usize::try_from(length).ok()?)?;
        let number = |at: usize| i64::from_be_bytes(batch[at..at + 8].try_into().expect("eight bytes"));
        let attributes = u16::from_be_bytes(batch[21..23].try_into().expect("two bytes"));
        let delta = i32::from_be_bytes(batch[23..27].try_into().expect("four bytes"));
        let kind = match (attributes & CONTROL != 0, attributes & TRANSACTIONAL != 0) {
            // Length, attributes, time and offset of the one record take a byte each, as does its key's length; the
            // key is a version and a type.
            (true, _) => match i16::from_be_bytes(batch[61 + 7..61 + 9].try_into().expect("two bytes")) {
                ABORT => Kind::Abort,
                _ => Kind::Commit,
            },
            (false, true) => Kind::Transactional,
            (false, false) => Kind::Plain,
        };
        let first = number(0);
        Some((Self { first, last: first + i64::from(delta), producer: number(43), kind }, rest))
    }
}

/// Where a partition ends, and whole batches from an offset on.
fn fetch(stream: &mut TcpStream, topic: &str, partition: i32, offset: i64) -> (i64, Vec<u8>) {
    let mut request = Vec::new();
    let string = |out: &mut Vec<u8>, text: &str| {
        out.extend(i16::try_from(text.len()).expect("short").to_be_bytes());
        out.extend(text.as_bytes());
    };
    request.extend(FETCH.to_be_bytes());
    request.extend(FETCH_VERSION.to_be_bytes());
    request.extend(7_i32.to_be_bytes());
    string(&mut request, "tests");
    request.extend((-1_i32).to_be_bytes()); // no replica
    request.extend(100_i32.to_be_bytes()); // wait, in milliseconds
    request.extend(0_i32.to_be_bytes()); // for no bytes
    request.extend((8_i32 << 20).to_be_bytes());
    request.push(0); // everything, committed or not
    request.extend(1_i32.to_be_bytes());
    string(&mut request, topic);
    request.extend(1_i32.to_be_bytes());
    request.extend(partition.to_be_bytes());
    request.extend(offset.to_be_bytes());
    request.extend((8_i32 << 20).to_be_bytes());
    stream.write_all(&u32::try_from(request.len()).expect("small").to_be_bytes()).expect("sent");
    stream.write_all(&request).expect("sent");
    let mut length = [0; 4];
    stream.read_exact(&mut length).expect("an answer");
    let mut answer = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut answer).expect("an answer");
    // The request's number, throttling, one topic's name, one partition.
    let name = 4 + 4 + 4;
    let mut at = name + 2 + topic.len() + 4 + 4;
    let error = i16::from_be_bytes(answer[at..at + 2].try_into().expect("two bytes"));
    assert_eq!(error, 0, "the broker refuses to show {topic} {partition}");
    let end = i64::from_be_bytes(answer[at + 2..at + 10].try_into().expect("eight bytes"));
    at += 18;
    let mut int = |width: usize| {
        let value = i32::from_be_bytes(answer[at..at + 4].try_into().expect("four bytes"));
        at += 4 + width * usize::try_from(value.max(0)).expect("a length");
        value
    };
    int(16); // transactions that were given up
    let records = usize::try_from(int(0).max(0)).expect("a length");
    (end, answer[at..at + records].to_vec())
}
