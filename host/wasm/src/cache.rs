//! Compiled components kept between starts.
//!
//! An entry is a file named by a digest of what it was compiled from: the component, wasmtime's version and
//! every setting that shapes compiled code. It holds the digest of its content and then the content.
//!
//! # Why the content is trusted
//! A compiled component is machine code, and wasmtime cannot check it: whoever can write an entry decides
//! what this process runs. So the folder and the files belong to the service's user alone (0700, 0600),
//! in its data directory, next to the catalog that already holds everything the service knows: who can
//! write there needs no cache to do harm. Against accidents (a full disk, a crash in the middle of a write,
//! a bad sector) an entry is written beside and renamed, and one whose content does not match its digest
//! is compiled again. Entries are read into memory rather than mapped: what was checked is what is run.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use wasmtime::Engine;

/// The extension of entries.
const EXTENSION: &str = "cwasm";

/// The extension of entries that are being written.
const EXTENSION_BESIDE: &str = "new";

/// Compiled components in a folder.
#[derive(Debug)]
pub(crate) struct Cache {
    dir: PathBuf,
    bytes_max: u64,
}

/// A file of the folder.
struct Entry {
    /// When it was last used.
    used: SystemTime,
    bytes: u64,
    path: PathBuf,
}

/// What a compiled component was made from, as a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key(String);

impl Key {
    pub(crate) fn new(engine: &Engine, component: &[u8]) -> Self {
        let mut settings = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut settings);
        Self(format!("{}-{:016x}", hex(digest(&SHA256, component).as_ref()), settings.finish()))
    }
}

impl Cache {
    /// The cache in a folder, of so many bytes at most; the entry that was put last stays whatever its size.
    pub(crate) fn open(dir: PathBuf, bytes_max: u64) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        let cache = Self { dir, bytes_max };
        // What a crash left half written; a data directory has one process.
        for left in cache.files(EXTENSION_BESIDE)? {
            fs::remove_file(left.path)?;
        }
        Ok(cache)
    }

    /// The compiled component, or `None` when there is none or it is damaged.
    pub(crate) fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        let mut entry = match fs::read(&path) {
            Ok(entry) => entry,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a compiled component cannot be read");
                return None;
            }
        };
        let whole = entry
            .split_first_chunk::<SHA256_OUTPUT_LEN>()
            .is_some_and(|(expected, content)| digest(&SHA256, content).as_ref() == expected);
        if !whole {
            tracing::warn!(path = %path.display(), "a compiled component is damaged and is compiled again");
            return None;
        }
        touch(&path);
        entry.drain(..SHA256_OUTPUT_LEN);
        Some(entry)
    }

    /// Keeps a compiled component. That it cannot be kept costs time at the next start and nothing else.
    pub(crate) fn put(&self, key: &Key, content: &[u8]) {
        let path = self.path(key);
        if let Err(error) = self.write(&path, content) {
            tracing::warn!(path = %path.display(), %error, "a compiled component cannot be kept");
        }
        if let Err(error) = self.prune() {
            tracing::warn!(path = %self.dir.display(), %error, "old compiled components cannot be removed");
        }
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.dir.join(&key.0).with_extension(EXTENSION)
    }

    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        static WRITES: AtomicU64 = AtomicU64::new(0);
        let beside =
            path.with_extension(format!("{}.{EXTENSION_BESIDE}", WRITES.fetch_add(1, Ordering::Relaxed)));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        let written = file
            .write_all(digest(&SHA256, content).as_ref())
            .and_then(|()| file.write_all(content))
            .and_then(|()| fs::rename(&beside, path));
        if written.is_err() {
            drop(fs::remove_file(&beside));
        }
        written
    }

    /// Removes the longest unused entries over the limit.
    fn prune(&self) -> io::Result<()> {
        let mut entries = self.files(EXTENSION)?;
        entries.sort_unstable_by(|one, other| (one.used, &one.path).cmp(&(other.used, &other.path)));
        let newest_first = entries.iter().rev();
        let over = newest_first.scan(0, |sum: &mut u64, entry| {
            *sum += entry.bytes;
            Some((*sum, entry))
        });
        over.skip(1)
            .filter(|(sum, _)| *sum > self.bytes_max)
            .try_for_each(|(_, entry)| fs::remove_file(&entry.path))
    }

    /// The folder's files of an extension.
    fn files(&self, extension: &str) -> io::Result<Vec<Entry>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let path = entry?.path();
            if path.extension().is_some_and(|found| found == extension) {
                let metadata = fs::metadata(&path)?;
                files.push(Entry { used: metadata.modified()?, bytes: metadata.len(), path });
            }
        }
        Ok(files)
    }
}

/// Marks an entry as used now. Without it the entry is only removed earlier.
fn touch(path: &Path) {
    let touched =
        File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
    if let Err(error) = touched {
        tracing::debug!(path = %path.display(), %error, "a compiled component cannot be marked as used");
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn key(name: &str) -> Key {
        Key(name.to_owned())
    }

    #[test]
    fn an_entry_comes_back_and_belongs_to_its_user_alone() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let cache = Cache::open(dir.path().join("compiled"), 1 << 20).expect("cache");
        assert_eq!(cache.get(&key("a")), None);
        cache.put(&key("a"), b"code");
        assert_eq!(cache.get(&key("a")).as_deref(), Some(&b"code"[..]));
        let mode = |path: &Path| fs::metadata(path).expect("metadata").permissions().mode() & 0o777;
        assert_eq!(mode(&cache.dir), 0o700);
        assert_eq!(mode(&cache.path(&key("a"))), 0o600);
    }

    #[test]
    fn a_damaged_entry_is_not_given_out() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let cache = Cache::open(dir.path().to_owned(), 1 << 20).expect("cache");
        cache.put(&key("a"), b"code");
        let whole = fs::read(cache.path(&key("a"))).expect("entry");
        for damage in 0..whole.len() {
            let mut entry = whole.clone();
            entry[damage] ^= 1;
            fs::write(cache.path(&key("a")), &entry).expect("write");
            assert_eq!(cache.get(&key("a")), None, "byte {damage} changed");
            fs::write(cache.path(&key("a")), &whole[..damage]).expect("write");
            assert_eq!(cache.get(&key("a")), None, "cut to {damage} bytes");
        }
    }

    #[test]
    fn the_folder_does_not_grow_without_bound() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let cache = Cache::open(dir.path().to_owned(), 2 * (SHA256_OUTPUT_LEN as u64 + 4)).expect("cache");
        for name in ["a", "b", "c", "d"] {
            cache.put(&key(name), b"code");
        }
        assert_eq!(fs::read_dir(dir.path()).expect("folder").count(), 2);
        assert!(cache.get(&key("d")).is_some());
        cache.put(&key("larger than all"), &[7; 100]);
        assert!(cache.get(&key("larger than all")).is_some());
        assert_eq!(fs::read_dir(dir.path()).expect("folder").count(), 1);
    }
}
