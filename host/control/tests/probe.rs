//! Real connections to real servers, and what a person reads when there is none.

use std::net::TcpListener;

use serde_json::Value;
use tarn_control::{DriverProbe, PeerProbe as _};
use tarn_harness::{ClickHouse, Postgres};
use tarn_model::{ClickHouseConfig, Failure, Peer, PeerConfig, PostgresConfig, Secret};
use tokio::time::{Duration, Instant};

fn postgres(config: Value) -> PostgresConfig {
    serde_json::from_value(config).expect("the settings of a peer")
}

fn clickhouse(config: Value) -> ClickHouseConfig {
    serde_json::from_value(config).expect("the settings of a peer")
}

async fn probe(config: PeerConfig) -> Result<String, Failure> {
    DriverProbe.version(&Peer { name: "p".into(), config }).await
}

/// A port that nothing listens on.
fn closed_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}

#[tokio::test]
async fn a_postgresql_peer_gives_its_version() {
    let server = Postgres::start();
    let version = probe(PeerConfig::Postgres(postgres(server.peer_config()))).await.expect("reachable");
    let told = server.scalar("SHOW server_version").expect("a version");
    assert_eq!(version, told);
}

#[tokio::test]
async fn a_clickhouse_peer_gives_its_version() {
    let server = ClickHouse::shared();
    let version = probe(PeerConfig::Clickhouse(clickhouse(server.peer_config()))).await.expect("reachable");
    let told = server.scalar("SELECT version()").expect("a version");
    assert_eq!(version, told);
}

#[tokio::test]
async fn a_wrong_password_or_database_is_told_without_the_password() {
    let server = Postgres::start();
    let good = postgres(server.peer_config());
    let wrong_password = PostgresConfig { password: Secret::new("planted-wrong"), ..good.clone() };
    let failure = probe(PeerConfig::Postgres(wrong_password)).await.expect_err("refused").to_string();
    assert!(failure.contains("password") && !failure.contains("planted"), "{failure}");
    let wrong_database = PostgresConfig { database: "nowhere".into(), ..good };
    let failure = probe(PeerConfig::Postgres(wrong_database)).await.expect_err("refused").to_string();
    assert!(failure.contains("nowhere"), "{failure}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_by_its_address() {
    let port = closed_port();
    let config = PostgresConfig {
        host: "127.0.0.1".into(),
        port,
        user: "u".into(),
        database: "d".into(),
        password: Secret::new("planted-1"),
        ..PostgresConfig::default()
    };
    let failure = probe(PeerConfig::Postgres(config)).await.expect_err("nobody listens").to_string();
    assert!(failure.contains(&port.to_string()) && !failure.contains("planted"), "{failure}");
    let config = ClickHouseConfig {
        host: "127.0.0.1".into(),
        port,
        disable_tls: true,
        password: Secret::new("planted-2"),
        ..ClickHouseConfig::default()
    };
    let failure = probe(PeerConfig::Clickhouse(config)).await.expect_err("nobody listens").to_string();
    assert!(failure.contains(&port.to_string()) && !failure.contains("planted"), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_says_nothing_is_given_up_within_fifteen_seconds() {
    // Connections are taken by the kernel, and nobody reads what they bring.
    let silent = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let (host, port) = ("127.0.0.1".to_owned(), silent.local_addr().expect("an address").port());
    let postgres = PostgresConfig { host: host.clone(), port, user: "u".into(), ..PostgresConfig::default() };
    let clickhouse = ClickHouseConfig { host, port, ..ClickHouseConfig::default() };
    let in_clear = ClickHouseConfig { disable_tls: true, ..clickhouse.clone() };
    for config in
        [PeerConfig::Postgres(postgres), PeerConfig::Clickhouse(clickhouse), PeerConfig::Clickhouse(in_clear)]
    {
        let asked = Instant::now();
        let failure = probe(config).await.expect_err("nobody answers");
        assert!(!failure.hint.is_empty(), "{failure}");
        let waited = asked.elapsed();
        assert!(
            Duration::from_secs(1) < waited && waited <= Duration::from_secs(15),
            "{waited:?}: {failure}"
        );
    }
}
