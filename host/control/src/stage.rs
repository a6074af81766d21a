//! Where mirrors' rows wait for a destination that is away: files in the data folder.
//!
//! ```text
//!   <data folder>/stage/<mirror>/<number>.<after>.staged      one for each entry, delivered by number
//! ```
//!
//! An entry is written under another name, synced, renamed, and its folder synced: it is there whole, or not at all. One
//! that is delivered is gone for good before the next is: should one come back after later rows, so would its TRUNCATE.
//! The catalog knows which mirrors have something here, so that a lost folder is no silent gap.
//! Its name holds the sequence that everything before it was committed by, so that whoever wants to know how far the
//! destination is need not read it. The files hold rows in the clear, like the destination; they are their owner's alone.

mod entry;

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tarn_catalog::Catalog;
use tarn_model::{Failure, FailureClass};
use tarn_replication::{OpenStage, Stage, Staged, Ticket};
use tokio::task::spawn_blocking;

/// The stages of all mirrors. Clones share them.
#[derive(Clone, Debug)]
pub struct Stages {
    folder: Option<PathBuf>,
    bytes_max: u64,
    gates: Arc<Mutex<HashMap<i64, Gate>>>,
}

/// Counts the lives of a mirror's stage, and is held while one of them works on the folder: a call whose life is over
/// may still be waiting for the disk.
type Gate = Arc<Mutex<u64>>;

impl Stages {
    /// Stages in a folder, each with room for so many bytes. Without room nothing is put there, and what is there
    /// from before is delivered.
    pub fn new(folder: PathBuf, bytes_max: u64) -> Self {
        Self { folder: Some(folder), bytes_max, gates: Arc::default() }
    }

    /// No stages: what cannot be written waits at the source.
    pub fn none() -> Self {
        Self { folder: None, bytes_max: 0, gates: Arc::default() }
    }

    /// A mirror's stage with what waits in it, and nothing where there is neither that nor room.
    ///
    /// # Errors
    /// Class position-lost where the catalog knows of rows that are not there.
    pub(crate) async fn open(
        &self,
        catalog: &Catalog,
        mirror: i64,
    ) -> Result<Option<OpenStage<FolderStage>>, Failure> {
        let staged = catalog.is_staged(mirror).await?;
        let Some(folder) = self.folder_of(mirror) else {
            return if staged { Err(missing()) } else { Ok(None) };
        };
        let (gate, bytes_max) = (self.gate(mirror), self.bytes_max);
        let shared = Arc::clone(&gate);
        let (life, entries) = blocking(move || {
            let mut life = hold(&shared);
            *life += 1;
            Ok((*life, list(&folder).map_err(failed)?))
        })
        .await?;
        if entries.is_empty() && staged {
            return Err(missing());
        }
        if entries.is_empty() && bytes_max == 0 {
            return Ok(None);
        }
        let waiting = entries.values().map(|(ticket, _)| *ticket).collect();
        let folder = self.folder_of(mirror).expect("it was there before");
        let stage = FolderStage { catalog: catalog.clone(), mirror, folder, gate, life, entries, staged };
        Ok(Some(OpenStage { stage, waiting, bytes_max }))
    }

    /// Gives up what waits: it will be loaded again, or the mirror is dropped.
    pub(crate) async fn forget(&self, mirror: i64) -> Result<(), Failure> {
        let Some(folder) = self.folder_of(mirror) else { return Ok(()) };
        let gate = self.gate(mirror);
        blocking(move || {
            *hold(&gate) += 1;
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            }
        })
        .await
    }

    /// The sequence after which something waits, if anything does: the destination has what is before.
    pub(crate) async fn waits_after(&self, mirror: i64) -> Result<Option<u64>, Failure> {
        let Some(folder) = self.folder_of(mirror) else { return Ok(None) };
        blocking(move || {
            let entries = list(&folder).map_err(failed)?;
            Ok(entries.values().next().map(|(ticket, _)| ticket.after))
        })
        .await
    }

    fn folder_of(&self, mirror: i64) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(mirror.to_string()))
    }

    fn gate(&self, mirror: i64) -> Gate {
        // A panic leaves the map whole: it only grows.
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(gates.entry(mirror).or_default())
    }
}

/// A mirror's stage, for one life of its stream.
#[derive(Debug)]
pub(crate) struct FolderStage {
    catalog: Catalog,
    mirror: i64,
    folder: PathBuf,
    gate: Gate,
    life: u64,
    entries: BTreeMap<u64, (Ticket, PathBuf)>,
    /// Whether the catalog knows that something is here.
    staged: bool,
}

impl FolderStage {
    /// Works on the folder, if no later life does by now.
    async fn within_life<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let (gate, own) = (Arc::clone(&self.gate), self.life);
        blocking(move || {
            let life = hold(&gate);
            if *life == own { work() } else { Err(interrupted("it was opened anew")) }
        })
        .await
    }

    async fn set_staged(&mut self, staged: bool) -> Result<(), Failure> {
        if self.staged != staged {
            self.catalog.set_staged(self.mirror, staged).await?;
            self.staged = staged;
        }
        Ok(())
    }
}

impl Stage for FolderStage {
    async fn put(&mut self, ticket: Ticket, staged: &Staged) -> Result<(), Failure> {
        let (folder, staged) = (self.folder.clone(), staged.clone());
        let path = self.within_life(move || put(&folder, ticket, &staged).map_err(failed)).await?;
        self.entries.insert(ticket.number, (ticket, path));
        self.set_staged(true).await
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
        let Some((_, path)) = self.entries.get(&number) else { return Ok(()) };
        let (path, folder) = (path.clone(), self.folder.clone());
        if self.entries.len() == 1 {
            self.within_life(|| Ok(())).await?;
            self.set_staged(false).await?;
        }
        self.within_life(move || fs::remove_file(&path).and_then(|()| sync(&folder)).map_err(failed)).await?;
        self.entries.remove(&number);
        Ok(())
    }
}

fn put(folder: &Path, ticket: Ticket, staged: &Staged) -> io::Result<PathBuf> {
    make(folder)?;
    let path = folder.join(format!("{:020}.{:020}.staged", ticket.number, ticket.after));
    let half = folder.join("half");
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&half)?;
    let mut writer = BufWriter::with_capacity(1 << 20, file);
    entry::encode(staged, &mut writer)?;
    writer.flush()?;
    writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(&half, &path)?;
    sync(folder)?;
    Ok(path)
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

/// The entries of a folder, by number; none where there is no folder. One may be delivered meanwhile.
fn list(folder: &Path) -> io::Result<BTreeMap<u64, (Ticket, PathBuf)>> {
    let mut entries = BTreeMap::new();
    let Some(files) = unless_gone(fs::read_dir(folder))? else { return Ok(entries) };
    for file in files {
        let file = file?;
        let name = file.file_name();
        let Some((number, after)) = name.to_str().and_then(numbers) else { continue };
        let Some(metadata) = unless_gone(file.metadata())? else { continue };
        let ticket = Ticket { number, after, bytes: metadata.len() };
        if entries.insert(number, (ticket, file.path())).is_some() {
            let message = format!("{} has entry {number} twice", folder.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
    }
    Ok(entries)
}

fn unless_gone<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

fn numbers(name: &str) -> Option<(u64, u64)> {
    let (number, after) = name.strip_suffix(".staged")?.split_once('.')?;
    Some((number.parse().ok()?, after.parse().ok()?))
}

fn hold(gate: &Gate) -> MutexGuard<'_, u64> {
    // Nothing but a count is behind it.
    gate.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(fault) => Err(interrupted(&fault.to_string())),
    }
}

fn interrupted(why: &str) -> Failure {
    Failure::retry("stage_interrupted", format!("the stage: {why}"))
}

#[expect(clippy::needless_pass_by_value, reason = "it is what errors are mapped by")]
fn failed(error: io::Error) -> Failure {
    if error.kind() == io::ErrorKind::InvalidData {
        return damaged(&error.to_string());
    }
    Failure::retry("stage_unusable", format!("the stage in the data folder: {error}"))
        .with_hint("make room for it, or set stage_mib_max to 0 so that further rows wait at the source")
}

fn missing() -> Failure {
    let message =
        "rows that wait for the destination are not in the data folder, and the source has forgotten them";
    Failure::new(FailureClass::PositionLost, "stage_missing", message)
        .with_hint("bring the folder stage of the data folder back and resume, or resync the mirror")
}

fn damaged(what: &str) -> Failure {
    Failure::permanent("stage_damaged", format!("what waits for the destination is damaged: {what}"))
        .with_hint("bring the file back if there is a copy and resume, or resync the mirror")
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tarn_catalog::CatalogOptions;
    use tarn_replication::Batch;

    use super::*;

    fn rows(text: &'static str) -> Staged {
        Staged::Rows(vec![Batch { bytes: Bytes::from_static(text.as_bytes()), rows: 3 }])
    }

    fn ticket(number: u64) -> Ticket {
        Ticket { number, bytes: 5, after: number * 10 }
    }

    async fn catalog(folder: &Path) -> Catalog {
        let options = CatalogOptions { data_dir: folder.join("catalog"), ..CatalogOptions::default() };
        fs::create_dir(folder.join("catalog")).expect("a folder");
        Catalog::open(&options).await.expect("a fresh catalog")
    }

    #[tokio::test]
    async fn what_is_put_is_there_for_the_next_process_in_its_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let catalog = catalog(folder.path()).await;
        let stages = Stages::new(folder.path().join("stage"), 1_000);
        let mut open = stages.open(&catalog, 7).await.expect("opens").expect("there is one");
        assert!(open.waiting.is_empty());
        open.stage.put(ticket(1), &Staged::Schema(Bytes::from_static(b"s"))).await.expect("kept");
        open.stage.put(ticket(2), &rows("two")).await.expect("kept");
        fs::write(folder.path().join("stage/7/half"), "cut off").expect("written");

        let mut open = stages.open(&catalog, 7).await.expect("opens").expect("there is one");
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
        let catalog = catalog(folder.path()).await;
        let stages = Stages::new(folder.path().to_owned(), 1_000);
        let mut open = stages.open(&catalog, 1).await.expect("opens").expect("there is one");
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
    async fn without_room_nothing_is_taken_and_what_is_there_is_still_delivered() {
        let folder = tempfile::tempdir().expect("a folder");
        let catalog = catalog(folder.path()).await;
        let without = Stages::new(folder.path().join("stage"), 0);
        assert!(without.open(&catalog, 1).await.expect("nothing to open").is_none());
        assert!(Stages::none().open(&catalog, 1).await.expect("nothing to open").is_none());
        let with = Stages::new(folder.path().join("stage"), 1_000);
        let mut open = with.open(&catalog, 1).await.expect("opens").expect("there is one");
        open.stage.put(ticket(1), &rows("one")).await.expect("kept");
        assert_eq!(without.waits_after(1).await.expect("read"), Some(10));
        let open = without.open(&catalog, 1).await.expect("opens").expect("something waits");
        assert_eq!((open.waiting.len(), open.bytes_max), (1, 0));
    }

    #[tokio::test]
    async fn a_lost_folder_is_no_silent_gap() {
        let folder = tempfile::tempdir().expect("a folder");
        let catalog = catalog(folder.path()).await;
        let stages = Stages::new(folder.path().join("stage"), 1_000);
        let mut open = stages.open(&catalog, 1).await.expect("opens").expect("there is one");
        open.stage.put(ticket(1), &rows("one")).await.expect("kept");
        fs::rename(folder.path().join("stage"), folder.path().join("elsewhere")).expect("moved");
        let failure = stages.open(&catalog, 1).await.expect_err("it is known to have rows");
        assert_eq!((failure.class, failure.code.as_str()), (FailureClass::PositionLost, "stage_missing"));
        fs::rename(folder.path().join("elsewhere"), folder.path().join("stage")).expect("moved");
        let mut open = stages.open(&catalog, 1).await.expect("opens").expect("there is one");
        open.stage.remove(1).await.expect("removed");
        fs::remove_dir_all(folder.path().join("stage")).expect("removed");
        stages.open(&catalog, 1).await.expect("nothing has to be there");
    }

    #[tokio::test]
    async fn a_life_that_is_over_changes_nothing_any_more() {
        let folder = tempfile::tempdir().expect("a folder");
        let catalog = catalog(folder.path()).await;
        let stages = Stages::new(folder.path().join("stage"), 1_000);
        let mut first = stages.open(&catalog, 1).await.expect("opens").expect("there is one").stage;
        first.put(ticket(1), &rows("one")).await.expect("kept");
        let mut second = stages.open(&catalog, 1).await.expect("opens").expect("there is one").stage;
        assert_eq!(first.put(ticket(2), &rows("late")).await.expect_err("over").code, "stage_interrupted");
        assert_eq!(first.remove(1).await.expect_err("over").code, "stage_interrupted");
        second.put(ticket(2), &rows("two")).await.expect("kept");
        assert_eq!(second.get(2).await.expect("there"), rows("two"));
        let folder = folder.path().join("stage/1");
        fs::copy(folder.join(format!("{:020}.{:020}.staged", 2, 20)), folder.join("2.30.staged"))
            .expect("copied");
        assert_eq!(stages.open(&catalog, 1).await.expect_err("twice").code, "stage_damaged");
    }
}
