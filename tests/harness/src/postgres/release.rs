//! The PostgreSQL servers on this machine: Debian's, and those that `tests/harness/setup` unpacked.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::unprivileged;

/// A server's binaries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Release {
    pub(super) bin: PathBuf,
}

impl Release {
    /// The one that tests run against unless they ask for another: that of `TARN_PG_BIN`, of
    /// `TARN_TEST_POSTGRES_MAJOR`, or Debian's newest.
    pub(super) fn usual() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(bin) = variable("TARN_PG_BIN") {
            return Self { bin: bin.into() };
        }
        if let Some(major) = variable("TARN_TEST_POSTGRES_MAJOR") {
            let major = major.to_str().and_then(|major| major.parse().ok());
            return Self::of(major.expect("TARN_TEST_POSTGRES_MAJOR is a number"));
        }
        debian().pop().expect("PostgreSQL's server is installed: run tests/harness/setup").1
    }

    /// The one of a major version.
    pub(super) fn of(major: u32) -> Self {
        let found = all().into_iter().find(|(found, _)| *found == major);
        found.unwrap_or_else(|| panic!("no PostgreSQL {major} here: run tests/harness/setup releases")).1
    }

    /// `psql`, which speaks to servers of every version and is not with all of them.
    pub(super) fn psql(&self) -> PathBuf {
        let own = self.bin.join("psql");
        if own.exists() {
            return own;
        }
        debian().pop().map_or_else(|| "psql".into(), |(_, release)| release.bin.join("psql"))
    }

    /// The same where the user that runs servers can read it: as it is, or copied into a folder, for a
    /// clone of the project may lie where only its owner can look.
    pub(super) fn readable(self, folder: &Path) -> Self {
        let look =
            unprivileged::command(Path::new("test"), folder).arg("-x").arg(self.bin.join("initdb")).status();
        if look.is_ok_and(|status| status.success()) {
            return self;
        }
        let home = self.bin.parent().expect("binaries are in a folder of a release");
        let copy = folder.join("release");
        let copied = Command::new("cp").arg("-a").arg(home).arg(&copy).status();
        assert!(
            copied.is_ok_and(|status| status.success()),
            "{} cannot be copied to where others can read it",
            home.display()
        );
        Self { bin: copy.join("bin") }
    }
}

/// The major versions of the servers on this machine, each once, oldest first.
pub(super) fn majors() -> Vec<u32> {
    let mut majors: Vec<u32> = all().into_iter().map(|(major, _)| major).collect();
    majors.dedup();
    majors
}

fn all() -> Vec<(u32, Release)> {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/setup/postgres");
    let mut all = debian();
    all.extend(inside(&unpacked).into_iter().filter(|(_, release)| {
        // An installation that was interrupted is none.
        release.bin.parent().is_some_and(|home| home.join("complete").exists())
    }));
    all.sort_by_key(|(major, _)| *major);
    all
}

fn debian() -> Vec<(u32, Release)> {
    inside(Path::new("/usr/lib/postgresql"))
}

/// The releases in a folder, each in a folder named by its major version, oldest first.
fn inside(folder: &Path) -> Vec<(u32, Release)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut releases: Vec<(u32, Release)> = entries
        .filter_map(|entry| {
            let path = entry.path();
            let major = path.file_name().and_then(OsStr::to_str)?.parse().ok()?;
            let bin = path.join("bin");
            bin.join("initdb").exists().then_some((major, Release { bin }))
        })
        .collect();
    releases.sort_by_key(|(major, _)| *major);
    releases
}
