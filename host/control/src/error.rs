//! Why a request of the API was not done.

use tarn_catalog::CatalogError;
use tarn_model::Problem;

/// A refusal or failure. The message is for a person; each problem names a field.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The request makes no sense, whatever the state of things.
    #[error("{message}")]
    InvalidArgument {
        /// What is wrong.
        message: String,
        /// Field by field.
        problems: Vec<Problem>,
    },
    /// It names something that does not exist.
    #[error("{message}")]
    NotFound {
        /// What is missing.
        message: String,
        /// The fields that name it.
        problems: Vec<Problem>,
    },
    /// What it would make exists.
    #[error("{message}")]
    AlreadyExists {
        /// What is in the way.
        message: String,
        /// The field that names it.
        problems: Vec<Problem>,
    },
    /// The state of things does not allow it.
    #[error("{message}")]
    FailedPrecondition {
        /// Why.
        message: String,
        /// Problem by problem.
        problems: Vec<Problem>,
    },
    /// The edition or a setting does not allow it.
    #[error("{0}")]
    PermissionDenied(String),
    /// A part of the server failed, which nobody outside can mend.
    #[error("{0}")]
    Internal(String),
    /// The catalog failed.
    #[error("the catalog failed")]
    Catalog(#[from] CatalogError),
}

impl ControlError {
    /// An invalid argument in one field.
    pub(crate) fn invalid(path: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let problems = vec![Problem::new(path, message.clone(), "")];
        Self::InvalidArgument { message: format!("{path}: {message}"), problems }
    }

    /// Something that one field names does not exist.
    pub(crate) fn missing(path: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let problems = vec![Problem::new(path, message.clone(), "")];
        Self::NotFound { message, problems }
    }

    /// What one field names exists.
    pub(crate) fn exists(path: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let problems = vec![Problem::new(path, message.clone(), "")];
        Self::AlreadyExists { message, problems }
    }

    /// A precondition about one field.
    pub(crate) fn precondition(path: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let problems = vec![Problem::new(path, message.clone(), "")];
        Self::FailedPrecondition { message, problems }
    }
}

/// Problems in one line, for answers that have no list.
pub(crate) fn one_line(problems: &[Problem]) -> String {
    let lines: Vec<_> = problems
        .iter()
        .map(|problem| match problem.hint.as_str() {
            "" => format!("{}: {}", problem.path, problem.message),
            hint => format!("{}: {} ({hint})", problem.path, problem.message),
        })
        .collect();
    lines.join("; ")
}
