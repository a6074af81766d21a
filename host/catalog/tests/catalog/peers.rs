use tarn_catalog::{Catalog, CatalogError, CatalogOptions, PeerDropped, PeerStored};
use tarn_model::{PeerKind, Secret};

use crate::fixture::{Fixture, clickhouse_peer, on_both, postgres_peer, spec};

on_both! {
    async fn a_peer_reads_back_with_its_secrets(fixture: Fixture) {
        let peer = postgres_peer("pg", "p@ss:w/?ord#test ");
        assert_eq!(fixture.catalog.store_peer(&peer, None).await.expect("stored"), PeerStored::Done);
        let fixture = fixture.reopened().await;
        assert_eq!(fixture.catalog.peer("pg").await.expect("read"), Some(peer));
        assert_eq!(fixture.catalog.peer("other").await.expect("read"), None);
        assert_eq!(fixture.catalog.peer_kind("pg").await.expect("read"), Some(PeerKind::Postgres));
    }
}

on_both! {
    async fn a_peer_is_replaced_only_where_it_is_the_one_that_was_seen(fixture: Fixture) {
        let catalog = &fixture.catalog;
        let [first, second, third] = ["one", "two", "three"].map(|password| postgres_peer("p", password));
        let changed = |outcome: Result<_, CatalogError>| outcome.expect("answered") == PeerStored::Changed;
        assert!(changed(catalog.store_peer(&second, Some(&first)).await), "there is none");
        assert_eq!(catalog.store_peer(&first, None).await.expect("stored"), PeerStored::Done);
        assert!(changed(catalog.store_peer(&second, None).await), "the name is taken");
        assert_eq!(catalog.peer("p").await.expect("read"), Some(first.clone()));
        assert_eq!(catalog.store_peer(&second, Some(&first)).await.expect("stored"), PeerStored::Done);
        assert!(changed(catalog.store_peer(&third, Some(&first)).await), "it has another password by now");
        assert_eq!(catalog.peer("p").await.expect("read"), Some(second));
    }
}

on_both! {
    async fn the_kind_of_a_peer_stays_while_a_mirror_uses_it(fixture: Fixture) {
        fixture.mirror("m").await;
        let catalog = &fixture.catalog;
        let stored = catalog.peer("pg").await.expect("read");
        let other_kind = clickhouse_peer("pg");
        let refused = catalog.store_peer(&other_kind, stored.as_ref()).await.expect("answered");
        assert_eq!(refused, PeerStored::InUse(vec!["m".into()]));
        assert_eq!(catalog.peer("pg").await.expect("read"), stored);
    }
}

on_both! {
    async fn peers_are_listed_by_name(fixture: Fixture) {
        fixture.catalog.store_peer(&postgres_peer("z", ""), None).await.expect("stored");
        fixture.catalog.store_peer(&clickhouse_peer("a"), None).await.expect("stored");
        let listed = fixture.catalog.peers().await.expect("listed");
        assert_eq!(listed, [("a".into(), PeerKind::ClickHouse), ("z".into(), PeerKind::Postgres)]);
    }
}

on_both! {
    async fn a_peer_goes_only_when_no_mirror_uses_it(fixture: Fixture) {
        fixture.mirror("m").await;
        let dropped = fixture.catalog.drop_peer("pg").await.expect("answered");
        assert_eq!(dropped, PeerDropped::InUse(vec!["m".into()]));
        assert!(fixture.catalog.peer("pg").await.expect("read").is_some());
        fixture.catalog.store_peer(&clickhouse_peer("spare"), None).await.expect("stored");
        assert_eq!(fixture.catalog.drop_peer("spare").await.expect("answered"), PeerDropped::Done);
        assert_eq!(fixture.catalog.drop_peer("spare").await.expect("answered"), PeerDropped::Unknown);
    }
}

#[tokio::test]
async fn no_secret_lies_on_the_disk_in_the_clear() {
    let fixture = Fixture::sqlite().await;
    fixture.catalog.store_peer(&postgres_peer("pg", "planted-secret-1"), None).await.expect("stored");
    fixture.catalog.create_mirror(&spec("m")).await.expect("answered");
    let bytes = fixture.bytes_on_disk();
    assert!(!bytes.windows(14).any(|window| window == b"planted-secret"));
}

#[tokio::test]
async fn a_catalog_sealed_with_another_key_is_refused_at_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = |byte: &str| Some(Secret::new(byte.repeat(42) + "A="));
    let options = |key| CatalogOptions { data_dir: folder.path().into(), key, ..CatalogOptions::default() };
    let catalog = Catalog::open(&options(key("A"))).await.expect("fresh");
    catalog.store_peer(&postgres_peer("pg", "x"), None).await.expect("stored");
    catalog.close().await;
    drop(catalog);
    let refused = Catalog::open(&options(key("B"))).await.expect_err("another key");
    assert!(matches!(refused, CatalogError::KeyMissing { .. }), "{refused}");
    let catalog = Catalog::open(&options(key("A"))).await.expect("the right key");
    assert!(catalog.peer("pg").await.expect("opens").is_some());
}
