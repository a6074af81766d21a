//! Compiles Lua 5.4 from the sources that the crate `lua-src` carries.
//!
//! For the host (unit tests, `cargo check`) with the system's C compiler and library; for
//! WebAssembly with zig's clang, against the small C library in `port/`, so that nothing is imported.
//! Both see the headers in `port/` before anything else.

use std::env;
use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set in the second run of this program, which has compiler and flags in its environment: `cc` takes
/// them from nowhere else when another crate calls it.
const SECOND_RUN: &str = "TARN_LUA_SECOND_RUN";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=port");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=TARN_ZIG");
    let is_guest = env::var("CARGO_CFG_TARGET_FAMILY").as_deref() == Ok("wasm");
    match (env::var_os(SECOND_RUN), is_guest) {
        (None, true) => return run_with_zig(),
        (None, false) => return run_with_headers(),
        (Some(_), true) => {}
        (Some(_), false) => {
            lua_src::Build::new().opt_level("2").build(lua_src::Lua54).print_cargo_metadata();
            return Ok(());
        }
    }
    let lua = lua_src::Build::new().opt_level("3").debug(false).build(lua_src::Lua54);
    // Its other libraries are parts of a WASI system, which is not there.
    println!("cargo:rustc-link-search=native={}", lua.lib_dir().display());
    println!("cargo:rustc-link-lib=static={}", lua.libs()[0]);
    build_port(lua.include_dir());
    Ok(())
}

/// What stands in for the platform under Lua.
fn build_port(lua: &Path) {
    cc::Build::new()
        .include(lua)
        .opt_level(3)
        .flag("-fno-builtin")
        .file("port/libc.c")
        .file("port/protect.s")
        .compile("tarn_lua_port");
}

/// Runs this program again with the host's compiler.
fn run_with_headers() -> Result<(), Box<dyn Error>> {
    let header = fs::canonicalize("port/number.h")?;
    let flags = format!("-include '{}'", header.display());
    let variable = format!("CFLAGS_{}", env::var("TARGET")?);
    run_again(Command::new(env::current_exe()?).env(variable, flags).env("CC_SHELL_ESCAPED_FLAGS", "1"))
}

fn run_again(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command.env(SECOND_RUN, "1").status()?;
    if status.success() { Ok(()) } else { Err("Lua could not be compiled".into()) }
}

/// Runs this program again with zig as the compiler.
fn run_with_zig() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let port = fs::canonicalize("port/port.h")?;
    let zig = find_zig()?.join(" ");
    // zig names targets in its own way. Of its C library the headers alone are used.
    let flags = format!(
        "-target wasm32-wasi -mexception-handling -Wno-unused-command-line-argument -D_WASI_EMULATED_SIGNAL -include '{}'",
        port.display()
    );
    let compiler = script(
        &out.join("wasm-cc"),
        &format!(
            "for argument; do shift; case \"$argument\" in --target=*) ;; \
             *) set -- \"$@\" \"$argument\" ;; esac; done\nexec {zig} cc {flags} \"$@\"\n"
        ),
    )?;
    let archiver = script(&out.join("wasm-ar"), &format!("exec {zig} ar \"$@\"\n"))?;
    run_again(
        Command::new(env::current_exe()?)
            .env("CC_wasm32_unknown_unknown", &compiler)
            .env("AR_wasm32_unknown_unknown", &archiver),
    )
}

/// The command that runs zig: what `TARN_ZIG` says, else the Python package of the system or of the
/// environment that the set-up script makes.
fn find_zig() -> Result<Vec<String>, Box<dyn Error>> {
    let set_up = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/setup/zig/bin/python");
    let python = |path: &str| vec![path.to_owned(), "-m".to_owned(), "ziglang".to_owned()];
    let candidates = match env::var("TARN_ZIG") {
        Ok(command) => vec![command.split_whitespace().map(str::to_owned).collect()],
        Err(_) => vec![python("python3"), python(&set_up.to_string_lossy())],
    };
    let works = |command: &Vec<String>| {
        let output = Command::new(&command[0]).args(&command[1..]).arg("version").output();
        output.is_ok_and(|output| output.status.success())
    };
    candidates.into_iter().find(works).ok_or_else(|| {
        "zig is needed to compile Lua to WebAssembly: `pip install ziglang`, \
         or set TARN_ZIG to the command that runs zig"
            .into()
    })
}

fn script(path: &Path, body: &str) -> Result<PathBuf, Box<dyn Error>> {
    fs::write(path, format!("#!/bin/sh\n{body}"))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(path.to_owned())
}
