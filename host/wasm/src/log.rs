//! Where a guest's log lines go, and how many.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::config::{LOG_LINE_BYTES_MAX, LOG_TAIL_LINE_BYTES_MAX, LOG_TAIL_LINES};

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For whoever writes the plugin.
    Debug,
    /// What happened.
    Info,
    /// What a person should look at.
    Warn,
    /// What went wrong.
    Error,
}

/// Takes the lines of a guest.
pub trait LogSink: Send + Sync + 'static {
    /// Takes a line, of at most 8 KiB, without waiting: the guest's thread calls it.
    fn write(&self, level: Level, line: &str);
}

/// A sink that keeps nothing, for guests that are asked a question outside of any mirror.
#[derive(Clone, Copy, Debug)]
pub struct NoLog;

impl LogSink for NoLog {
    fn write(&self, _level: Level, _line: &str) {}
}

/// The log of one instance: cuts, counts, and remembers the last lines.
pub(crate) struct Log {
    sink: Arc<dyn LogSink>,
    lines_max: u32,
    /// Lines of this call that went on.
    lines: u32,
    /// Lines of this call that did not.
    left_out: u64,
    tail: VecDeque<String>,
}

impl Log {
    pub(crate) fn new(sink: Arc<dyn LogSink>, lines_max: u32) -> Self {
        Self { sink, lines_max, lines: 0, left_out: 0, tail: VecDeque::with_capacity(LOG_TAIL_LINES) }
    }

    pub(crate) fn write(&mut self, level: Level, line: &str) {
        if self.tail.len() == LOG_TAIL_LINES {
            self.tail.pop_front();
        }
        self.tail.push_back(cut(line, LOG_TAIL_LINE_BYTES_MAX).to_owned());
        if self.lines < self.lines_max {
            self.lines += 1;
            self.sink.write(level, cut(line, LOG_LINE_BYTES_MAX));
        } else {
            self.left_out += 1;
        }
    }

    /// Ends a call: says how many lines it had too many.
    pub(crate) fn end_call(&mut self, function: &str) {
        if self.left_out > 0 {
            let line = format!("{} more lines of {function} were left out", self.left_out);
            self.sink.write(Level::Warn, &line);
        }
        self.lines = 0;
        self.left_out = 0;
    }

    /// The last lines, oldest first.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        self.tail.iter().map(|line| line.replace('\n', " ")).collect()
    }

    /// The last lines, for a failure's message; empty when there are none.
    pub(crate) fn tail(&self) -> String {
        self.last_lines().join(" | ")
    }
}

/// The longest beginning of a text that has at most `bytes_max` bytes and whole characters.
pub(crate) fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Lines(Mutex<Vec<String>>);

    impl LogSink for Lines {
        fn write(&self, _level: Level, line: &str) {
            self.0.lock().expect("lines").push(line.to_owned());
        }
    }

    #[test]
    fn lines_over_the_limit_are_counted_and_the_count_is_logged() {
        let lines = Arc::new(Lines::default());
        let mut log = Log::new(Arc::clone(&lines) as Arc<dyn LogSink>, 2);
        for line in 0..10 {
            log.write(Level::Info, &format!("line {line}"));
        }
        log.end_call("read");
        log.write(Level::Info, "the next call");
        let lines = lines.0.lock().expect("lines");
        assert_eq!(*lines, ["line 0", "line 1", "8 more lines of read were left out", "the next call"]);
    }

    #[test]
    fn the_tail_has_the_last_lines_also_those_left_out() {
        let mut log = Log::new(Arc::new(NoLog), 1);
        for line in 0..10 {
            log.write(Level::Info, &format!("line\n{line}"));
        }
        assert_eq!(log.tail(), "line 5 | line 6 | line 7 | line 8 | line 9");
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let lines = Arc::new(Lines::default());
        let mut log = Log::new(Arc::clone(&lines) as Arc<dyn LogSink>, 1);
        log.write(Level::Info, &"é…".repeat(LOG_LINE_BYTES_MAX));
        let lines = lines.0.lock().expect("lines");
        assert!((LOG_LINE_BYTES_MAX - 3..=LOG_LINE_BYTES_MAX).contains(&lines[0].len()));
    }
}
