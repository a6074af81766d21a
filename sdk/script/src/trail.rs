//! What led to an error: the function, and the lines that the script logged last.

use std::collections::VecDeque;

use crate::config::{LAST_LINE_BYTES_MAX, LAST_LINES};
use crate::transform::Fault;

/// What stands between the parts of a message (wit/README.md, Rejections).
const PART: char = '\u{1f}';

/// What a script logged last, for the errors that follow.
#[derive(Debug, Default)]
pub struct Trail {
    /// Oldest first.
    lines: VecDeque<String>,
    told: bool,
}

impl Trail {
    /// From now on errors bring function and lines along: for the host, which takes them apart again.
    pub fn tell(&mut self) {
        self.told = true;
    }

    /// Whether they do.
    pub fn is_told(&self) -> bool {
        self.told
    }

    /// Remembers a line of the log.
    pub fn log(&mut self, line: &str) {
        if self.lines.len() == LAST_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line[..line.floor_char_boundary(LAST_LINE_BYTES_MAX)].to_owned());
    }

    /// The error with what led to it; `function` is empty where it is unknown.
    pub fn lead_to(&self, mut fault: Fault, function: &str) -> Fault {
        if self.told {
            fault.message = fault.message.replace(PART, " ");
            for part in std::iter::once(function).chain(self.lines.iter().map(String::as_str)) {
                fault.message.push(PART);
                fault
                    .message
                    .extend(part.chars().map(|letter| if letter.is_control() { ' ' } else { letter }));
            }
        }
        fault
    }
}
