//! What the operating system accounts to a process.

use std::fs;

/// The largest resident size of a process since its start, or since [`reset_peak`], in MiB.
///
/// # Panics
/// Where there is no such process.
#[must_use]
pub fn peak_mib(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("Linux reports the peak");
    let kib: u64 =
        line.split_whitespace().nth(1).and_then(|field| field.parse().ok()).expect("a number of kB");
    kib / 1024
}

/// Starts the peak over.
///
/// # Panics
/// Where the process is not one's own.
pub fn reset_peak(process: u32) {
    fs::write(format!("/proc/{process}/clear_refs"), "5").expect("the process is ours");
}
