//! A connection that stays open.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::psql::{Psql, rows};
use crate::Row;

/// One connection, on which statements run one after another: transactions span calls. Dropping it
/// closes the connection and so rolls back what is open. It ends with the first statement that fails, unless it is
/// one that goes on ([`Session::attempt`]).
#[derive(Debug)]
pub struct Session {
    psql: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// What `psql` is told to print after a statement.
const END: &str = "\u{1}end";

/// How a statement of a session that goes on ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attempt {
    /// It succeeded, with these rows.
    Done(Vec<Row>),
    /// The server refused it: the error's code (SQLSTATE) and message.
    Refused {
        /// Five characters.
        code: String,
        /// The server's text.
        message: String,
    },
    /// The connection is gone.
    Ended,
}

impl Session {
    pub(super) fn open(psql: &Psql) -> Self {
        // What fails is said where the test's output goes.
        Self::start(psql, Stdio::inherit())
    }

    /// One that goes on after a statement that fails.
    pub(super) fn open_to_go_on(psql: &Psql) -> Self {
        let mut session = Self::start(psql, Stdio::null());
        let _answered = session.attempt("\\set ON_ERROR_STOP 0");
        session
    }

    fn start(psql: &Psql, errors: Stdio) -> Self {
        let mut child = psql
            .command()
            .stderr(errors)
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

    /// Runs one statement of a session that goes on, and says how it ended.
    pub fn attempt(&mut self, sql: &str) -> Attempt {
        let input = self.input.as_mut().expect("the input is open until the session drops");
        // An empty statement after it would hide its error.
        let sql = sql.trim_end().trim_end_matches(';');
        let asked = writeln!(input, "{sql}\n;\n\\echo {END} :ERROR :SQLSTATE :LAST_ERROR_MESSAGE")
            .and_then(|()| input.flush());
        if asked.is_err() {
            return Attempt::Ended;
        }
        let mut answer = String::new();
        loop {
            let start = answer.len();
            match self.output.read_line(&mut answer) {
                Ok(1..) => {}
                Ok(0) | Err(_) => return Attempt::Ended,
            }
            let Some(told) = answer[start..].strip_prefix(END) else { continue };
            let mut parts = told.trim().splitn(3, ' ');
            let mut part = || parts.next().unwrap_or_default().to_owned();
            let (failed, code, message) = (part(), part(), part());
            answer.truncate(start);
            return match failed.as_str() {
                "true" => Attempt::Refused { code, message },
                _ => Attempt::Done(rows(&answer)),
            };
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ended = self.psql.wait();
    }
}
