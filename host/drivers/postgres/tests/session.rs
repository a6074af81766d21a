//! Sessions against a real server.

#[path = "fixture/server.rs"]
mod fixture;

use fixture::{config, server};
use tarn_harness::Postgres;
use tarn_model::{PostgresConfig, Secret};
use tarn_postgres::{Class, Client, Error};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

fn client() -> Client {
    Client::new(config(server()))
}

fn one(rows: Vec<Vec<Option<String>>>) -> String {
    rows.into_iter().flatten().flatten().next().expect("one value")
}

#[tokio::test]
async fn rows_come_as_text_of_the_last_statement_that_has_any() {
    let mut session = client().open().await.expect("a session");
    let rows = session
        .query("SELECT 1; SELECT x, NULL, '' FROM (VALUES ('é'), ('b')) AS t (x); SET application_name = 'x'")
        .await
        .expect("rows");
    let row = |x: &str| vec![Some(x.to_owned()), None, Some(String::new())];
    assert_eq!(rows, [row("é"), row("b")]);
    assert_eq!(session.query("").await.expect("nothing"), Vec::<Vec<Option<String>>>::new());
    assert!(session.server_version().chars().next().is_some_and(|digit| digit.is_ascii_digit()));
    session.close().await;
}

#[tokio::test]
async fn text_forms_do_not_depend_on_settings_of_role_or_server() {
    let server = server();
    server.query(
        "CREATE ROLE odd LOGIN SUPERUSER PASSWORD 'odd';
         ALTER ROLE odd SET datestyle = 'German';
         ALTER ROLE odd SET timezone = 'Asia/Kolkata';
         ALTER ROLE odd SET intervalstyle = 'iso_8601';
         ALTER ROLE odd SET bytea_output = 'escape';
         ALTER ROLE odd SET extra_float_digits = '-15';
         ALTER ROLE odd SET statement_timeout = '300ms';
         ALTER ROLE odd SET idle_session_timeout = '300ms';
         ALTER ROLE odd SET idle_in_transaction_session_timeout = '300ms';
         ALTER ROLE odd SET default_transaction_read_only = 'on'",
    );
    let mut config = config(server);
    (config.user, config.password) = ("odd".to_owned(), Secret::new("odd"));
    let client = Client::new(config);
    for replication in [false, true] {
        let opened = if replication { client.open_replication().await } else { client.open().await };
        let mut session = opened.expect("a session");
        // B155: no time-out of the server ends a session that waits for us.
        let rows = session
            .query(
                "SELECT pg_sleep(0.4), '2026-03-04 05:06:07+00'::timestamptz, '1 mon -2 days 00:00:00.5'::interval,
                        '\\x00ff'::bytea, 0.1::float8 + 0.2, current_setting('application_name'),
                        current_setting('idle_session_timeout'), current_setting('transaction_read_only')",
            )
            .await
            .expect("a row");
        let expected = [
            "",
            "2026-03-04 05:06:07+00",
            "1 mon -2 days +00:00:00.5",
            "\\x00ff",
            "0.30000000000000004",
            "tarn",
            "0",
            "off",
        ];
        assert_eq!(rows, [expected.map(|text| Some(text.to_owned())).to_vec()]);
        session.close().await;
    }
}

#[tokio::test]
async fn an_error_of_the_server_leaves_the_session_usable() {
    let mut session = client().open().await.expect("a session");
    let error = session.query("SELECT 1; SELECT * FROM nowhere; SELECT 2").await.expect_err("no such table");
    assert_eq!((error.sqlstate(), error.class()), ("42P01", Class::Server));
    assert!(error.chain().contains("nowhere"), "{}", error.chain());
    assert_eq!(one(session.query("SELECT 3").await.expect("a row")), "3");
    session.close().await;
}

#[tokio::test]
async fn an_answer_larger_than_the_buffer_comes_whole() {
    let mut session = client().open().await.expect("a session");
    let text = one(session.query("SELECT repeat('x', 5000000)").await.expect("a row"));
    assert_eq!(text.len(), 5_000_000);
    let error =
        session.query("SELECT repeat('x', 50000000), repeat('x', 50000000)").await.expect_err("too large");
    assert!(matches!(error, Error::AnswerTooLarge { .. }));
    let error = session.query("SELECT 1").await.expect_err("left in the middle");
    assert!(matches!(error, Error::State(_)));
}

#[tokio::test]
async fn a_terminated_backend_is_a_lost_connection_with_the_servers_reason() {
    let mut session = client().open().await.expect("a session");
    let backend = session.backend();
    let waiting = tokio::spawn(async move { session.query("SELECT pg_sleep(60)").await });
    let mut killer = client().open().await.expect("a session");
    let asleep =
        format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {backend} AND wait_event = 'PgSleep'");
    while one(killer.query(&asleep).await.expect("a row")) == "0" {}
    killer.query(&format!("SELECT pg_terminate_backend({backend})")).await.expect("a row");
    let error = waiting.await.expect("no panic").expect_err("terminated");
    assert_eq!((error.sqlstate(), error.class()), ("57P01", Class::Connection));
}

#[tokio::test]
async fn every_password_method_works_and_a_wrong_password_is_told_without_it() {
    let server = Postgres::start();
    server.query(
        "SET password_encryption = 'md5';
         CREATE ROLE old LOGIN PASSWORD 'pass word é';
         SET password_encryption = 'scram-sha-256';
         CREATE ROLE plain LOGIN PASSWORD 'p@ss:w/?ord#test';
         CREATE ROLE scram LOGIN PASSWORD 'p@ss:w/?ord#test'",
    );
    let rules = "host all old all md5\\nhost all plain all password\\nhost all all all scram-sha-256";
    write_file(&server, "pg_hba.conf", &format!("local all all trust\\n{rules}"));
    server.query("SELECT pg_reload_conf()");
    let wait = "SELECT count(*) FROM pg_hba_file_rules WHERE auth_method = 'md5'";
    tarn_harness::until("the rules are in force", || {
        (server.scalar(wait).as_deref() == Some("1")).then_some(())
    });

    for (user, password) in
        [("old", "pass word é"), ("plain", "p@ss:w/?ord#test"), ("scram", "p@ss:w/?ord#test")]
    {
        let mut config = config(&server);
        config.user = user.to_owned();
        config.password = Secret::new(password);
        let mut session = Client::new(config.clone()).open().await.expect(user);
        assert_eq!(one(session.query("SELECT current_user").await.expect("a row")), user);
        session.close().await;

        config.password = Secret::new("wrong-secret");
        let error = Client::new(config.clone()).open().await.expect_err("a wrong password");
        assert_eq!((error.sqlstate(), error.class()), ("28P01", Class::Authentication), "{user}");
        assert!(!format!("{error:?} {}", error.chain()).contains("wrong-secret"));

        config.password = Secret::default();
        let error = Client::new(config).open().await.expect_err("no password");
        assert_eq!((error.sqlstate(), error.class()), ("28000", Class::Authentication), "{user}");
    }
}

/// A server that asks for the password in clear and quotes it as it refuses.
async fn refuse_with_what_was_told(listener: TcpListener) {
    let (mut socket, _) = listener.accept().await.expect("a connection");
    let mut message = vec![0; 1024];
    let greeted = socket.read(&mut message).await.expect("a greeting");
    assert!(message[..greeted].ends_with(b"\0\0"), "it came whole");
    socket.write_all(b"R\0\0\0\x08\0\0\0\x03").await.expect("somebody reads");
    let length = socket.read(&mut message).await.expect("a password");
    let told = String::from_utf8_lossy(&message[5..length - 1]).into_owned();
    let fields = format!("SFATAL\0C28P01\0Mno entry with {told}\0Dnot with {told}\0\0");
    let length = u32::try_from(fields.len() + 4).expect("short").to_be_bytes();
    socket.write_all(&[b"E", &length[..], fields.as_bytes()].concat()).await.expect("somebody reads");
}

#[tokio::test]
async fn a_server_that_quotes_the_password_is_not_quoted() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let config = PostgresConfig {
        host: "127.0.0.1".to_owned(),
        port: listener.local_addr().expect("an address").port(),
        user: "u".to_owned(),
        password: Secret::new("planted-secret"),
        disable_tls: true,
        ..PostgresConfig::default()
    };
    let server = tokio::spawn(refuse_with_what_was_told(listener));
    let error = Client::new(config).open().await.expect_err("refused");
    server.await.expect("it ends");
    let told = format!("{error:?} {error} {}", error.detail());
    assert!(told.contains("no entry with ********") && !told.contains("planted"), "{told}");
}

#[tokio::test]
async fn what_the_server_refuses_at_the_start_keeps_its_sqlstate() {
    let mut config = config(server());
    config.database = "no such database".to_owned();
    let error = Client::new(config).open().await.expect_err("no such database");
    assert_eq!((error.sqlstate(), error.class()), ("3D000", Class::Server));
}

#[tokio::test]
async fn a_role_or_a_database_that_is_closed_to_us_is_told_with_what_opens_it() {
    let server = server();
    server.query("CREATE ROLE \"shut out\" LOGIN PASSWORD 'p'; CREATE DATABASE \"shut\"");
    let mut config = config(server);
    config.user = "shut out".to_owned();
    config.password = Secret::new("p");
    let error = Client::new(config.clone()).open_replication().await.expect_err("no role for replication");
    assert_eq!(error.sqlstate(), "42501");
    assert!(error.detail().contains("ALTER ROLE \"shut out\" REPLICATION"), "{}", error.detail());
    config.database = "shut".to_owned();
    server.query("REVOKE CONNECT ON DATABASE shut FROM PUBLIC");
    let error = Client::new(config.clone()).open().await.expect_err("it may not connect");
    let detail = error.detail();
    assert!(detail.contains("GRANT CONNECT ON DATABASE \"shut\" TO \"shut out\""), "{detail}");
    server.query("ALTER DATABASE shut ALLOW_CONNECTIONS false");
    let error = Client::new(config).open().await.expect_err("nobody may connect");
    assert_eq!(error.sqlstate(), "55000");
    assert!(error.detail().contains("ALTER DATABASE \"shut\" ALLOW_CONNECTIONS true"), "{}", error.detail());
}

#[tokio::test]
async fn a_restarted_server_ends_the_session_and_serves_a_new_one() {
    let mut server = Postgres::start();
    let client = Client::new(config(&server));
    for crash in [false, true] {
        let mut session = client.open().await.expect("a session");
        if crash {
            server.kill()
        } else {
            server.stop()
        }
        let error = session.query("SELECT 1").await.expect_err("the server is gone");
        assert_eq!(error.class(), Class::Connection, "{error:?}");
        let error = client.open().await.expect_err("the server is gone");
        assert_eq!((error.sqlstate(), error.class()), ("08000", Class::Connection));
        server.start_again();
        client.open().await.expect("the server is back").close().await;
    }
}

/// Writes a file into the data directory, as only the server may.
fn write_file(server: &Postgres, name: &str, content: &str) {
    server.query(&format!(
        "COPY (SELECT 1) TO PROGRAM 'cat >/dev/null; printf \"{content}\\n\" > {name} && chmod 600 {name}'"
    ));
}
