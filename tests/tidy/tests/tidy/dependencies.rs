//! What the whole is made of: one TLS stack, one SQLite.

use std::collections::BTreeSet;
use std::process::Command;

use tarn_tidy::root;

use crate::assert_none;

/// Other TLS and cryptography stacks than rustls with ring.
const OTHER_TLS: [&str; 7] =
    ["openssl", "openssl-src", "native-tls", "aws-lc-rs", "aws-lc-sys", "aws-lc-fips-sys", "boring"];

/// Libraries that must not be there in two versions: they carry C, or hold the process's one state.
const ONCE: [&str; 6] = ["rustls", "ring", "libsqlite3-sys", "wasmtime", "tokio", "hyper"];

/// sqlx's macros run at compile time with a SQLite of their own.
const SECOND_SQLITE: [&str; 2] = ["sqlx-macros", "sqlx-macros-core"];

/// Name and version of every package that is built. `cargo metadata` would not do: it also lists
/// what only a feature that nobody asked for would bring.
fn built() -> BTreeSet<(String, String)> {
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["tree", "--workspace", "--locked", "--prefix", "none", "--format", "{p}"])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, version)| (name.to_owned(), version.split(' ').next().unwrap_or_default().to_owned()))
        .collect()
}

#[test]
fn there_is_one_tls_stack() {
    let broken: Vec<String> = built()
        .into_iter()
        .filter(|(name, _)| OTHER_TLS.contains(&name.as_str()))
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    assert_none("rustls with ring is the one TLS stack", &broken);
}

/// librdkafka has no other TLS than OpenSSL's, and nothing else may come to it by that.
#[test]
fn openssl_is_librdkafkas_alone() {
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["tree", "--workspace", "--locked", "--prefix", "none", "--format", "{p}"])
        .args(["--invert", "openssl-sys", "--depth", "1"])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let users = text.lines().filter(|line| !line.is_empty()).skip(1);
    let broken: Vec<String> =
        users.filter(|user| !user.starts_with("rdkafka-sys ")).map(str::to_owned).collect();
    assert_none("openssl-sys is there for rdkafka-sys", &broken);
}

#[test]
fn there_is_one_sqlite() {
    let broken: Vec<String> = built()
        .into_iter()
        .filter(|(name, _)| SECOND_SQLITE.contains(&name.as_str()))
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    assert_none("sqlx is used without its macros, which link another SQLite", &broken);
}

#[test]
fn libraries_that_count_are_there_once() {
    let built = built();
    let mut broken = Vec::new();
    for library in ONCE {
        let versions: Vec<&str> =
            built.iter().filter(|(name, _)| name == library).map(|(_, version)| version.as_str()).collect();
        if versions.len() > 1 {
            broken.push(format!("{library} {}", versions.join(", ")));
        }
    }
    assert_none("these libraries are built in one version", &broken);
}
