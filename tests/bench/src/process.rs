//! What the operating system accounts to a process.

use std::fs;

/// Clock ticks a second, fixed at 100 for user space on Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// User and system CPU time of a process so far, in seconds.
pub fn cpu_seconds(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("the process runs");
    let after_name = stat.rsplit_once(')').expect("the name is in parentheses").1;
    // Fields 14 and 15 of the line, counted from 1; the state after the name is field 3.
    let ticks: u64 =
        after_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    ticks as f64 / TICKS_PER_SECOND
}

/// The largest resident size of a process so far, in MiB.
pub fn peak_mib(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("Linux reports the peak");
    let kib: u64 =
        line.split_whitespace().nth(1).and_then(|field| field.parse().ok()).expect("a number of kB");
    kib / 1024
}

/// Starts the peak over.
pub fn reset_peak(process: u32) {
    fs::write(format!("/proc/{process}/clear_refs"), "5").expect("the process is ours");
}
