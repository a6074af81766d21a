//! A connection that stays open.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::psql::{Psql, rows};
use crate::Row;

/// One connection, on which statements run one after another: transactions span calls. Dropping it
/// closes the connection and so rolls back what is open.
#[derive(Debug)]
pub struct Session {
    psql: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// What `psql` is told to print after a statement.
const END: &str = "\u{1}end";

impl Session {
    pub(super) fn open(psql: &Psql) -> Self {
        let mut child = psql
            .command()
            // What fails is said where the test's output goes.
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", psql.program.display()));
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("standard output is piped"));
        Self { psql: child, input, output }
    }

    /// Runs SQL and returns its rows. Panics when it fails; the server's message is on standard
    /// error.
    #[track_caller]
    pub fn query(&mut self, sql: &str) -> Vec<Row> {
        let input = self.input.as_mut().expect("the input is open until the session drops");
        writeln!(input, "{sql}\n;\n\\echo {END}")
            .and_then(|()| input.flush())
            .unwrap_or_else(|error| panic!("the session has ended ({error}); asked was: {sql}"));
        let mut answer = String::new();
        loop {
            let start = answer.len();
            let read = self.output.read_line(&mut answer).expect("psql prints UTF-8");
            assert!(read > 0, "the session ended at: {sql}");
            if answer[start..].trim_end() == END {
                answer.truncate(start);
                return rows(&answer);
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ended = self.psql.wait();
    }
}
