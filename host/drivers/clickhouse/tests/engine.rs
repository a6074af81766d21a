//! The driver against the ClickHouse engine.

use tarn_clickhouse::{Client, Error, ErrorClass};
use tarn_harness::ClickHouse;
use tarn_model::{ClickHouseConfig, FailureClass, Secret};

fn config(server: &ClickHouse) -> ClickHouseConfig {
    ClickHouseConfig {
        host: server.host().to_owned(),
        port: server.port(),
        user: server.user().to_owned(),
        password: Secret::new(server.password()),
        database: server.database().to_owned(),
        disable_tls: true,
        ..ClickHouseConfig::default()
    }
}

fn client(config: &ClickHouseConfig) -> Client {
    Client::new(config).expect("settings that can be used")
}

#[tokio::test]
async fn statements_and_inserts_work_in_the_peers_database() {
    let server = ClickHouse::shared();
    let client = client(&config(&server));
    client.ping().await.expect("a pong");
    assert!(client.version().await.expect("a version").contains('.'));
    client.query("CREATE TABLE t (a Int32, b String) ENGINE = MergeTree ORDER BY a").await.expect("a table");
    // The data begins with bytes that are white space: they are data.
    let data = b"\x20\x0a\x0d\x09\x03x\ny".to_vec();
    let settings = [("async_insert".to_owned(), "0".to_owned())];
    client.insert("INSERT INTO t (a, b) FORMAT RowBinary", &settings, data).await.expect("an insert");
    let rows = client.query("SELECT * FROM t FORMAT JSONCompactEachRow").await.expect("rows");
    assert_eq!(&rows[..], format!("[{}, \"x\\ny\"]\n", i32::from_le_bytes(*b"\x20\x0a\x0d\x09")).as_bytes());
}

#[tokio::test]
async fn an_insert_of_many_megabytes_arrives_whole() {
    let server = ClickHouse::shared();
    let client = client(&config(&server));
    client.query("CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a").await.expect("a table");
    let data: Vec<u8> = (0..3_000_000u64).flat_map(u64::to_le_bytes).collect();
    client.insert("INSERT INTO t (a) FORMAT RowBinary", &[], data).await.expect("an insert");
    let sum = server.scalar("SELECT sum(a) FROM t");
    assert_eq!(sum.as_deref(), Some("4499998500000"));
}

#[tokio::test]
async fn a_failed_statement_has_the_servers_code_and_message() {
    let server = ClickHouse::shared();
    let client = client(&config(&server));
    let error = client.query("SELECT * FROM missing").await.expect_err("no such table");
    assert_eq!((error.code(), error.class()), (60, ErrorClass::Permanent));
    assert!(error.to_string().contains("missing"), "{error}");
    client.query("CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a").await.expect("a table");
    let insert = client.insert("INSERT INTO t (a) FORMAT RowBinary", &[], vec![1, 2, 3]).await;
    assert_eq!(insert.expect_err("half a number").code(), 33);
}

#[tokio::test]
async fn a_wrong_password_is_told_from_everything_else_and_never_shown() {
    let server = ClickHouse::shared();
    let wrong = ClickHouseConfig { password: Secret::new("not the one"), ..config(&server) };
    let error = client(&wrong).version().await.expect_err("no access");
    assert_eq!((error.code(), error.class()), (516, ErrorClass::Auth));
    assert!(!format!("{error:?} {}", error.report()).contains("not the one"));
    let echo = format!("SELECT throwIf(1, '{}')", server.password());
    let error = client(&config(&server)).query(&echo).await.expect_err("it throws");
    assert!(error.to_string().contains("********") && !error.to_string().contains(server.password()));
}

#[tokio::test]
async fn an_unknown_database_is_an_error_of_its_own() {
    let server = ClickHouse::shared();
    let config = ClickHouseConfig { database: "nowhere & else".to_owned(), ..config(&server) };
    assert_eq!(client(&config).version().await.expect_err("no database").code(), 81);
}

#[tokio::test]
async fn an_answer_beyond_the_limit_is_refused() {
    let server = ClickHouse::shared();
    let sql = "SELECT repeat('x', 1000) FROM numbers(70000) FORMAT RowBinary";
    let error = client(&config(&server)).query(sql).await.expect_err("too much");
    assert!(matches!(error, Error::TooLarge { .. }));
    assert_eq!((error.code(), error.class()), (396, ErrorClass::Permanent));
}

#[tokio::test]
async fn a_client_goes_on_after_the_server_was_killed_and_started_again() {
    let mut server = ClickHouse::start();
    let client = client(&config(&server));
    client.version().await.expect("a version");
    server.kill();
    let error = client.version().await.expect_err("nobody there");
    assert_eq!((error.code(), error.class()), (0, ErrorClass::Connection));
    assert_eq!(error.to_failure().class, FailureClass::Retry);
    server.start_again();
    client.version().await.expect("a version again");
}
