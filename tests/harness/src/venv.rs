//! The virtual environment that `tests/harness/setup` makes.

use std::path::{Path, PathBuf};

/// A program of it.
pub(crate) fn program(name: &str) -> PathBuf {
    let venv = std::env::var_os("TARN_VENV").filter(|venv| !venv.is_empty()).map(PathBuf::from);
    let venv = venv.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/setup/venv"));
    let program = venv.join("bin").join(name);
    assert!(program.exists(), "no {}: run tests/harness/setup", program.display());
    program
}
