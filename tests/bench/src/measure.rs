//! Figures and how they are printed.

use std::time::{Duration, Instant};

/// One line of the result.
struct Line {
    what: String,
    figure: String,
    against: String,
}

/// The result.
#[derive(Default)]
pub struct Table {
    lines: Vec<Line>,
}

impl Table {
    /// Adds a figure with what it is to be read against; empty where there is nothing.
    pub fn add(&mut self, what: impl Into<String>, figure: impl Into<String>, against: impl Into<String>) {
        let line = Line { what: what.into(), figure: figure.into(), against: against.into() };
        progress(&format!("{}: {} {}", line.what, line.figure, line.against));
        self.lines.push(line);
    }

    /// Prints everything as a Markdown table.
    #[expect(clippy::print_stdout, reason = "the result is what the command is for")]
    pub fn print(&self) {
        let width = |of: fn(&Line) -> &str| self.lines.iter().map(|line| of(line).len()).max().unwrap_or(0);
        let (what, figure) = (width(|line| &line.what), width(|line| &line.figure));
        println!("\n| {:what$} | {:figure$} | against |", "what", "figure");
        println!("|{:-<1$}|{2:-<3$}|---|", "", what + 2, "", figure + 2);
        for line in &self.lines {
            println!("| {:what$} | {:figure$} | {} |", line.what, line.figure, line.against);
        }
    }
}

/// Says what is going on.
#[expect(clippy::print_stderr, reason = "a person waits for minutes")]
pub fn progress(text: &str) {
    eprintln!("{text}");
}

/// How long something takes.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let result = work();
    (result, begun.elapsed())
}

/// Things a second.
pub fn rate(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// A rate for people: `123 k/s`.
pub fn thousands(rate: f64) -> String {
    format!("{:.0} k/s", rate / 1000.0)
}
