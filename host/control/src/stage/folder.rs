//! The data folder as a place for what waits.
//!
//! ```text
//!   <data folder>/stage/<mirror>/<name of the entry>
//! ```
//!
//! A file is written under another name, synced, renamed, and its folder synced: it is there whole, or not at all. The
//! files are their owner's alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use tarn_model::Failure;
use tarn_replication::STAGE_FULL;
use tokio::task::spawn_blocking;

use super::failures::{damaged, interrupted};

/// What a file is called until it is whole.
const HALF: &str = ".half";

/// The folder of all stages.
#[derive(Clone, Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    pub(super) async fn put(&self, mirror: &str, name: &str, content: Bytes) -> Result<(), Failure> {
        let (folder, name) = (self.0.join(mirror), name.to_owned());
        blocking(move || put(&folder, &name, &content)).await
    }

    pub(super) async fn get(&self, mirror: &str, name: &str) -> Result<Option<Bytes>, Failure> {
        let path = self.0.join(mirror).join(name);
        blocking(move || Ok(unless_gone(fs::read(path))?.map(Bytes::from))).await
    }

    pub(super) async fn delete(&self, mirror: &str, names: Vec<String>) -> Result<(), Failure> {
        let folder = self.0.join(mirror);
        blocking(move || {
            for name in names {
                unless_gone(fs::remove_file(folder.join(name)))?;
            }
            unless_gone(sync(&folder)).map(drop)
        })
        .await
    }

    /// Removes a mirror's folder with everything in it.
    pub(super) async fn clear(&self, mirror: &str) -> Result<(), Failure> {
        let folder = self.0.join(mirror);
        blocking(move || unless_gone(fs::remove_dir_all(folder)).map(drop)).await
    }

    /// Names and sizes of a mirror's files.
    pub(super) async fn list(&self, mirror: &str) -> Result<Vec<(String, u64)>, Failure> {
        let folder = self.0.join(mirror);
        blocking(move || list(&folder)).await
    }

    /// The folders of mirrors.
    pub(super) async fn mirrors(&self) -> Result<Vec<String>, Failure> {
        let folder = self.0.clone();
        blocking(move || {
            let Some(entries) = unless_gone(fs::read_dir(folder))? else { return Ok(Vec::new()) };
            entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
        })
        .await
    }
}

/// What a file of this name, whole or not, is called once it is whole.
pub(super) fn whole_name(name: &str) -> &str {
    name.strip_suffix(HALF).unwrap_or(name)
}

fn put(folder: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    make(folder)?;
    let half = folder.join(format!("{name}{HALF}"));
    let written = write(&half, content);
    if written.is_err() {
        // It took the room that there was. What cannot be removed either is removed later.
        let _ = fs::remove_file(&half);
    }
    written?;
    fs::rename(&half, folder.join(name))?;
    sync(folder)
}

fn write(half: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(half)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Makes a mirror's folder, durably, where it is not there.
fn make(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // Both may be new: that of all stages, and the mirror's in it.
    folder.ancestors().skip(1).take(2).try_for_each(sync)
}

/// Makes what is in a folder durable, names as well.
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn list(folder: &Path) -> io::Result<Vec<(String, u64)>> {
    let mut found = Vec::new();
    let Some(files) = unless_gone(fs::read_dir(folder))? else { return Ok(found) };
    for file in files {
        let file = file?;
        // One may be delivered meanwhile.
        let Some(metadata) = unless_gone(file.metadata())? else { continue };
        found.push((file.file_name().to_string_lossy().into_owned(), metadata.len()));
    }
    Ok(found)
}

fn unless_gone<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Failure> {
    match spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| failed(&error)),
        Err(fault) => Err(interrupted(&fault.to_string())),
    }
}

fn failed(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::InvalidData {
        return damaged(&error.to_string());
    }
    let code = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => STAGE_FULL,
        _ => "stage_unusable",
    };
    Failure::retry(code, format!("the stage in the data folder: {error}"))
        .with_hint("make room for it, or set stage_mib_max to 0 so that further rows wait at the source")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A device that never has room, and needs nobody's leave.
    const FULL: &str = "/dev/full";

    #[tokio::test]
    async fn a_disk_or_quota_without_room_is_a_full_stage() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::new(place.path().to_owned());
        fs::create_dir(place.path().join("1")).expect("a folder");
        let half = place.path().join("1").join(format!("a{HALF}"));
        symlink(FULL, &half).expect("a link");
        let full = folder.put("1", "a", Bytes::from_static(b"rows")).await.expect_err("it has no room");
        assert_eq!(full.code, STAGE_FULL, "{full}");
        assert!(!half.is_symlink(), "what was begun is removed");
        assert_eq!(folder.put("1", "a", Bytes::from_static(b"rows")).await, Ok(()));
        assert_eq!(failed(&io::Error::from_raw_os_error(EDQUOT)).code, STAGE_FULL);
        assert_eq!(failed(&io::Error::from_raw_os_error(EIO)).code, "stage_unusable");
    }

    const EIO: i32 = 5;
    const EDQUOT: i32 = 122;
}
