//! The capability `spool`: files of one instance that are gone with it.
//!
//! A file has no name in its folder from the moment it is made: whatever ends the process, nothing is left behind.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use crate::bindings::tarn::plugin::spool::{Error, Host};
use crate::config::{SPOOL_BYTES_MAX, SPOOL_FILES_MAX, SPOOL_READ_BYTES_MAX};
use crate::state::State;

/// What one instance put aside.
#[derive(Debug, Default)]
pub(crate) struct Spool {
    /// Where its files are; without, it has none.
    folder: Option<Arc<Path>>,
    files: HashMap<u64, Spooled>,
    /// Of all files.
    bytes: u64,
}

#[derive(Debug)]
struct Spooled {
    file: Arc<File>,
    bytes: u64,
}

impl Spool {
    pub(crate) fn new(folder: Option<Arc<Path>>) -> Self {
        Self { folder, ..Self::default() }
    }

    /// The file of a number, made if need be, and its length; or why there is no room for more.
    async fn file(&mut self, number: u64, bytes: u64) -> Result<&mut Spooled, Error> {
        let folder = self.folder.clone().ok_or_else(|| Error {
            full: false,
            message: "this instance has no place to put bytes aside".to_owned(),
        })?;
        if self.bytes.saturating_add(bytes) > SPOOL_BYTES_MAX {
            return Err(full(format!("more than {} MiB are put aside", SPOOL_BYTES_MAX >> 20)));
        }
        if !self.files.contains_key(&number) {
            if self.files.len() >= SPOOL_FILES_MAX {
                return Err(full(format!("more than {SPOOL_FILES_MAX} files are put aside")));
            }
            let file = blocking(move || tempfile::tempfile_in(folder)).await?;
            self.files.insert(number, Spooled { file: Arc::new(file), bytes: 0 });
        }
        Ok(self.files.get_mut(&number).expect("it was there, or was just made"))
    }

    async fn append(&mut self, number: u64, bytes: Vec<u8>) -> Result<(), Error> {
        let length = bytes.len() as u64;
        let spooled = self.file(number, length).await?;
        let (file, at) = (Arc::clone(&spooled.file), spooled.bytes);
        blocking(move || file.write_all_at(&bytes, at)).await?;
        spooled.bytes += length;
        self.bytes += length;
        Ok(())
    }

    async fn read(&self, number: u64, offset: u64, bytes_max: usize) -> Result<Vec<u8>, Error> {
        let Some(spooled) = self.files.get(&number) else { return Ok(Vec::new()) };
        let left = spooled.bytes.saturating_sub(offset);
        let bytes_max = bytes_max.min(SPOOL_READ_BYTES_MAX);
        let mut bytes = vec![0; usize::try_from(left).unwrap_or(usize::MAX).min(bytes_max)];
        let file = Arc::clone(&spooled.file);
        blocking(move || file.read_exact_at(&mut bytes, offset).map(|()| bytes)).await
    }

    fn remove(&mut self, number: u64) {
        if let Some(spooled) = self.files.remove(&number) {
            self.bytes -= spooled.bytes;
        }
    }
}

impl Host for State {
    async fn append(&mut self, file: u64, bytes: Vec<u8>) -> wasmtime::Result<Result<(), Error>> {
        self.meter.enter_host()?;
        let outcome = self.spool.append(file, bytes).await;
        self.meter.leave_host();
        Ok(outcome)
    }

    async fn read(
        &mut self,
        file: u64,
        offset: u64,
        bytes_max: u32,
    ) -> wasmtime::Result<Result<Vec<u8>, Error>> {
        self.meter.enter_host()?;
        let outcome = self.spool.read(file, offset, bytes_max as usize).await;
        self.meter.leave_host();
        Ok(outcome)
    }

    async fn remove(&mut self, file: u64) -> wasmtime::Result<()> {
        self.meter.count_host_call()?;
        self.spool.remove(file);
        Ok(())
    }

    async fn clear(&mut self) -> wasmtime::Result<()> {
        self.meter.count_host_call()?;
        self.spool.files.clear();
        self.spool.bytes = 0;
        Ok(())
    }
}

/// What a disk may take its time for.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await.map_err(io::Error::other).flatten();
    done.map_err(|error| Error {
        full: matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded),
        message: format!("bytes cannot be put aside: {error}"),
    })
}

fn full(message: String) -> Error {
    Error { full: true, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bytes_come_back_as_they_were_put_and_no_file_is_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut spool = Spool::new(Some(folder.path().into()));
        for bytes in [&b"ab"[..], b"", b"cde"] {
            spool.append(7, bytes.to_vec()).await.expect("there is room");
        }
        spool.append(u64::MAX, b"x".to_vec()).await.expect("there is room");
        assert_eq!(spool.read(7, 1, 3).await.expect("bytes"), b"bcd");
        assert_eq!(spool.read(7, 4, 100).await.expect("bytes"), b"e");
        for (file, offset) in [(7, 5), (7, 6), (8, 0)] {
            assert_eq!(spool.read(file, offset, 100).await.expect("no bytes"), b"", "{file} {offset}");
        }
        assert_eq!(spool.bytes, 6);
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
        let long = vec![7; SPOOL_READ_BYTES_MAX + 1];
        spool.append(9, long).await.expect("there is room");
        assert_eq!(spool.read(9, 0, usize::MAX).await.expect("bytes").len(), SPOOL_READ_BYTES_MAX);
        spool.remove(9);
        spool.remove(7);
        spool.remove(8);
        assert_eq!((spool.bytes, spool.read(7, 0, 9).await.expect("no bytes")), (1, Vec::new()));
    }

    #[tokio::test]
    async fn what_is_too_much_is_refused_as_such() {
        let error = Spool::default().append(1, vec![0]).await.expect_err("no folder");
        assert!(!error.full, "{error:?}");
        let folder = tempfile::tempdir().expect("a folder");
        let mut spool = Spool::new(Some(folder.path().into()));
        spool.bytes = SPOOL_BYTES_MAX;
        assert!(spool.append(1, vec![0]).await.expect_err("no room").full);
        spool.bytes = 0;
        for file in 0..SPOOL_FILES_MAX as u64 {
            spool.append(file, vec![0]).await.expect("there is room");
        }
        assert!(spool.append(u64::MAX, vec![0]).await.expect_err("no room").full);
        spool.append(0, vec![0]).await.expect("it is there already");
    }
}
