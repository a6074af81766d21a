//! Where mirrors' rows wait for a destination that is away: files in the data folder.
//!
//! ```text
//!   <data folder>/stage/<mirror>/<number>.<after>.staged      one for each entry, delivered by number
//! ```
//!
//! An entry is written under another name, synced, renamed, and its folder synced: it is there whole, or not at all.
//! Its name holds the sequence that everything before it was committed by, so that whoever wants to know how far the
//! destination is need not read it. The files hold rows in the clear, like the destination; they are their owner's alone.

mod entry;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use tarn_model::Failure;
use tarn_replication::{OpenStage, Stage, Staged, Ticket};
use tokio::task::spawn_blocking;

/// The stages of all mirrors. Clones share them.
#[derive(Clone, Debug)]
pub struct Stages {
    folder: Option<PathBuf>,
    bytes_max: u64,
}

impl Stages {
    /// Stages in a folder, each with room for so many bytes; none at all where that is nothing.
    pub fn new(folder: PathBuf, bytes_max: u64) -> Self {
        Self { folder: (bytes_max > 0).then_some(folder), bytes_max }
    }

    /// No stages: what cannot be written waits at the source.
    pub fn none() -> Self {
        Self { folder: None, bytes_max: 0 }
    }

    /// A mirror's stage with what waits in it.
    pub(crate) async fn open(&self, mirror: i64) -> Result<Option<OpenStage<FolderStage>>, Failure> {
        let Some(folder) = self.folder_of(mirror) else { return Ok(None) };
        let bytes_max = self.bytes_max;
        blocking(move || {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
            let entries = list(&folder).map_err(failed)?;
            let waiting = entries.values().map(|(ticket, _)| *ticket).collect();
            Ok(Some(OpenStage { stage: FolderStage { folder, entries }, waiting, bytes_max }))
        })
        .await
    }

    /// Gives up what waits: it will be loaded again, or the mirror is dropped.
    pub(crate) async fn forget(&self, mirror: i64) -> Result<(), Failure> {
        let Some(folder) = self.folder_of(mirror) else { return Ok(()) };
        blocking(move || match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        })
        .await
    }

    /// The sequence after which something waits, if anything does: the destination has what is before.
    pub(crate) async fn waits_after(&self, mirror: i64) -> Result<Option<u64>, Failure> {
        let Some(folder) = self.folder_of(mirror) else { return Ok(None) };
        blocking(move || match list(&folder) {
            Ok(entries) => Ok(entries.values().next().map(|(ticket, _)| ticket.after)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        })
        .await
    }

    fn folder_of(&self, mirror: i64) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(mirror.to_string()))
    }
}

/// A mirror's stage.
#[derive(Debug)]
pub(crate) struct FolderStage {
    folder: PathBuf,
    entries: BTreeMap<u64, (Ticket, PathBuf)>,
}

impl Stage for FolderStage {
    async fn put(&mut self, ticket: Ticket, staged: &Staged) -> Result<(), Failure> {
        let (folder, staged) = (self.folder.clone(), staged.clone());
        let path = blocking(move || put(&folder, ticket, &staged).map_err(failed)).await?;
        self.entries.insert(ticket.number, (ticket, path));
        Ok(())
    }

    async fn get(&mut self, number: u64) -> Result<Staged, Failure> {
        let path = self.entries.get(&number).map(|(_, path)| path.clone());
        let path = path.ok_or_else(|| damaged(&format!("entry {number} is not there")))?;
        blocking(move || {
            let bytes = fs::read(&path).map_err(failed)?;
            entry::decode(bytes).ok_or_else(|| damaged(&format!("{} is not whole", path.display())))
        })
        .await
    }

    async fn remove(&mut self, number: u64) -> Result<(), Failure> {
        let Some((_, path)) = self.entries.remove(&number) else { return Ok(()) };
        // Should it come back after a crash, it is delivered once more, which changes nothing.
        blocking(move || fs::remove_file(&path).map_err(failed)).await
    }
}

fn put(folder: &Path, ticket: Ticket, staged: &Staged) -> io::Result<PathBuf> {
    let path = folder.join(format!("{:020}.{:020}.staged", ticket.number, ticket.after));
    let half = folder.join("half");
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&half)?;
    let mut writer = BufWriter::with_capacity(1 << 20, file);
    entry::encode(staged, &mut writer)?;
    writer.flush()?;
    writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(&half, &path)?;
    File::open(folder)?.sync_all()?;
    Ok(path)
}

/// The entries of a folder, by number.
fn list(folder: &Path) -> io::Result<BTreeMap<u64, (Ticket, PathBuf)>> {
    let mut entries = BTreeMap::new();
    for file in fs::read_dir(folder)? {
        let file = file?;
        let name = file.file_name();
        let Some((number, after)) = name.to_str().and_then(numbers) else { continue };
        let ticket = Ticket { number, after, bytes: file.metadata()?.len() };
        entries.insert(number, (ticket, file.path()));
    }
    Ok(entries)
}

fn numbers(name: &str) -> Option<(u64, u64)> {
    let (number, after) = name.strip_suffix(".staged")?.split_once('.')?;
    Some((number.parse().ok()?, after.parse().ok()?))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(fault) => Err(Failure::retry("stage_interrupted", format!("the stage: {fault}"))),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what errors are mapped by")]
fn failed(error: io::Error) -> Failure {
    Failure::retry("stage_unusable", format!("the stage in the data folder: {error}"))
        .with_hint("make room for it, or set stage_mib_max to 0 so that rows wait at the source")
}

fn damaged(what: &str) -> Failure {
    Failure::permanent("stage_damaged", format!("what waits for the destination is damaged: {what}"))
        .with_hint("bring the file back if there is a copy and resume, or resync the mirror")
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tarn_replication::Batch;

    use super::*;

    fn rows(text: &'static str) -> Staged {
        Staged::Rows(vec![Batch { bytes: Bytes::from_static(text.as_bytes()), rows: 3 }])
    }

    fn ticket(number: u64) -> Ticket {
        Ticket { number, bytes: 5, after: number * 10 }
    }

    #[tokio::test]
    async fn what_is_put_is_there_for_the_next_process_in_its_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let stages = Stages::new(folder.path().join("stage"), 1_000);
        let mut open = stages.open(7).await.expect("opens").expect("there is one");
        assert!(open.waiting.is_empty());
        open.stage.put(ticket(1), &Staged::Schema(Bytes::from_static(b"s"))).await.expect("kept");
        open.stage.put(ticket(2), &rows("two")).await.expect("kept");
        fs::write(folder.path().join("stage/7/half"), "cut off").expect("written");

        let mut open = stages.open(7).await.expect("opens").expect("there is one");
        assert_eq!(open.waiting.iter().map(|ticket| ticket.number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(stages.waits_after(7).await.expect("read"), Some(10));
        assert_eq!(open.stage.get(1).await.expect("there"), Staged::Schema(Bytes::from_static(b"s")));
        assert_eq!(open.stage.get(2).await.expect("there"), rows("two"));
        open.stage.remove(1).await.expect("removed");
        open.stage.remove(1).await.expect("twice is nothing");
        assert_eq!(stages.waits_after(7).await.expect("read"), Some(20));
        assert_eq!(stages.waits_after(8).await.expect("read"), None, "of another mirror");
        stages.forget(7).await.expect("given up");
        assert_eq!(stages.waits_after(7).await.expect("read"), None);
    }

    #[tokio::test]
    async fn a_damaged_entry_is_told_of_and_not_delivered() {
        let folder = tempfile::tempdir().expect("a folder");
        let stages = Stages::new(folder.path().to_owned(), 1_000);
        let mut open = stages.open(1).await.expect("opens").expect("there is one");
        open.stage.put(ticket(1), &rows("some rows")).await.expect("kept");
        let path = fs::read_dir(folder.path().join("1"))
            .expect("a folder")
            .next()
            .expect("a file")
            .expect("it")
            .path();
        let whole = fs::read(&path).expect("read");
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, &bytes).expect("written");
            let failure = open.stage.get(1).await.expect_err("damaged");
            assert_eq!(failure.code, "stage_damaged", "{at}");
            fs::write(&path, &whole[..at]).expect("written");
            assert!(open.stage.get(1).await.is_err(), "{at}");
        }
    }

    #[tokio::test]
    async fn without_room_there_is_none() {
        assert!(Stages::new("/nowhere".into(), 0).open(1).await.expect("nothing to open").is_none());
        assert!(Stages::none().open(1).await.expect("nothing to open").is_none());
    }
}
