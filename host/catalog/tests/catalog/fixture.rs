//! A fresh catalog on either database.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::Connection as _;
use tarn_catalog::{Catalog, CatalogOptions, MirrorCreated, PeerStored, Rotation};
use tarn_harness::Postgres;
use tarn_model::{ClickHouseConfig, MirrorSpec, Peer, PeerConfig, PostgresConfig, Secret, TableMapping};

/// A catalog and what it lives in.
pub struct Fixture {
    pub catalog: Catalog,
    options: CatalogOptions,
    folder: tempfile::TempDir,
}

impl Fixture {
    pub async fn sqlite() -> Self {
        Self::open(None).await
    }

    pub async fn postgres() -> Self {
        static SERVER: OnceLock<Postgres> = OnceLock::new();
        static DATABASES: AtomicU32 = AtomicU32::new(0);
        let server = SERVER.get_or_init(Postgres::start);
        let database =
            format!("catalog_{}_{}", std::process::id(), DATABASES.fetch_add(1, Ordering::Relaxed));
        server.query(&format!("CREATE DATABASE {database}"));
        Self::open(Some(Secret::new(format!(
            "postgres://{}:{}@{}:{}/{database}",
            server.user(),
            percent_encoded(server.password()),
            server.host(),
            server.port()
        ))))
        .await
    }

    async fn open(url: Option<Secret>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options =
            CatalogOptions { data_dir: folder.path().join("data"), url, ..CatalogOptions::default() };
        let catalog = Catalog::open(&options).await.expect("a fresh catalog opens");
        Self { catalog, options, folder }
    }

    /// Closes the catalog and opens it again.
    pub async fn reopened(self) -> Self {
        let Self { catalog, options, folder } = self;
        catalog.close().await;
        drop(catalog);
        let catalog = Catalog::open(&options).await.expect("it opens again");
        Self { catalog, options, folder }
    }

    /// Closes the catalog, seals its secrets anew, and opens it again.
    pub async fn rotated(self) -> (Self, Rotation) {
        let Self { catalog, options, folder } = self;
        catalog.close().await;
        drop(catalog);
        let rotation = Catalog::rotate(&options).await.expect("nobody holds it");
        let catalog = Catalog::open(&options).await.expect("it opens again");
        (Self { catalog, options, folder }, rotation)
    }

    /// Where it is and what seals it.
    pub fn options(&self) -> &CatalogOptions {
        &self.options
    }

    /// Everything in the data directory, as one heap of bytes.
    pub fn bytes_on_disk(&self) -> Vec<u8> {
        let entries = std::fs::read_dir(self.folder.path().join("data")).expect("a folder");
        entries.flat_map(|entry| std::fs::read(entry.expect("an entry").path()).expect("a file")).collect()
    }

    /// Runs a statement behind the catalog's back, in its SQLite file.
    pub async fn execute(&self, statement: &'static str) {
        sqlx::any::install_default_drivers();
        let url = format!("sqlite://{}", self.options.data_dir.join("catalog.sqlite").display());
        let mut connection = sqlx::AnyConnection::connect(&url).await.expect("the file opens");
        sqlx::query(statement).execute(&mut connection).await.expect("executed");
    }

    /// Stores a peer, whatever is stored under its name.
    pub async fn peer(&self, peer: &Peer) {
        let stored = self.catalog.peer(&peer.name).await.expect("read");
        let outcome = self.catalog.store_peer(peer, stored.as_ref()).await.expect("answered");
        assert_eq!(outcome, PeerStored::Done);
    }

    /// A mirror between two peers, made with them; its id.
    pub async fn mirror(&self, name: &str) -> i64 {
        for peer in [postgres_peer("pg", "secret"), clickhouse_peer("ch")] {
            self.peer(&peer).await;
        }
        match self.catalog.create_mirror(&spec(name)).await.expect("created") {
            MirrorCreated::Done(id) => id,
            other => panic!("{other:?}"),
        }
    }
}

fn percent_encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// Runs a test on both databases.
macro_rules! on_both {
    ($(#[$doc:meta])* async fn $name:ident($fixture:ident: Fixture) $body:block) => {
        mod $name {
            use super::*;

            async fn promise($fixture: Fixture) $body

            #[tokio::test]
            async fn on_sqlite() {
                promise(Fixture::sqlite().await).await;
            }

            #[tokio::test]
            async fn on_postgres() {
                promise(Fixture::postgres().await).await;
            }
        }
    };
}
pub(crate) use on_both;

pub fn postgres_peer(name: &str, password: &str) -> Peer {
    let config = PostgresConfig {
        host: "db.example".into(),
        port: 5432,
        user: "repl".into(),
        password: Secret::new(password),
        database: "app".into(),
        ..PostgresConfig::default()
    };
    Peer { name: name.into(), config: PeerConfig::Postgres(config) }
}

pub fn clickhouse_peer(name: &str) -> Peer {
    let config = ClickHouseConfig { host: "ch.example".into(), port: 8123, ..ClickHouseConfig::default() };
    Peer { name: name.into(), config: PeerConfig::Clickhouse(config) }
}

pub fn spec(name: &str) -> MirrorSpec {
    MirrorSpec {
        name: name.into(),
        source_peer: "pg".into(),
        destination_peer: "ch".into(),
        tables: vec![TableMapping {
            source: "public.users".into(),
            destination: "users".into(),
            ..TableMapping::default()
        }],
        ..MirrorSpec::default()
    }
}
