//! Stages in a folder and in a bucket: the same promises.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use tarn_catalog::{CatalogOptions, PeerStored};
use tarn_harness::Bucket as Service;
use tarn_model::{ClickHouseConfig, FailureClass, Peer, PeerConfig, Secret};
use tarn_replication::Batch;

use super::*;

const PEER: &str = "target";

fn rows(text: &'static str) -> Staged {
    Staged::Rows(vec![Batch { bytes: Bytes::from_static(text.as_bytes()), rows: 3 }])
}

fn ticket(number: u64) -> Ticket {
    Ticket { number, bytes: 5, after: number * 10 }
}

/// Where what waits is put in a test.
enum Where {
    Folder,
    Bucket(Service),
}

struct House {
    home: tempfile::TempDir,
    catalog: Catalog,
    place: Where,
    stages: Stages,
}

impl House {
    async fn new(place: Where, sealing: Sealing) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let options = CatalogOptions { data_dir: home.path().join("catalog"), ..CatalogOptions::default() };
        let catalog = Catalog::open(&options).await.expect("a fresh catalog");
        let stages = Stages::new(settings(home.path(), sealing));
        let house = Self { home, catalog, place, stages };
        house.name_bucket().await;
        house
    }

    async fn in_folder() -> Self {
        Self::new(Where::Folder, Sealing::On).await
    }

    async fn in_bucket() -> Self {
        Self::new(Where::Bucket(Service::start()), Sealing::On).await
    }

    fn service(&self) -> &Service {
        match &self.place {
            Where::Bucket(service) => service,
            Where::Folder => panic!("only a house with a bucket has a service"),
        }
    }

    /// The destination's peer, with the bucket where there is one.
    async fn name_bucket(&self) {
        let mut config = ClickHouseConfig { host: "ch".into(), ..ClickHouseConfig::default() };
        if let Where::Bucket(service) = &self.place {
            config.s3_path = format!("s3://{}/rows", service.name());
            config.access_key_id = Secret::new(service.key());
            config.secret_access_key = Secret::new(service.secret());
            config.endpoint = service.endpoint();
        }
        self.store(config).await;
    }

    async fn store(&self, config: ClickHouseConfig) {
        let seen = self.catalog.peer(PEER).await.expect("read");
        let peer = Peer { name: PEER.into(), config: PeerConfig::Clickhouse(config) };
        let stored = self.catalog.store_peer(&peer, seen.as_ref()).await.expect("stored");
        assert_eq!(stored, PeerStored::Done);
    }

    async fn try_to_open(&self, mirror: i64) -> Result<Option<OpenStage<MirrorStage>>, Failure> {
        self.stages.open(&self.catalog, mirror, PEER).await
    }

    async fn open(&self, mirror: i64) -> OpenStage<MirrorStage> {
        self.try_to_open(mirror).await.expect("opens").expect("there is one")
    }

    async fn waits_after(&self, mirror: i64) -> Option<u64> {
        self.stages.waits_after(&self.catalog, mirror).await.expect("read")
    }

    async fn sweep(&self) {
        StageSweeper::over(&self.catalog, &self.stages).sweep().await;
    }

    /// Names of all files, or objects, of a mirror.
    fn names(&self, mirror: i64) -> Vec<String> {
        let mut names: Vec<_> = match &self.place {
            Where::Folder => fs::read_dir(self.home.path().join(format!("stage/{mirror}")))
                .into_iter()
                .flatten()
                .map(|file| file.expect("it").file_name().to_string_lossy().into_owned())
                .collect(),
            Where::Bucket(service) => {
                let objects = service.objects().into_iter();
                objects
                    .filter_map(|(name, _)| {
                        name.split_once(&format!("/{mirror}/")).map(|(_, name)| name.to_owned())
                    })
                    .collect()
            }
        };
        names.sort();
        names
    }

    /// Full name of the only object.
    fn object(&self) -> String {
        let objects = self.service().objects();
        assert_eq!(objects.len(), 1, "{objects:?}");
        objects[0].0.clone()
    }

    fn content(&self, mirror: i64, name: &str) -> Vec<u8> {
        match &self.place {
            Where::Folder => fs::read(self.home.path().join(format!("stage/{mirror}/{name}"))).expect("read"),
            Where::Bucket(service) => service.content(&self.object()),
        }
    }

    fn replace(&self, mirror: i64, name: &str, content: &[u8]) {
        match &self.place {
            Where::Folder => {
                let folder = self.home.path().join(format!("stage/{mirror}"));
                fs::create_dir_all(&folder).expect("a folder");
                fs::write(folder.join(name), content).expect("written");
            }
            Where::Bucket(service) => service.plant(&self.object(), content),
        }
    }
}

fn settings(home: &Path, sealing: Sealing) -> StageSettings {
    StageSettings {
        folder: home.join("stage"),
        bytes_max: 1_000,
        sealing,
        owner: StagingBucket::Peer,
        bucket: None,
    }
}

/// A test for both places.
macro_rules! in_both {
    ($(async fn $name:ident($house:ident: House) $body:block)*) => {
        $(mod $name {
            use super::*;

            async fn promise($house: House) $body

            #[tokio::test]
            async fn in_a_folder() {
                promise(House::in_folder().await).await;
            }

            #[tokio::test]
            async fn in_a_bucket() {
                promise(House::in_bucket().await).await;
            }
        })*
    };
}

in_both! {
    async fn what_is_put_is_there_for_the_next_process_in_its_order(house: House) {
        let mut open = house.open(7).await;
        assert!(open.waiting.is_empty());
        open.stage.put(ticket(1), &Staged::Schema(Bytes::from_static(b"s"))).await.expect("kept");
        open.stage.put(ticket(2), &rows("two")).await.expect("kept");

        let mut open = house.open(7).await;
        let waiting: Vec<_> = open.waiting.iter().map(|ticket| (ticket.number, ticket.after)).collect();
        assert_eq!(waiting, [(1, 10), (2, 20)]);
        assert_eq!(house.waits_after(7).await, Some(10));
        assert_eq!(open.stage.get(1).await.expect("there"), Staged::Schema(Bytes::from_static(b"s")));
        assert_eq!(open.stage.get(2).await.expect("there"), rows("two"));
        open.stage.remove(1).await.expect("removed");
        open.stage.remove(1).await.expect("twice is nothing");
        assert_eq!(house.names(7).len(), 1);
        assert_eq!(house.waits_after(7).await, Some(20));
        assert_eq!(house.waits_after(8).await, None, "of another mirror");
        assert!(house.stages.forget(&house.catalog, 7, PEER).await.expect("given up").is_none());
        assert_eq!((house.waits_after(7).await, house.names(7).len()), (None, 0));
    }

    async fn a_damaged_entry_is_told_of_and_not_delivered(house: House) {
        let mut open = house.open(1).await;
        open.stage.put(ticket(1), &rows("some rows")).await.expect("kept");
        let name = house.names(1).remove(0);
        let whole = house.content(1, &name);
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            house.replace(1, &name, &bytes);
            assert_eq!(open.stage.get(1).await.expect_err("damaged").code, "stage_damaged", "{at}");
        }
        house.replace(1, &name, &whole[..whole.len() - 1]);
        assert_eq!(open.stage.get(1).await.expect_err("damaged").code, "stage_damaged");
        house.replace(1, &name, &whole);
        assert_eq!(open.stage.get(1).await.expect("whole again"), rows("some rows"));
    }

    async fn a_life_that_is_over_changes_nothing_any_more(house: House) {
        let mut first = house.open(1).await.stage;
        first.put(ticket(1), &rows("one")).await.expect("kept");
        let mut second = house.open(1).await.stage;
        // Its put ends late: it is there, and counts for nothing.
        assert_eq!(first.put(ticket(2), &rows("late")).await.expect_err("over").code, "stage_interrupted");
        assert_eq!(first.remove(1).await.expect_err("over").code, "stage_interrupted");
        second.put(ticket(2), &rows("two")).await.expect("kept");
        assert_eq!(second.get(2).await.expect("there"), rows("two"));
        let open = house.open(1).await;
        assert_eq!(open.waiting.iter().map(|ticket| ticket.number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(house.names(1).len(), 3);
        house.sweep().await;
        assert_eq!(house.names(1).len(), 2, "what ended late is removed");
        let mut third = open.stage;
        assert_eq!(third.get(1).await.expect("there"), rows("one"));
        assert_eq!(third.get(2).await.expect("there"), rows("two"));
    }

    async fn what_comes_back_after_it_was_delivered_is_nobodys(house: House) {
        let mut open = house.open(1).await;
        open.stage.put(ticket(1), &rows("one")).await.expect("kept");
        let name = house.names(1).remove(0);
        let (content, object) = (house.content(1, &name), match &house.place {
            Where::Bucket(_) => house.object(),
            Where::Folder => String::new(),
        });
        open.stage.remove(1).await.expect("removed");
        match &house.place {
            Where::Bucket(service) => service.plant(&object, &content),
            Where::Folder => house.replace(1, &name, &content),
        }
        assert!(house.open(1).await.waiting.is_empty());
        assert_eq!(house.names(1).len(), 1);
        house.sweep().await;
        assert_eq!(house.names(1).len(), 0);
    }

    async fn without_room_nothing_is_taken_and_what_is_there_is_still_delivered(house: House) {
        let without =
            Stages::new(StageSettings { bytes_max: 0, ..settings(house.home.path(), Sealing::On) });
        assert!(without.open(&house.catalog, 1, PEER).await.expect("nothing to open").is_none());
        assert!(Stages::none().open(&house.catalog, 1, PEER).await.expect("nothing to open").is_none());
        house.open(1).await.stage.put(ticket(1), &rows("one")).await.expect("kept");
        let open = without.open(&house.catalog, 1, PEER).await.expect("opens").expect("something waits");
        assert_eq!((open.waiting.len(), open.bytes_max), (1, 0));
        let failure = Stages::none().open(&house.catalog, 1, PEER).await.expect_err("something waits");
        assert_eq!(failure.code, "stage_missing");
    }

    async fn what_is_lost_is_no_silent_gap(house: House) {
        let mut open = house.open(1).await;
        open.stage.put(ticket(1), &rows("one")).await.expect("kept");
        let name = house.names(1).remove(0);
        let content = house.content(1, &name);
        let object = match &house.place {
            Where::Bucket(_) => house.object(),
            Where::Folder => String::new(),
        };
        match &house.place {
            Where::Bucket(service) => service.take(&object),
            Where::Folder => fs::remove_dir_all(house.home.path().join("stage")).expect("removed"),
        }
        let failure = open.stage.get(1).await.expect_err("it is gone");
        assert_eq!((failure.class, failure.code.as_str()), (FailureClass::PositionLost, "stage_missing"));
        let failure = house.try_to_open(1).await.expect_err("it is known to have rows");
        assert_eq!((failure.class, failure.code.as_str()), (FailureClass::PositionLost, "stage_missing"));
        match &house.place {
            Where::Bucket(service) => service.plant(&object, &content),
            Where::Folder => house.replace(1, &name, &content),
        }
        let mut open = house.open(1).await;
        assert_eq!(open.stage.get(1).await.expect("it is back"), rows("one"));
        open.stage.remove(1).await.expect("removed");
        let _gone = fs::remove_dir_all(house.home.path().join("stage"));
        house.open(1).await;
    }
}

#[tokio::test]
async fn sealed_entries_show_nothing_and_open_for_their_own_place_alone() {
    let house = House::in_folder().await;
    let mut open = house.open(1).await;
    open.stage.put(ticket(1), &rows("plain to see")).await.expect("kept");
    open.stage.put(ticket(2), &rows("plain to see")).await.expect("kept");
    let [first, second] = [0, 1].map(|at| house.content(1, &house.names(1)[at]));
    for content in [&first, &second] {
        assert!(!content.windows(5).any(|window| window == b"plain"));
    }
    assert_ne!(first, second);
    let (content, key) = entry::sealed(&rows("x"), "1/a").expect("sealed");
    assert_eq!(entry::open(content.clone(), "1/a", &key), Some(rows("x")));
    assert_eq!(entry::open(content.clone(), "1/b", &key), None);
    let (_, other) = entry::sealed(&rows("x"), "1/a").expect("sealed");
    assert_eq!(entry::open(content.clone(), "1/a", &other), None);
    for at in 0..content.len() {
        let mut changed = content.clone();
        changed[at] ^= 1;
        assert_eq!(entry::open(changed, "1/a", &key), None, "{at}");
        assert_eq!(entry::open(content[..at].to_vec(), "1/a", &key), None, "{at}");
    }
}

#[tokio::test]
async fn what_was_put_in_the_clear_and_sealed_is_read_under_either_setting_and_after_a_rotation() {
    let house = House::new(Where::Folder, Sealing::Off).await;
    house.open(1).await.stage.put(ticket(1), &rows("plain to see")).await.expect("kept");
    assert!(house.content(1, &house.names(1)[0]).windows(5).any(|window| window == b"plain"));
    let sealing = Stages::new(settings(house.home.path(), Sealing::On));
    let mut open = sealing.open(&house.catalog, 1, PEER).await.expect("opens").expect("there is one");
    open.stage.put(ticket(2), &rows("two")).await.expect("kept");
    let House { home, catalog, stages, .. } = house;
    drop(open);
    catalog.close().await;
    drop((catalog, sealing));
    let options = CatalogOptions { data_dir: home.path().join("catalog"), ..CatalogOptions::default() };
    assert_eq!(Catalog::rotate(&options).await.expect("rotated").resealed, 2, "a peer, and a key");
    let catalog = Catalog::open(&options).await.expect("opens");
    let mut open = stages.open(&catalog, 1, PEER).await.expect("opens").expect("there is one");
    assert_eq!(open.stage.get(1).await.expect("there"), rows("plain to see"));
    assert_eq!(open.stage.get(2).await.expect("there"), rows("two"));
}

#[tokio::test]
async fn a_bucket_that_is_away_keeps_nobody_from_running_who_has_nothing_there() {
    let house = House::in_bucket().await;
    house.open(1).await.stage.put(ticket(1), &rows("one")).await.expect("kept");
    house.service().set_keys("AKIAOTHER0000000001", "another secret");
    let open = house.open(2).await;
    assert!(open.waiting.is_empty());
    let failure = house.try_to_open(1).await.expect_err("its rows wait there");
    assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Retry, "bucket_denied"));
    let counted = StageStanding { entries: 1, ..StageStanding::default() };
    let told = house.stages.standing(&house.catalog, 1, PEER, counted).await.expect("told");
    assert!(told.place.starts_with("s3://tarn-rows/rows at http"), "{told:?}");
    assert!(told.error.contains("access_key_id") && !told.error.contains("another secret"), "{told:?}");
    house.service().set_keys(house.service().key(), house.service().secret());
    house.open(1).await;
    let told = house.stages.standing(&house.catalog, 1, PEER, StageStanding::default()).await.expect("told");
    assert_eq!((told.error.as_str(), house.stages.trouble_count(1)), ("", 1));
}

#[tokio::test]
async fn rows_stay_reachable_when_a_peer_gets_a_bucket_and_are_not_passed_over_when_it_loses_it() {
    let mut house = House::in_folder().await;
    house.open(1).await.stage.put(ticket(1), &rows("one")).await.expect("kept");
    house.place = Where::Bucket(Service::start());
    house.name_bucket().await;
    let mut open = house.open(1).await;
    open.stage.put(ticket(2), &rows("two")).await.expect("kept");
    assert_eq!(open.stage.get(1).await.expect("in the folder"), rows("one"));
    assert_eq!(open.stage.get(2).await.expect("in the bucket"), rows("two"));
    let place = std::mem::replace(&mut house.place, Where::Folder);
    house.name_bucket().await;
    let failure = house.try_to_open(1).await.expect_err("the bucket is not named any more");
    assert_eq!(failure.code, "stage_elsewhere");
    assert!(failure.message.contains("s3://tarn-rows/rows"), "{failure}");
    house.place = place;
    house.name_bucket().await;
    assert_eq!(house.open(1).await.waiting.len(), 2);
}

#[tokio::test]
async fn the_services_bucket_serves_whoever_has_none_and_in_the_hosted_edition_all() {
    let house = House::in_bucket().await;
    let own = Service::start();
    let bucket = BucketSettings {
        path: format!("s3://{}", own.name()),
        access_key_id: Secret::new(own.key()),
        secret_access_key: Secret::new(own.secret()),
        endpoint: own.endpoint(),
        region: String::new(),
        root_ca: String::new(),
    };
    let with = |owner| {
        let bucket = Some(bucket.clone());
        Stages::new(StageSettings { owner, bucket, ..settings(house.home.path(), Sealing::On) })
    };
    for (mirror, stages, expected) in
        [(1, with(StagingBucket::Peer), 0), (2, with(StagingBucket::Service), 1)]
    {
        let mut open = stages.open(&house.catalog, mirror, PEER).await.expect("opens").expect("there is one");
        open.stage.put(ticket(1), &rows("one")).await.expect("kept");
        assert_eq!((own.objects().len(), house.service().objects().len()), (expected, 1));
    }
    house.store(ClickHouseConfig { host: "ch".into(), ..ClickHouseConfig::default() }).await;
    let stages = with(StagingBucket::Peer);
    let mut open = stages.open(&house.catalog, 3, PEER).await.expect("opens").expect("there is one");
    open.stage.put(ticket(1), &rows("one")).await.expect("kept");
    assert_eq!(own.objects().len(), 2);
}

#[tokio::test]
async fn a_drop_that_cannot_reach_the_bucket_leaves_what_a_later_sweep_removes() {
    let house = House::in_bucket().await;
    house.open(1).await.stage.put(ticket(1), &rows("one")).await.expect("kept");
    house.open(2).await.stage.put(ticket(1), &rows("of another")).await.expect("kept");
    house.service().plant("rows/tarn/another-server/1/00000000000000000001.0000000001.entry", b"theirs");
    house.service().plant("rows/mine", b"a user's");
    house.service().set_keys("AKIAOTHER0000000001", "another secret");
    let left = house.stages.forget(&house.catalog, 1, PEER).await.expect("given up");
    assert_eq!(left.expect("it may not").code, "bucket_denied");
    assert_eq!((house.waits_after(1).await, house.names(1).len()), (None, 2));
    house.service().set_keys(house.service().key(), house.service().secret());
    house.sweep().await;
    let names: Vec<_> = house.service().objects().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.iter().any(|name| name.contains("/2/")), "{names:?}");
    assert!(names.iter().any(|name| name.contains("another-server")), "{names:?}");
}

#[tokio::test]
async fn what_an_earlier_version_put_aside_is_delivered() {
    let house = House::in_folder().await;
    let earlier = |staged: &Staged| entry::clear(staged).expect("encoded");
    house.replace(1, "00000000000000000003.00000000000000000030.staged", &earlier(&rows("three")));
    house.replace(1, "00000000000000000004.00000000000000000040.staged", &earlier(&rows("four")));
    assert!(house.open(1).await.waiting.is_empty(), "only what the catalog knows of waits");
    house.catalog.leave_unlisted(1).await.expect("stored");
    assert_eq!(house.waits_after(1).await, Some(30));
    let mut open = house.open(1).await;
    assert_eq!(open.stage.get(3).await.expect("there"), rows("three"));
    assert_eq!(open.stage.get(4).await.expect("there"), rows("four"));
    open.stage.put(ticket(5), &rows("five")).await.expect("kept");
    house.sweep().await;
    for number in 3..=5 {
        open.stage.remove(number).await.expect("removed");
    }
    assert_eq!(house.names(1).len(), 0);
    house.catalog.leave_unlisted(2).await.expect("stored");
    assert_eq!(house.try_to_open(2).await.expect_err("lost").code, "stage_missing");
}
