//! Builds the bad guests and the examples from source.

#![expect(clippy::print_stderr, reason = "cargo shows a failed build script's words to people")]

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::{Command, exit};

/// What the guests are made of, from the root.
const INPUTS: [&str; 8] = [
    "plugins/build",
    "plugins/toolchain",
    "tests/components/guests",
    "examples/plugins",
    "sdk",
    "wit",
    "Cargo.toml",
    "Cargo.lock",
];

fn main() {
    if let Err(error) = build() {
        eprintln!("{error}");
        exit(1);
    }
}

fn build() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../..").canonicalize()?;
    for input in INPUTS {
        println!("cargo::rerun-if-changed={}", root.join(input).display());
    }
    let output = Command::new(root.join("plugins/build")).arg(env::var("OUT_DIR")?).arg("tests").output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("plugins/build failed ({}):\n{}", output.status, String::from_utf8_lossy(&output.stderr))
        .into())
}
