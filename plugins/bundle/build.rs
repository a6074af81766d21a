//! Builds the plugins from source and leaves them where `src/lib.rs` embeds them.

#![expect(clippy::print_stderr, reason = "cargo shows a failed build script's words to people")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::{env, fs};

use wit_component::ComponentEncoder;

/// Plugins that are embedded as components.
const COMPONENTS: [&str; 3] = ["postgres", "clickhouse", "kafka"];

/// Runtimes of script languages, which are embedded as core modules.
const RUNTIMES: [&str; 2] = ["script-lua", "script-javascript"];

/// What the guests are made of, from the root: a change of any of it builds them again.
const INPUTS: [&str; 11] = [
    "plugins/build",
    "plugins/toolchain",
    "plugins/postgres",
    "plugins/clickhouse",
    "plugins/kafka",
    "plugins/script-lua",
    "plugins/script-javascript",
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
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let out_dir = PathBuf::from(env::var("OUT_DIR")?);
    for input in INPUTS {
        println!("cargo::rerun-if-changed={}", root.join(input).display());
    }
    for variable in ["TARN_GUEST_RUST", "TARN_GUESTS_TARGET_DIR", "TARN_ZIG"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }

    let modules = out_dir.join("modules");
    build_guests(&root, &modules)?;
    for name in COMPONENTS {
        let component = componentize(name, &fs::read(modules.join(format!("{name}.wasm")))?)?;
        fs::write(out_dir.join(format!("{name}.wasm")), component)?;
    }
    // The runtimes become components with each script, after the script is loaded into them.
    for name in RUNTIMES {
        fs::copy(modules.join(format!("{name}.wasm")), out_dir.join(format!("{name}.wasm")))?;
    }
    Ok(())
}

/// Runs the one script that builds guests; its text is the error when it fails.
fn build_guests(root: &Path, modules: &Path) -> Result<(), Box<dyn Error>> {
    let output = Command::new(root.join("plugins/build")).arg(modules).arg("plugins").output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("plugins/build failed ({}):\n{}", output.status, String::from_utf8_lossy(&output.stderr))
        .into())
}

/// A component of a guest's core module.
fn componentize(name: &str, module: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|encoder| encoder.encode())
        .map_err(|error| format!("the plugin {name} is no component: {error:#}").into())
}
