//! Failures and problems: what a plugin tells the host and, through it, a person.

use std::fmt;

use tarn_batch::DecodeError;

pub use crate::bindings::imports::tarn::plugin::types::{Failure, FailureClass, Problem};

impl Failure {
    fn new(class: FailureClass, code: &str, message: impl Into<String>) -> Self {
        Self {
            class,
            code: code.to_owned(),
            message: message.into(),
            hint: String::new(),
            table: String::new(),
        }
    }

    /// Passing trouble: the host backs off and tries again. `code` is a stable snake_case name,
    /// `message` a lower-case fragment.
    pub fn retry(code: &str, message: impl Into<String>) -> Self {
        Self::new(FailureClass::Retry, code, message)
    }

    /// Trouble that lasts until a person changes something.
    pub fn permanent(code: &str, message: impl Into<String>) -> Self {
        Self::new(FailureClass::Permanent, code, message)
    }

    /// The source can no longer serve the position.
    pub fn position_lost(code: &str, message: impl Into<String>) -> Self {
        Self::new(FailureClass::PositionLost, code, message)
    }

    /// One record cannot be taken.
    pub fn record(code: &str, message: impl Into<String>) -> Self {
        Self::new(FailureClass::Record, code, message)
    }

    /// Says what to do about it.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Says which table it concerns, as `schema.name`.
    pub fn with_table(mut self, table: impl Into<String>) -> Self {
        self.table = table.into();
        self
    }

    /// Says what was being done: `context: message`.
    pub fn in_context(mut self, context: impl fmt::Display) -> Self {
        self.message = format!("{context}: {}", self.message);
        self
    }
}

impl From<DecodeError> for Failure {
    fn from(error: DecodeError) -> Self {
        Self::permanent("batch_damaged", error.to_string())
    }
}

impl Problem {
    /// A finding about the field or table at `path`.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into(), hint: String::new() }
    }

    /// Says what to do about it.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}
