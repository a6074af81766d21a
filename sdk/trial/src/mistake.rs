//! What is wrong with what a person wrote, and where.

/// A mistake in records or cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where: `records[2].new.price`; empty for the whole.
    pub path: String,
    /// What is wrong: a lower-case fragment. It quotes no value.
    pub message: String,
}

impl Mistake {
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }

    /// The mistake as seen from further out.
    pub(crate) fn below(self, parent: &str) -> Self {
        let path = if self.path.is_empty() { parent.to_owned() } else { format!("{parent}.{}", self.path) };
        Self { path, ..self }
    }
}

impl std::fmt::Display for Mistake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

impl std::error::Error for Mistake {}
