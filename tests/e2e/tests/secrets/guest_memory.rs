//! The linear memories of a running server's guests, read from outside.
//!
//! The sandbox reserves address space of several GiB for each memory and lets the guest use its beginning. So
//! the mappings of the process that can be written, and are followed by one of a GiB and more that cannot be
//! touched, are the guests' memories and nothing else: neither heap nor stack has such a neighbour.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;

use crate::planted::find;

/// What distinguishes a guest's memory from everything else in a process.
const UNTOUCHABLE_BYTES_MIN: u64 = 1 << 30;

/// The mirrored table's name without its schema, as settings and rows hold it.
const MARKER: &str = "planted_marker_table";

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Bytes that were looked at.
    pub bytes: u64,
    /// Memories that hold the marker.
    pub marker: usize,
    /// Secrets that were found, with the memory's address.
    pub leaks: Vec<String>,
}

struct Mapping {
    start: u64,
    end: u64,
    permissions: String,
    is_anonymous: bool,
}

/// Searches the guests' memories of a process.
pub fn search(process: u32, needles: &[&str]) -> Found {
    let memory = File::open(format!("/proc/{process}/mem")).expect("a child's memory can be read");
    let mut found = Found::default();
    for (start, end) in guest_memories(process) {
        let mut bytes = vec![0; usize::try_from(end - start).expect("a memory of this machine")];
        // An instance may end while it is looked at.
        if memory.read_exact_at(&mut bytes, start).is_err() {
            continue;
        }
        found.bytes += end - start;
        found.marker += usize::from(find(&bytes, MARKER.as_bytes()).is_some());
        for needle in needles {
            if find(&bytes, needle.as_bytes()).is_some() {
                found.leaks.push(format!("{needle} at {start:x}"));
            }
        }
    }
    found
}

fn guest_memories(process: u32) -> Vec<(u64, u64)> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).expect("a child's mappings can be read");
    let mappings: Vec<_> = maps.lines().filter_map(mapping).collect();
    let pairs = mappings.iter().zip(mappings.iter().skip(1));
    let memories = pairs.filter(|(one, next)| {
        let is_untouchable =
            next.permissions.starts_with("---") && next.end - next.start >= UNTOUCHABLE_BYTES_MIN;
        one.permissions.starts_with("rw") && one.is_anonymous && one.end == next.start && is_untouchable
    });
    memories.map(|(one, _)| (one.start, one.end)).collect()
}

/// `start-end permissions offset device inode path`.
fn mapping(line: &str) -> Option<Mapping> {
    let words: Vec<_> = line.split_whitespace().collect();
    let (start, end) = words.first()?.split_once('-')?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    Some(Mapping {
        start: address(start)?,
        end: address(end)?,
        permissions: (*words.get(1)?).to_owned(),
        is_anonymous: words.get(4) == Some(&"0"),
    })
}
