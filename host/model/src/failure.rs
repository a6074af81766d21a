//! A failure as a program decides on it and a person reads it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What to do about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// Passing trouble: back off and try again.
    Retry,
    /// Trying again cannot help until a person changes something.
    Permanent,
    /// The source can no longer serve the position: only a resync helps.
    PositionLost,
    /// One record cannot be taken; the mirror's policy for records decides.
    Record,
}

/// A failure with what, where and the remedy. No field holds a secret, or a row's values beyond its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What the program does about it.
    pub class: FailureClass,
    /// A stable snake_case name, such as `slot_missing`.
    pub code: String,
    /// What happened, where: a lower-case sentence fragment.
    pub message: String,
    /// What a person does about it; empty where there is nothing to do.
    pub hint: String,
    /// The table it concerns, `schema.name`, or empty.
    pub table: String,
}

impl Failure {
    /// A failure of a class, with neither hint nor table.
    pub fn new(class: FailureClass, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { class, code: code.into(), message: message.into(), hint: String::new(), table: String::new() }
    }

    /// Passing trouble.
    pub fn retry(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(FailureClass::Retry, code, message)
    }

    /// Trouble that only a person can end.
    pub fn permanent(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(FailureClass::Permanent, code, message)
    }

    /// The same failure with a remedy.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The same failure with the table it concerns.
    #[must_use]
    pub fn with_table(mut self, table: impl Into<String>) -> Self {
        self.table = table.into();
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)?;
        if !self.table.is_empty() {
            write!(f, ", table {}", self.table)?;
        }
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// One finding of a validation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The field or table it concerns, as in the API: `table_mappings[2].source_table_identifier`.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to do; empty where there is nothing to do.
    pub hint: String,
}

impl Problem {
    /// A finding about a field.
    pub fn new(path: impl Into<String>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into(), hint: hint.into() }
    }
}
