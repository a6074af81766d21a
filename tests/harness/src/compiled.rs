//! Compiled components that one `tarn` of the tests hands on to the next.
//!
//! Compiling the connectors takes most of what a start in a fresh folder does, and comes out the same each time. An entry
//! is named by a digest of all that shapes it, so that what another build left is never taken, but for its place.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::config::COMPILED_ENTRIES_MAX;

/// Gives a data folder what others have compiled.
pub(crate) fn give(binary: &Path, data: &Path) {
    let folder = data.join("compiled");
    let copied = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    copied.and_then(|()| copy(&kept(binary), &folder)).expect("compiled components can be copied");
}

/// Keeps what a data folder's `tarn` has compiled, for others. With too many entries, of builds that are gone, it begins anew.
pub(crate) fn keep(binary: &Path, data: &Path) {
    let kept = kept(binary);
    if fs::read_dir(&kept).is_ok_and(|entries| entries.count() > COMPILED_ENTRIES_MAX) {
        // Another test may be at it.
        let _ = fs::remove_dir_all(&kept);
    }
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&kept);
    // What is not kept is compiled again.
    let _ = made.and_then(|()| copy(&data.join("compiled"), &kept));
}

/// The folder beside the binary.
fn kept(binary: &Path) -> PathBuf {
    binary.with_file_name("compiled-for-tests")
}

/// Copies the entries that are not there, each of them whole or not at all.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let there = to.join(entry.file_name());
        if entry.path().extension().is_none_or(|extension| extension != "cwasm") || there.exists() {
            continue;
        }
        let beside = tempfile::NamedTempFile::new_in(to)?;
        match fs::copy(entry.path(), beside.path()) {
            // It was removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            copied => {
                copied?;
                beside.persist(there).map_err(|error| error.error)?;
            }
        }
    }
    Ok(())
}
