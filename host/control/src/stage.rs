//! Where mirrors' rows wait for a destination that is away: the data folder, or a bucket.
//!
//! ```text
//!   <data folder>/stage/<mirror>/<number>.<life>.entry
//!   s3://<bucket>/<prefix>/tarn/<server>/<mirror>/<number>.<life>.entry      delivered by number
//! ```
//!
//! An entry is put there whole and durably, then the catalog notes it, with its digest and the key that opens it; only
//! then is it acknowledged. Forgetting is the other way round: the catalog forgets it, then it is removed. So what waits
//! is what the catalog says. A put that ends late and an object that comes back are nobody's; what is missing or was
//! changed is told of. Lives of a stage are counted, and the catalog takes nothing from one that is over, whichever
//! process it is in.
//!
//! A stage whose mirror has nothing there asks nobody: a bucket that is away keeps no healthy mirror from running.

mod entry;
mod failures;
mod folder;
mod place;
mod sweeper;
mod troubles;

use std::collections::BTreeMap;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use ring::rand::{SecureRandom as _, SystemRandom};
use tarn_catalog::{Catalog, CatalogError, StageLife, StagedEntry};
use tarn_model::{Failure, PeerConfig, StageStanding, StagingBucket};
use tarn_object_store::{Bucket, BucketSettings};
use tarn_replication::{OpenStage, STAGE_FULL, Stage, Staged, Ticket};
use tokio::task::spawn_blocking;

use self::failures::{damaged, elsewhere, interrupted, missing};
use self::folder::Folder;
use self::place::{Place, shown};
pub use self::sweeper::StageSweeper;
use self::troubles::Troubles;

/// What an entry's file or object is called at its end.
const ENTRY: &str = ".entry";

/// The same of an earlier version, which kept its list in the names alone.
const UNLISTED: &str = ".staged";

/// The catalog's name for what tells this server from others that share a bucket.
const SERVER: &str = "server_id";

/// How entries rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sealing {
    /// Each with a key of its own, which the catalog holds sealed.
    On,
    /// In the clear.
    Off,
}

/// Where stages are, and how.
#[derive(Clone, Debug)]
pub struct StageSettings {
    /// The folder of those that are in no bucket.
    pub folder: PathBuf,
    /// Room for each.
    pub bytes_max: u64,
    /// How entries rest.
    pub sealing: Sealing,
    /// Whether peers' buckets are used.
    pub owner: StagingBucket,
    /// The service's own bucket, for whoever has no other.
    pub bucket: Option<BucketSettings>,
}

/// The stages of all mirrors. Clones share them.
#[derive(Clone, Debug)]
pub struct Stages {
    settings: Option<StageSettings>,
    troubles: Troubles,
}

impl Stages {
    /// Stages as an operator wants them. Without room nothing is put there, and what is there from before is delivered.
    pub fn new(settings: StageSettings) -> Self {
        Self { settings: Some(settings), troubles: Troubles::default() }
    }

    /// No stages: what cannot be written waits at the source.
    pub fn none() -> Self {
        Self { settings: None, troubles: Troubles::default() }
    }

    /// A mirror's stage with what waits in it, and nothing where there is neither that nor room.
    ///
    /// # Errors
    /// Class position-lost where the catalog knows of rows that are not there; passing trouble of a bucket.
    pub(crate) async fn open(
        &self,
        catalog: &Catalog,
        mirror: i64,
        destination: &str,
    ) -> Result<Option<OpenStage<MirrorStage>>, Failure> {
        let opened = self.try_to_open(catalog, mirror, destination).await;
        let opened = self.troubles.note(mirror, opened)?;
        if let Some(OpenStage { stage: MirrorStage { current: Err(failure), .. }, .. }) = &opened {
            // Nothing waits, so nothing is lost, and the mirror runs; people should know before it has to.
            let _told = self.troubles.note::<()>(mirror, Err(failure.clone()));
        }
        Ok(opened)
    }

    async fn try_to_open(
        &self,
        catalog: &Catalog,
        mirror: i64,
        destination: &str,
    ) -> Result<Option<OpenStage<MirrorStage>>, Failure> {
        self.take_over(catalog, mirror).await?;
        let StageLife { epoch, entries } = catalog.begin_stage(mirror).await?;
        let Some(settings) = &self.settings else {
            return if entries.is_empty() { Ok(None) } else { Err(missing("a stage")) };
        };
        if entries.is_empty() && settings.bytes_max == 0 {
            return Ok(None);
        }
        let current = self.current(catalog, destination).await?;
        let entries = entries.into_iter().map(|entry| (entry.number, entry)).collect();
        let stage = MirrorStage {
            catalog: catalog.clone(),
            mirror,
            epoch,
            folder: Place::Folder(Folder::new(settings.folder.clone())),
            current,
            sealing: settings.sealing,
            entries,
            troubles: self.troubles.clone(),
        };
        stage.look().await?;
        let waiting = stage.entries.values().map(ticket).collect();
        Ok(Some(OpenStage { stage, waiting, bytes_max: settings.bytes_max }))
    }

    /// Gives up what waits: it will be loaded again, or the mirror is dropped. Tells what could not be removed from
    /// where it was; that is nobody's from now on, and removed later.
    pub(crate) async fn forget(
        &self,
        catalog: &Catalog,
        mirror: i64,
        destination: &str,
    ) -> Result<Option<Failure>, Failure> {
        let waiting = catalog.forget_staged(mirror).await?;
        self.troubles.forget(mirror);
        let Some(settings) = &self.settings else { return Ok(None) };
        let folder = Place::Folder(Folder::new(settings.folder.clone()));
        if let Err(failure) = folder.clear(mirror).await {
            return Ok(Some(failure));
        }
        let Ok(current @ Place::Bucket { .. }) = self.current(catalog, destination).await? else {
            return Ok(None);
        };
        // Who never had anything in a bucket need not reach it to be dropped.
        let here = current.id();
        if let Some(entry) = waiting.iter().find(|entry| !entry.place.is_empty() && entry.place != here) {
            return Ok(Some(elsewhere(&entry.place, &here)));
        }
        if waiting.iter().all(|entry| entry.place.is_empty()) {
            return Ok(None);
        }
        Ok(current.clear(mirror).await.err())
    }

    /// The sequence after which something waits, if anything does: the destination has what is before.
    pub(crate) async fn waits_after(&self, catalog: &Catalog, mirror: i64) -> Result<Option<u64>, Failure> {
        self.take_over(catalog, mirror).await?;
        Ok(catalog.staged_after(mirror).await?)
    }

    /// How the stage of a mirror to this destination is; `counted` is what the catalog knows of what waits.
    pub(crate) async fn standing(
        &self,
        catalog: &Catalog,
        mirror: i64,
        destination: &str,
        counted: StageStanding,
    ) -> Result<StageStanding, CatalogError> {
        let place = match &self.settings {
            None => String::new(),
            Some(settings) if settings.bytes_max == 0 => String::new(),
            Some(_) => match self.bucket_settings(catalog, destination).await? {
                Some(bucket) => bucket.place(),
                None => "data folder".to_owned(),
            },
        };
        let (error, failed_at) = self.troubles.of(mirror).now.unzip();
        Ok(StageStanding { place, error: error.unwrap_or_default(), failed_at, ..counted })
    }

    /// How often something was wrong with a mirror's stage.
    pub(crate) fn trouble_count(&self, mirror: i64) -> u64 {
        self.troubles.of(mirror).count
    }

    /// The bucket that rows for a destination are put into, if not into the data folder.
    async fn bucket_settings(
        &self,
        catalog: &Catalog,
        destination: &str,
    ) -> Result<Option<BucketSettings>, CatalogError> {
        let Some(settings) = &self.settings else { return Ok(None) };
        if settings.owner == StagingBucket::Peer
            && let Some(peer) = catalog.peer(destination).await?
            && let Some(bucket) = bucket_of(&peer.config)
        {
            return Ok(Some(bucket));
        }
        Ok(settings.bucket.clone())
    }

    /// Where rows for a destination are put from now on, or why they cannot be.
    async fn current(&self, catalog: &Catalog, destination: &str) -> Result<Result<Place, Failure>, Failure> {
        let Some(settings) = &self.settings else { return Ok(Err(missing("a stage"))) };
        match self.bucket_settings(catalog, destination).await? {
            Some(bucket) => place_in(catalog, &bucket).await,
            None => Ok(Ok(Place::Folder(Folder::new(settings.folder.clone())))),
        }
    }

    /// Every place that a mirror may have put something.
    async fn all_places(&self, catalog: &Catalog) -> Result<Vec<Place>, Failure> {
        let Some(settings) = &self.settings else { return Ok(Vec::new()) };
        let mut places = vec![Place::Folder(Folder::new(settings.folder.clone()))];
        let mut buckets: Vec<_> = settings.bucket.iter().cloned().collect();
        if settings.owner == StagingBucket::Peer {
            for (name, _) in catalog.peers().await? {
                buckets.extend(catalog.peer(&name).await?.and_then(|peer| bucket_of(&peer.config)));
            }
        }
        for bucket in buckets {
            // One that cannot be used has nothing in it, and its mirrors tell of it.
            if let Ok(place) = place_in(catalog, &bucket).await?
                && places.iter().all(|known| known.id() != place.id())
            {
                places.push(place);
            }
        }
        Ok(places)
    }

    /// Lists in the catalog what an earlier version kept in the names of files alone.
    async fn take_over(&self, catalog: &Catalog, mirror: i64) -> Result<(), Failure> {
        if !catalog.has_unlisted_stage(mirror).await? {
            return Ok(());
        }
        let Some(settings) = &self.settings else { return Err(missing("a stage")) };
        let mut entries = BTreeMap::new();
        for (name, bytes) in Folder::new(settings.folder.clone()).list(&mirror.to_string()).await? {
            let Some((number, after)) = unlisted(&name) else { continue };
            let entry = StagedEntry {
                number,
                place: String::new(),
                name,
                after,
                bytes,
                digest: String::new(),
                key: None,
            };
            if entries.insert(number, entry).is_some() {
                return Err(damaged(&format!("the data folder has entry {number} twice")));
            }
        }
        if entries.is_empty() {
            return Err(missing(shown("")));
        }
        Ok(catalog.list_stage(mirror, &entries.into_values().collect::<Vec<_>>()).await?)
    }
}

/// The bucket that a peer names.
pub(crate) fn bucket_of(config: &PeerConfig) -> Option<BucketSettings> {
    match config {
        PeerConfig::Clickhouse(config) => BucketSettings::of_peer(config),
        PeerConfig::Postgres(_) | PeerConfig::Kafka(_) => None,
    }
}

async fn place_in(catalog: &Catalog, settings: &BucketSettings) -> Result<Result<Place, Failure>, Failure> {
    let bucket = match Bucket::new(settings) {
        Ok(bucket) => bucket,
        Err(error) => return Ok(Err(error.to_failure())),
    };
    let server = catalog.meta_once(SERVER, &random_name()).await?;
    Ok(Ok(Place::Bucket { bucket, root: format!("tarn/{server}") }))
}

/// A name that nobody else has.
pub(crate) fn random_name() -> String {
    let mut bytes = [0; 12];
    SystemRandom::new().fill(&mut bytes).expect("the operating system has random bytes");
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A mirror's stage, for one life of its stream.
#[derive(Debug)]
pub(crate) struct MirrorStage {
    catalog: Catalog,
    mirror: i64,
    epoch: u64,
    folder: Place,
    /// Where rows are put from now on, or why they cannot be.
    current: Result<Place, Failure>,
    sealing: Sealing,
    entries: BTreeMap<u64, StagedEntry>,
    troubles: Troubles,
}

impl MirrorStage {
    /// Where an entry is.
    fn place(&self, entry: &StagedEntry) -> Result<&Place, Failure> {
        match &self.current {
            _ if entry.place.is_empty() => Ok(&self.folder),
            Ok(current) if current.id() == entry.place => Ok(current),
            Ok(current) => Err(elsewhere(&entry.place, shown(&current.id()))),
            Err(failure) => Err(failure.clone()),
        }
    }

    /// Looks whether everything that waits is there.
    async fn look(&self) -> Result<(), Failure> {
        let mut listed: BTreeMap<&str, BTreeMap<String, u64>> = BTreeMap::new();
        for entry in self.entries.values() {
            if !listed.contains_key(entry.place.as_str()) {
                let there = self.place(entry)?.list(&self.mirror.to_string()).await?;
                listed.insert(&entry.place, there.into_iter().collect());
            }
            if !listed[entry.place.as_str()].contains_key(&entry.name) {
                return Err(missing(&self.whereabouts(entry)));
            }
        }
        Ok(())
    }

    fn whereabouts(&self, entry: &StagedEntry) -> String {
        format!("{} (entry {} of mirror {})", shown(&entry.place), entry.name, self.mirror)
    }

    async fn try_to_put(&self, ticket: Ticket, staged: &Staged) -> Result<StagedEntry, Failure> {
        let place = self.current.as_ref().map_err(Clone::clone)?;
        let name = format!("{:020}.{:010}{ENTRY}", ticket.number, self.epoch);
        let (mirror, sealing, staged) = (self.mirror, self.sealing, staged.clone());
        let sealed_for = format!("{mirror}/{name}");
        let (content, digest, key) = computed(move || {
            let (bytes, key) = match sealing {
                Sealing::On => entry::sealed(&staged, &sealed_for).map(|(bytes, key)| (bytes, Some(key))),
                Sealing::Off => entry::clear(&staged).map(|bytes| (bytes, None)),
            }
            .map_err(|error| interrupted(&error.to_string()))?;
            let digest = entry::fingerprint(&bytes);
            Ok((Bytes::from(bytes), digest, key))
        })
        .await?;
        let entry = StagedEntry {
            number: ticket.number,
            place: place.id(),
            name,
            after: ticket.after,
            bytes: content.len() as u64,
            digest,
            key,
        };
        place.put(mirror, &entry.name, content).await?;
        match self.catalog.add_staged(mirror, self.epoch, &entry).await {
            Ok(true) => Ok(entry),
            Ok(false) => Err(interrupted("it was opened anew")),
            Err(full @ CatalogError::Full { .. }) => {
                // It is in no list. What cannot be removed is removed later.
                let _ = place.delete(&mirror.to_string(), vec![entry.name]).await;
                let Failure { message, hint, .. } = Failure::from(full);
                Err(Failure::retry(STAGE_FULL, message).with_hint(hint))
            }
            Err(failed) => Err(failed.into()),
        }
    }

    async fn try_to_get(&self, number: u64) -> Result<Staged, Failure> {
        let entry = self.entries.get(&number).cloned();
        let entry = entry.ok_or_else(|| damaged(&format!("entry {number} is not known")))?;
        let whereabouts = self.whereabouts(&entry);
        let content = self.place(&entry)?.get(self.mirror, &entry.name).await?;
        let content = content.ok_or_else(|| missing(&whereabouts))?;
        let sealed_for = format!("{}/{}", self.mirror, entry.name);
        computed(move || {
            let broken = || damaged(&format!("it is not what was put into {whereabouts}"));
            if !entry.digest.is_empty() && entry::fingerprint(&content) != entry.digest {
                return Err(broken());
            }
            match &entry.key {
                Some(key) => entry::open(Vec::from(content), &sealed_for, key),
                None => entry::decode(content),
            }
            .ok_or_else(broken)
        })
        .await
    }
}

impl Stage for MirrorStage {
    async fn put(&mut self, ticket: Ticket, staged: &Staged) -> Result<(), Failure> {
        let done = self.try_to_put(ticket, staged).await;
        let entry = self.troubles.note(self.mirror, done)?;
        self.entries.insert(ticket.number, entry);
        Ok(())
    }

    async fn get(&mut self, number: u64) -> Result<Staged, Failure> {
        let got = self.try_to_get(number).await;
        self.troubles.note(self.mirror, got)
    }

    async fn remove(&mut self, number: u64) -> Result<(), Failure> {
        if !self.entries.contains_key(&number) {
            return Ok(());
        }
        if !self.catalog.remove_staged(self.mirror, self.epoch, number).await? {
            return Err(interrupted("it was opened anew"));
        }
        let Some(entry) = self.entries.remove(&number) else { return Ok(()) };
        // It is forgotten. What could not be removed is nobody's, and removed later.
        let removed = match self.place(&entry) {
            Ok(place) => place.delete(&self.mirror.to_string(), vec![entry.name]).await,
            Err(failure) => Err(failure),
        };
        if let Err(failure) = self.troubles.note(self.mirror, removed) {
            tracing::warn!(mirror = self.mirror, %failure, "an entry that was delivered is left for later");
        }
        Ok(())
    }
}

fn ticket(entry: &StagedEntry) -> Ticket {
    Ticket { number: entry.number, after: entry.after, bytes: entry.bytes }
}

/// The life that put an entry of this name.
fn life_in(name: &str) -> Option<u64> {
    let (number, life) = name.strip_suffix(ENTRY)?.split_once('.')?;
    number.parse::<u64>().ok()?;
    life.parse().ok()
}

/// Number and sequence of an entry of an earlier version.
fn unlisted(name: &str) -> Option<(u64, u64)> {
    let (number, after) = name.strip_suffix(UNLISTED)?.split_once('.')?;
    Some((number.parse().ok()?, after.parse().ok()?))
}

/// Encoding and sealing take their time.
async fn computed<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(fault) => Err(interrupted(&fault.to_string())),
    }
}

#[cfg(test)]
mod tests;
