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
