//! What files are called, how long they are, and what they must not hold.

use std::path::Path;

use tarn_tidy::{Source, metadata, root, sources};

use crate::assert_none;

/// Names that say nothing about what is inside; `mod.rs` because a module is `foo.rs` beside `foo/`.
const EMPTY_NAMES: [&str; 8] = ["mod", "utils", "util", "common", "helpers", "helper", "misc", "types"];

/// A file of more lines holds more than one concept.
const LINES_MAX: usize = 600;

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_test(source: &Source) -> bool {
    source.path.components().any(|part| part.as_os_str() == "tests")
}

#[test]
fn every_file_is_named_by_what_it_holds() {
    let broken: Vec<String> = sources("rs")
        .iter()
        .filter(|source| source.path.iter().any(|part| EMPTY_NAMES.contains(&name(Path::new(part)).as_str())))
        .map(|source| source.path.display().to_string())
        .collect();
    assert_none("a file or folder is named by the concept it holds", &broken);
}

#[test]
fn every_file_holds_one_concept() {
    let broken: Vec<String> = sources("rs")
        .iter()
        .filter(|source| !is_test(source))
        .map(|source| (source.path.display(), source.text.lines().count()))
        .filter(|(_, lines)| *lines > LINES_MAX)
        .map(|(path, lines)| format!("{path}: {lines} lines"))
        .collect();
    assert_none("no file outside the tests has more than 600 lines", &broken);
}

#[test]
fn every_test_runs_and_every_function_is_finished() {
    // Put together, so that this file holds none of them.
    let needles = [concat!("#[", "ignore"), concat!("todo", "!("), concat!("unimplemented", "!(")];
    let mut broken = Vec::new();
    for source in sources("rs") {
        for (at, line) in source.text.lines().enumerate() {
            if needles.iter().any(|needle| line.contains(needle)) {
                broken.push(format!("{}:{}: {}", source.path.display(), at + 1, line.trim()));
            }
        }
    }
    assert_none("no test is skipped and nothing is left to do", &broken);
}

#[test]
fn a_lint_is_expected_with_its_reason_and_never_allowed() {
    let needles = [concat!("#[", "allow("), concat!("#![", "allow(")];
    let mut broken = Vec::new();
    for source in sources("rs") {
        for (at, line) in source.text.lines().enumerate() {
            if needles.iter().any(|needle| line.trim_start().starts_with(needle)) {
                broken.push(format!("{}:{}: {}", source.path.display(), at + 1, line.trim()));
            }
        }
    }
    assert_none("a lint is silenced by expect, which says why and ends when it is not needed", &broken);
}

#[test]
fn every_crate_inherits_the_lints() {
    let metadata = metadata();
    let broken: Vec<String> = metadata
        .workspace_packages()
        .into_iter()
        .filter(|package| {
            let manifest = std::fs::read_to_string(&package.manifest_path).unwrap_or_default();
            let mut lines = manifest.lines().map(str::trim).skip_while(|line| *line != "[lints]");
            lines.nth(1) != Some("workspace = true")
        })
        .map(|package| package.name.to_string())
        .collect();
    assert_none("every crate has [lints] workspace = true", &broken);
}

#[test]
fn every_crate_says_what_it_is() {
    let mut broken = Vec::new();
    for package in metadata().workspace_packages() {
        let folder = package.manifest_path.parent().expect("a manifest is in a folder");
        let folder = folder.as_std_path().strip_prefix(root()).expect("a crate is in the repository");
        for entry in ["src/lib.rs", "src/main.rs"] {
            let path = folder.join(entry);
            let Ok(text) = std::fs::read_to_string(root().join(&path)) else { continue };
            if !text.lines().any(|line| line.starts_with("//! ")) {
                broken.push(path.display().to_string());
            }
        }
    }
    assert_none("a crate begins with what it is", &broken);
}
