//! Secrets are sealed anew under another key; a crash at any instant leaves a catalog that opens.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tarn_catalog::{Catalog, CatalogError, CatalogOptions};
use tarn_model::Secret;

use crate::fixture::{Fixture, clickhouse_peer, on_both, postgres_peer};

const FOLDER: &str = "TARN_TEST_ROTATION_FOLDER";

fn key(byte: &str) -> Option<Secret> {
    Some(Secret::new(byte.repeat(42) + "A="))
}

fn options(folder: &Path) -> CatalogOptions {
    CatalogOptions { data_dir: folder.join("data"), ..CatalogOptions::default() }
}

/// What a catalog opens with, and must still know.
async fn check(options: &CatalogOptions) {
    let catalog = Catalog::open(options).await.expect("opens");
    let peer = catalog.peer("pg").await.expect("its secret opens");
    assert_eq!(peer, Some(postgres_peer("pg", "hunter2")));
    catalog.close().await;
}

async fn fill(options: &CatalogOptions) {
    let catalog = Catalog::open(options).await.expect("fresh");
    for number in 0..20 {
        let peer = clickhouse_peer(&format!("ch{number}"));
        catalog.store_peer(&peer, None).await.expect("stored");
    }
    catalog.store_peer(&postgres_peer("pg", "hunter2"), None).await.expect("stored");
    catalog.close().await;
}

on_both! {
    async fn every_secret_is_sealed_anew_and_opens(fixture: Fixture) {
        let (pg, ch) = (postgres_peer("pg", "hunter2"), clickhouse_peer("ch"));
        for peer in [&pg, &ch] {
            fixture.catalog.store_peer(peer, None).await.expect("stored");
        }
        let (fixture, first) = fixture.rotated().await;
        assert_eq!(first.resealed, 2);
        assert_ne!(first.old_key, first.new_key);
        assert_eq!(fixture.catalog.peer("pg").await.expect("opens"), Some(pg));
        assert!(!fixture.catalog.awaits_rotation());
        let (fixture, second) = fixture.rotated().await;
        assert_eq!(second.old_key, first.new_key);
        assert_eq!(fixture.catalog.peer("ch").await.expect("opens"), Some(ch));
    }
}

#[tokio::test]
async fn nothing_that_the_old_key_sealed_stays_on_the_disk() {
    let fixture = Fixture::sqlite().await;
    fixture.catalog.store_peer(&postgres_peer("pg", "x"), None).await.expect("stored");
    let (fixture, rotation) = fixture.rotated().await;
    let bytes = fixture.bytes_on_disk();
    let holds = |key: &str| {
        let sealed = format!("1.{key}.");
        bytes.windows(sealed.len()).any(|window| window == sealed.as_bytes())
    };
    assert!(holds(&rotation.new_key) && !holds(&rotation.old_key));
}

#[tokio::test]
async fn a_catalog_in_use_is_not_rotated() {
    let fixture = Fixture::sqlite().await;
    let refused = Catalog::rotate(fixture.options()).await.expect_err("it is open");
    assert!(matches!(refused, CatalogError::InUse { .. }), "{refused}");
}

#[tokio::test]
async fn a_key_of_the_settings_follows_the_previous_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let with = |key, previous_key| CatalogOptions { key, previous_key, ..options(folder.path()) };
    fill(&with(key("A"), None)).await;

    // With both at hand everything opens, before and after.
    let both = with(key("B"), key("A"));
    let catalog = Catalog::open(&both).await.expect("the previous key is at hand");
    assert!(catalog.awaits_rotation());
    catalog.close().await;
    drop(catalog);
    check(&both).await;
    assert_eq!(Catalog::rotate(&both).await.expect("rotated").resealed, 21);
    check(&both).await;
    check(&with(key("B"), None)).await;

    let refused = Catalog::open(&with(key("A"), None)).await.expect_err("the old key alone");
    assert!(matches!(refused, CatalogError::KeyMissing { .. }), "{refused}");
    let refused = Catalog::rotate(&both).await.expect_err("it is done");
    assert!(matches!(refused, CatalogError::SameKey { .. }), "{refused}");
    let refused = Catalog::rotate(&with(key("C"), key("A"))).await.expect_err("neither key sealed it");
    assert!(matches!(refused, CatalogError::KeyMissing { .. }), "{refused}");
    check(&with(key("B"), None)).await;
}

#[tokio::test]
async fn a_key_moves_from_the_file_to_the_settings_and_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = options(folder.path());
    fill(&file).await;
    let in_file = fs::read_to_string(folder.path().join("data/sealing.key")).expect("the key's file");
    let settings = CatalogOptions { key: key("B"), previous_key: Some(Secret::new(in_file)), ..file.clone() };
    Catalog::rotate(&settings).await.expect("to the settings");
    check(&CatalogOptions { key: key("B"), ..file.clone() }).await;
    let refused = Catalog::open(&file).await.expect_err("the file's key is not it any more");
    assert!(matches!(refused, CatalogError::KeyMissing { .. }), "{refused}");
    Catalog::rotate(&CatalogOptions { previous_key: key("B"), ..file.clone() }).await.expect("and back");
    check(&file).await;
}

#[tokio::test]
async fn a_rotation_that_ended_between_its_steps_is_gone_on_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = options(folder.path());
    fill(&options).await;
    let path = |name: &str| folder.path().join("data").join(name);
    let read = |name: &str| fs::read_to_string(path(name)).expect("a key");

    // After the new key was written, before anything was sealed with it.
    let (old, unused) = (read("sealing.key"), key("U").expect("a key").expose().to_owned());
    fs::write(path("sealing.key.next"), &unused).expect("written");
    check(&options).await;
    assert_eq!(read("sealing.key"), old, "the old key serves");
    Catalog::rotate(&options).await.expect("rotated");
    assert_eq!(read("sealing.key"), unused, "the key that was there is used");

    // After everything was sealed anew, before the key was moved.
    fs::write(path("sealing.key.next"), &unused).expect("written");
    fs::write(path("sealing.key"), &old).expect("written");
    check(&options).await;
    assert_eq!(read("sealing.key"), unused, "the next start finishes it");
    assert!(!path("sealing.key.next").exists());

    // While a key was being written.
    fs::write(path("sealing.key.draft"), "half").expect("written");
    check(&options).await;
    Catalog::rotate(&options).await.expect("rotated");
    check(&options).await;
}

/// Not a test of its own: what the killed process does.
#[tokio::test]
async fn rotating_process() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    loop {
        Catalog::rotate(&options(Path::new(&folder))).await.expect("rotates");
    }
}

#[tokio::test]
async fn a_kill_at_any_instant_of_a_rotation_loses_no_secret() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = options(folder.path());
    fill(&options).await;
    // The kill meets another instant each round: a rotation takes some tens of milliseconds.
    for round in 0..24 {
        let mut rotating = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "rotation::rotating_process", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        let before = fs::read(folder.path().join("data/sealing.key")).expect("a key");
        // It runs once its first rotation is over; then an instant more.
        while fs::read(folder.path().join("data/sealing.key")).is_ok_and(|now| now == before) {
            assert!(rotating.try_wait().expect("a child").is_none(), "it ended by itself");
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_micros(1_700) * round);
        rotating.kill().expect("killed");
        rotating.wait().expect("ended");
        check(&options).await;
    }
}
