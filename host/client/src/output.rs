//! What a command says, for people or for programs. The only place that writes to standard output.

use std::io::{self, Write as _};

use serde_json::Value;

use crate::error::Error;

/// Who reads the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Tables and sentences.
    People,
    /// JSON.
    Programs,
}

impl Reader {
    pub(crate) fn new(json: bool) -> Self {
        if json { Self::Programs } else { Self::People }
    }
}

/// What a command has to say at its end, in both forms.
#[derive(Debug, PartialEq)]
pub(crate) struct Report {
    /// Whole lines.
    pub(crate) people: String,
    /// One value.
    pub(crate) programs: Value,
    /// That value as JSON text instead, where its digits matter.
    exact: Option<String>,
    /// Why the command failed although it has something to say.
    failure: Option<String>,
}

impl Report {
    /// A report; a last line that is not ended is ended.
    pub(crate) fn new(people: impl Into<String>, programs: Value) -> Self {
        let mut people = people.into();
        if !people.is_empty() && !people.ends_with('\n') {
            people.push('\n');
        }
        Self { people, programs, exact: None, failure: None }
    }

    /// The same with the value for programs as JSON text.
    pub(crate) fn exactly(mut self, text: String) -> Self {
        self.exact = Some(text);
        self
    }

    /// The same of a command that failed.
    pub(crate) fn failed(mut self, message: impl Into<String>) -> Self {
        self.failure = Some(message.into());
        self
    }

    /// Nothing more: everything was said on the way.
    pub(crate) fn nothing() -> Self {
        Self::new("", Value::Null)
    }

    /// Writes the one form; fails where the command did.
    pub(crate) fn print(&self, reader: Reader) -> Result<(), Error> {
        match (reader, &self.exact) {
            (Reader::People, _) => print(&self.people)?,
            (Reader::Programs, Some(text)) => print(&format!("{text}\n"))?,
            (Reader::Programs, None) if self.programs.is_null() => {}
            (Reader::Programs, None) => print(&format!("{:#}\n", self.programs))?,
        }
        match &self.failure {
            None => Ok(()),
            Some(message) => Err(Error::Failed(message.clone())),
        }
    }
}

/// Writes to standard output at once.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Writes to standard error: what is said on the way, beside the output.
pub(crate) fn remark(text: &str) {
    // Nobody may be listening, and nothing depends on it.
    let _unheard = writeln!(io::stderr().lock(), "{text}");
}
