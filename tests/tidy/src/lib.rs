//! Rules of the house, checked on the sources themselves: the tests are in `tests/tidy`.
//!
//! This library finds the sources; it knows no rule.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{Metadata, MetadataCommand};

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate is two folders below the root")
}

/// The workspace, its dependencies for this machine resolved as the lock file says.
pub fn metadata() -> Metadata {
    let platform = option_env!("CARGO_BUILD_TARGET").unwrap_or("x86_64-unknown-linux-gnu");
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .other_options(vec!["--locked".to_owned(), "--filter-platform".to_owned(), platform.to_owned()])
        .exec()
        .expect("cargo knows the workspace, and Cargo.lock is up to date")
}

/// The repository's files by their paths from the root: what git tracks, and what it would if it were told to;
/// where the sources came without git, what is there.
pub fn files() -> BTreeSet<PathBuf> {
    let listed = Command::new("git")
        .current_dir(root())
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output();
    let found: BTreeSet<PathBuf> = match listed {
        Ok(listed) if listed.status.success() => {
            let names = String::from_utf8(listed.stdout).expect("names are UTF-8");
            let paths = names.split_terminator('\0').map(PathBuf::from);
            paths.filter(|path| root().join(path).exists()).collect()
        }
        _ => {
            let mut found = Vec::new();
            walk(root(), &mut |path| found.push(path.to_owned()));
            found.iter().map(|path| from_root(path)).collect()
        }
    };
    assert!(!found.is_empty(), "the repository has files");
    found
}

/// A source file, by its path from the root.
#[derive(Debug)]
pub struct Source {
    /// The path from the root.
    pub path: PathBuf,
    /// What is in it.
    pub text: String,
}

/// All files with an extension, but for build output and hidden folders, in the order of their paths.
pub fn sources(extension: &str) -> Vec<Source> {
    let mut found = Vec::new();
    walk(root(), &mut |path| {
        if path.extension().is_some_and(|found| found == extension) {
            let text = fs::read_to_string(path).expect("a source file is text");
            found.push(Source { path: from_root(path), text });
        }
    });
    found.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(!found.is_empty(), "the repository has files ending in {extension}");
    found
}

/// Shows every file below a folder, but for build output and hidden folders other than `.ci`.
fn walk(folder: &Path, show: &mut impl FnMut(&Path)) {
    let entries = fs::read_dir(folder).expect("a folder of the repository is readable");
    for entry in entries {
        let path = entry.expect("a folder of the repository is readable").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !path.is_dir() {
            show(&path);
        } else if name == ".ci" || name != "target" && !name.starts_with('.') {
            walk(&path, show);
        }
    }
}

fn from_root(path: &Path) -> PathBuf {
    path.strip_prefix(root()).expect("the walk began at the root").to_owned()
}
