//! The driver against the ClickHouse engine.

use std::sync::Arc;

use tarn_clickhouse::{Client, Error, ErrorClass};
use tarn_harness::ClickHouse;
use tarn_model::{ClickHouseConfig, FailureClass, Secret};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

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

/// Inserts rows that come at once.
async fn insert(
    client: &Client,
    sql: &str,
    settings: &[(String, String)],
    rows: Vec<u8>,
) -> Result<(), Error> {
    let mut insert = client.insert(sql, settings);
    insert.append(rows).await?;
    insert.finish().await
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
    insert(&client, "INSERT INTO t (a, b) FORMAT RowBinary", &settings, data).await.expect("an insert");
    let rows = client.query("SELECT * FROM t FORMAT JSONCompactEachRow").await.expect("rows");
    assert_eq!(&rows[..], format!("[{}, \"x\\ny\"]\n", i32::from_le_bytes(*b"\x20\x0a\x0d\x09")).as_bytes());
}

#[tokio::test]
async fn an_insert_of_many_megabytes_arrives_whole() {
    let server = ClickHouse::shared();
    let client = client(&config(&server));
    client.query("CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a").await.expect("a table");
    let data: Vec<u8> = (0..3_000_000u64).flat_map(u64::to_le_bytes).collect();
    insert(&client, "INSERT INTO t (a) FORMAT RowBinary", &[], data).await.expect("an insert");
    let sum = server.scalar("SELECT sum(a) FROM t");
    assert_eq!(sum.as_deref(), Some("4499998500000"));
}

#[tokio::test]
async fn rows_that_come_in_pieces_are_one_insert() {
    let server = ClickHouse::shared();
    let client = client(&config(&server));
    client.query("CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a").await.expect("a table");
    let mut insert = client.insert("INSERT INTO t (a) FORMAT RowBinary", &[]);
    for first in (0..300_000u64).step_by(1000) {
        let rows = (first..first + 1000).flat_map(u64::to_le_bytes).collect();
        insert.append(rows).await.expect("it is taken");
    }
    assert_eq!(server.scalar("SELECT count() FROM t").as_deref(), Some("0"));
    insert.finish().await.expect("all rows are in the table");
    assert_eq!(server.scalar("SELECT sum(a) FROM t").as_deref(), Some("44999850000"));
    let parts =
        server.scalar("SELECT count() FROM system.parts WHERE table = 't' AND database = currentDatabase()");
    assert_eq!(parts.as_deref(), Some("1"));
    // It may go on, after an end too.
    insert.append(7u64.to_le_bytes().to_vec()).await.expect("it is taken");
    insert.end();
    insert.append(7u64.to_le_bytes().to_vec()).await.expect("it is taken");
    insert.finish().await.expect("the rows are in the table");
    assert_eq!(server.scalar("SELECT count() FROM t").as_deref(), Some("300002"));
}

#[tokio::test]
async fn rows_of_an_insert_that_is_given_up_are_not_in_the_table() {
    let server = ClickHouse::shared();
    let client = client(&config(&server));
    client.query("CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a").await.expect("a table");
    let mut insert = client.insert("INSERT INTO t (a) FORMAT RowBinary", &[]);
    insert.append(vec![0; 8000]).await.expect("it is taken");
    drop(insert);
    client.query("SELECT 1").await.expect("the server goes on");
    assert_eq!(server.scalar("SELECT count() FROM t").as_deref(), Some("0"));
}

#[tokio::test]
async fn an_insert_of_rows_that_come_in_pieces_is_refused_at_its_end_at_the_latest() {
    let server = ClickHouse::shared();
    let client = client(&config(&server));
    let mut insert = client.insert("INSERT INTO missing (a) FORMAT RowBinary", &[]);
    let mut outcome = Ok(());
    for _ in 0..5 {
        outcome = outcome.and(insert.append(vec![0; 1 << 20]).await);
    }
    let error = outcome.and(insert.finish().await).expect_err("there is no such table");
    assert_eq!(error.code(), 60, "{error}");
}

#[tokio::test]
async fn a_failed_statement_has_the_servers_code_and_message() {
    let server = ClickHouse::shared();
    let client = client(&config(&server));
    let error = client.query("SELECT * FROM missing").await.expect_err("no such table");
    assert_eq!((error.code(), error.class()), (60, ErrorClass::Permanent));
    assert!(error.to_string().contains("missing"), "{error}");
    client.query("CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a").await.expect("a table");
    let half = insert(&client, "INSERT INTO t (a) FORMAT RowBinary", &[], vec![1, 2, 3]).await;
    assert_eq!(half.expect_err("half a number").code(), 33);
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

#[tokio::test]
async fn tls_is_verified_by_authority_and_name() {
    let server = ClickHouse::shared();
    let signed = rcgen::generate_simple_self_signed(["clickhouse.test".to_owned()]).expect("a certificate");
    let port = terminate_tls(&signed, server.port()).await;
    let encrypted = ClickHouseConfig {
        port,
        disable_tls: false,
        tls_host: "clickhouse.test".to_owned(),
        root_ca: signed.cert.pem(),
        ..config(&server)
    };
    client(&encrypted).version().await.expect("a version");
    let other_name = ClickHouseConfig { tls_host: "other.test".to_owned(), ..encrypted.clone() };
    let error = client(&other_name).version().await.expect_err("another name");
    assert_eq!(error.class(), ErrorClass::Permanent, "{}", error.report());
    let plain = ClickHouseConfig { port: server.port(), ..encrypted };
    let error = client(&plain).version().await.expect_err("no TLS there");
    assert!(error.to_failure().hint.contains("disable_tls"), "{}", error.report());
}

/// Serves TLS in front of a port; the accepting task ends with the test's runtime.
async fn terminate_tls(signed: &rcgen::CertifiedKey<rcgen::KeyPair>, port: u16) -> u16 {
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring serves the usual versions")
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key.into())
        .expect("a certificate with its key");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let listening = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        let mut connections = tokio::task::JoinSet::new();
        while let Ok((socket, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            connections.spawn(async move {
                let mut encrypted = acceptor.accept(socket).await?;
                let mut plain = TcpStream::connect(("127.0.0.1", port)).await?;
                tokio::io::copy_bidirectional(&mut encrypted, &mut plain).await
            });
        }
    });
    listening
}
