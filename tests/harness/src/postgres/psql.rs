//! `psql` as the client: it comes with the server's binaries.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::Row;

/// What `psql` connects to.
#[derive(Clone)]
pub(super) struct Psql {
    pub(super) program: PathBuf,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) password: String,
    pub(super) database: String,
}

/// Stands for NULL.
const NULL: &str = "\u{1}null";

impl Psql {
    /// A `psql` that reads statements from its standard input and prints rows only.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["-X", "-q", "-t", "--csv", "-v", "ON_ERROR_STOP=1"])
            .args(["-P", &format!("null={NULL}"), "-h", &self.host, "-p", &self.port.to_string()])
            .args(["-U", &self.user, "-d", &self.database])
            .env("PGPASSWORD", &self.password)
            .env("PGCONNECT_TIMEOUT", "10")
            .env("PGCLIENTENCODING", "UTF8")
            .env_remove("PGOPTIONS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs statements and returns all their rows.
    pub(super) fn run(&self, sql: &str) -> Result<Vec<Row>, String> {
        let mut child = self
            .command()
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", self.program.display()))?;
        let mut input = child.stdin.take().expect("standard input is piped");
        let answer = std::thread::scope(|scope| {
            // psql ends early when it cannot connect; its message says more than the broken pipe.
            scope.spawn(move || input.write_all(sql.as_bytes()));
            child.wait_with_output()
        });
        let answer = answer.map_err(|error| format!("psql ended without an answer: {error}"))?;
        if answer.status.success() {
            Ok(rows(&String::from_utf8_lossy(&answer.stdout)))
        } else {
            Err(String::from_utf8_lossy(&answer.stderr).trim().to_owned())
        }
    }
}

/// The rows of `psql`'s CSV output, which may be of several results.
pub(super) fn rows(output: &str) -> Vec<Row> {
    let (mut rows, mut row, mut value) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut characters = output.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => value.push('"'),
            '"' => quoted = !quoted,
            ',' | '\n' if !quoted => {
                row.push(Some(std::mem::take(&mut value)).filter(|value| value != NULL));
                if character == '\n' {
                    rows.push(std::mem::take(&mut row));
                }
            }
            other => value.push(other),
        }
    }
    rows
}

impl fmt::Debug for Psql {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}:{}/{}", self.user, self.host, self.port, self.database)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_quotes_null_and_the_empty_text_are_told_apart() {
        let expected: Vec<Row> = vec![
            vec![Some("1".to_owned()), Some("a\n\"b\", c".to_owned()), None, Some(String::new())],
            vec![Some(String::new())],
        ];
        assert_eq!(rows("1,\"a\n\"\"b\"\", c\",\u{1}null,\n\n"), expected);
    }
}
