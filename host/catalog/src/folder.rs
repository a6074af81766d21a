//! The data directory: for the owner only, for one process at a time, with the sealing key in it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::CatalogError;
use crate::config::{LOCK_PAUSE, LOCK_TRIES_MAX};
use crate::sealing::{Sealer, new_key};

/// A data directory that this process holds. The lock is the operating system's: it ends with the
/// process, also by `kill -9`.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes the directory if needed and takes it, waiting a moment for a holder that is just ending.
    pub(crate) async fn open(path: &Path) -> Result<Self, CatalogError> {
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed(path))?;
        let lock_path = path.join("tarn.lock");
        let lock = private().truncate(false).open(&lock_path).map_err(failed(&lock_path))?;
        for _ in 0..LOCK_TRIES_MAX {
            match lock.try_lock() {
                Ok(()) => return Ok(Self { path: path.to_owned(), _lock: lock }),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_PAUSE).await,
                Err(TryLockError::Error(source)) => return Err(failed(&lock_path)(source)),
            }
        }
        Err(CatalogError::InUse { path: path.display().to_string() })
    }

    /// Where the SQLite catalog is: its owner's alone, made so where it is missing or was more. The files
    /// that SQLite makes beside it get the mode of the database.
    pub(crate) fn database(&self) -> Result<PathBuf, CatalogError> {
        let path = self.path.join("catalog.sqlite");
        let failed = |source| CatalogError::Folder { path: path.display().to_string(), source };
        private().truncate(false).open(&path).map_err(failed)?;
        for name in ["catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm"] {
            match fs::set_permissions(self.path.join(name), Permissions::from_mode(0o600)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(path)
    }

    /// The sealing keys that are there, the one in use before one that a rotation left beside it; the first
    /// is made where there is none.
    pub(crate) fn keys(&self) -> Result<Vec<Sealer>, CatalogError> {
        let mut keys = Vec::new();
        for path in [self.key_path(), self.next_key_path()] {
            keys.extend(read_key(&path)?);
        }
        if keys.is_empty() {
            keys.push(self.make_key(&self.key_path())?);
        }
        Ok(keys)
    }

    /// The key that a rotation goes to: the one that an interrupted rotation left, or a new one.
    pub(crate) fn next_key(&self) -> Result<Sealer, CatalogError> {
        let path = self.next_key_path();
        read_key(&path)?.map_or_else(|| self.make_key(&path), Ok)
    }

    /// Moves the next key into the place of the one in use.
    pub(crate) fn adopt_next_key(&self) -> Result<(), CatalogError> {
        let path = self.next_key_path();
        let moved = fs::rename(&path, self.key_path()).and_then(|()| self.sync());
        moved.map_err(|source| failed(&path)(source))
    }

    /// Finishes a rotation that was interrupted after the secrets were sealed with the next key; whether it
    /// was.
    pub(crate) fn finish_rotation(&self, sealing: &Sealer) -> Result<bool, CatalogError> {
        let is_next = read_key(&self.next_key_path())?.is_some_and(|key| key.id() == sealing.id());
        if is_next {
            self.adopt_next_key()?;
        }
        Ok(is_next)
    }

    fn key_path(&self) -> PathBuf {
        self.path.join("sealing.key")
    }

    fn next_key_path(&self) -> PathBuf {
        self.path.join("sealing.key.next")
    }

    /// Makes a key. A crash meanwhile leaves either no file of the name or a whole one.
    fn make_key(&self, path: &Path) -> Result<Sealer, CatalogError> {
        let text = new_key();
        self.write_key(path, &text).map_err(failed(path))?;
        Sealer::from_base64(&text, &path.display().to_string())
    }

    fn write_key(&self, path: &Path, text: &str) -> io::Result<()> {
        let draft = self.path.join("sealing.key.draft");
        let mut file = private().truncate(true).open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        self.sync()
    }

    /// Makes renames durable.
    fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }
}

/// The key of a file, if it is there.
fn read_key(path: &Path) -> Result<Option<Sealer>, CatalogError> {
    match fs::read_to_string(path) {
        Ok(text) => Sealer::from_base64(&text, &path.display().to_string()).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path)(error)),
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> CatalogError {
    let path = path.display().to_string();
    move |source| CatalogError::Folder { path, source }
}

/// Options that open a file for its owner only.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_process_holds_a_data_directory() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("data");
        let held = Folder::open(&path).await.expect("free");
        assert!(matches!(Folder::open(&path).await, Err(CatalogError::InUse { .. })));
        drop(held);
        Folder::open(&path).await.expect("free again");
    }

    #[tokio::test]
    async fn a_holder_that_is_just_ending_is_waited_for() {
        let parent = tempfile::tempdir().expect("a folder");
        let held = Folder::open(parent.path()).await.expect("free");
        let release = async {
            tokio::time::sleep(LOCK_PAUSE * 3).await;
            drop(held);
        };
        let (next, ()) = tokio::join!(Folder::open(parent.path()), release);
        next.expect("free within the wait");
    }

    #[tokio::test]
    async fn the_key_is_made_once_and_is_the_owners_alone() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(parent.path()).await.expect("free");
        let id = |keys: Vec<Sealer>| keys.iter().map(|key| key.id().to_owned()).collect::<Vec<_>>();
        let made = id(folder.keys().expect("made"));
        assert_eq!(id(folder.keys().expect("read")), made);
        for path in [folder.key_path(), {
            folder.next_key().expect("made");
            folder.next_key_path()
        }] {
            let mode = fs::metadata(path).expect("exists").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
