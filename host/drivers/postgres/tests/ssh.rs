//! A server behind an SSH server, as a source uses it: SQL, COPY, a replication stream, TLS inside.

#[path = "fixture/encrypted.rs"]
mod encrypted;
#[path = "fixture/server.rs"]
mod fixture;

use std::sync::OnceLock;
use std::time::Duration;

use encrypted::{NAME, encrypted, strange_certificate};
use fixture::{config, server};
use tarn_harness::Sshd;
use tarn_model::{PostgresConfig, Secret, SshConfig};
use tarn_postgres::{Class, Client};

fn sshd() -> &'static Sshd {
    static SERVER: OnceLock<Sshd> = OnceLock::new();
    SERVER.get_or_init(Sshd::start)
}

/// How to reach a server through an SSH server.
fn behind(sshd: &Sshd, server: PostgresConfig) -> PostgresConfig {
    let ssh = SshConfig {
        host: sshd.host().to_owned(),
        port: sshd.port(),
        user: sshd.user().to_owned(),
        password: Secret::new(sshd.password()),
        host_key: sshd.host_key(),
        ..SshConfig::default()
    };
    PostgresConfig { ssh_config: Some(ssh), ..server }
}

#[tokio::test]
async fn sql_and_copy_go_through_the_tunnel() {
    let before = sshd().log().matches("Accepted password").count();
    let mut session = Client::new(behind(sshd(), config(server()))).open().await.expect("a session");
    assert!(sshd().log().matches("Accepted password").count() > before, "{}", sshd().log());
    let rows = session.query("SELECT 6 * 7").await.expect("rows");
    assert_eq!(rows[0][0].as_deref(), Some("42"));
    session
        .copy_out("COPY (SELECT repeat('x', 999) FROM generate_series(1, 20000)) TO STDOUT")
        .await
        .expect("a copy");
    let mut bytes = 0;
    loop {
        let rows = session.copy_read(1 << 20).await.expect("rows");
        if rows.is_empty() {
            break;
        }
        bytes += rows.len();
    }
    assert_eq!(bytes, 20_000_000);
    session.close().await;
}

#[tokio::test]
async fn tls_runs_inside_the_tunnel_and_verifies_the_server_at_its_end() {
    let encrypted = encrypted();
    let verified = PostgresConfig {
        root_ca: encrypted.authority.clone(),
        tls_host: NAME.to_owned(),
        client_tls: Some(encrypted.certificate("ca_checked")),
        ..behind(sshd(), encrypted.role("ca_checked"))
    };
    let mut session = Client::new(verified.clone()).open().await.expect("a session");
    let rows = session.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").await.expect("rows");
    assert_eq!(rows[0][0].as_deref(), Some("t"));
    session.close().await;
    let stranger = PostgresConfig { root_ca: strange_certificate("x").certificate, ..verified };
    let error = Client::new(stranger).open().await.expect_err("another authority");
    assert!(error.chain().contains("UnknownIssuer"), "{}", error.chain());
}

#[tokio::test]
async fn a_stream_whose_session_is_killed_is_lost_and_goes_on_over_the_next() {
    let (sshd, server) = (Sshd::start(), server());
    server.query(
        "CREATE TABLE tunnelled (i int PRIMARY KEY); CREATE PUBLICATION tunnelled FOR TABLE tunnelled",
    );
    let client = Client::new(behind(&sshd, config(server)));
    let mut stream = client.open_replication().await.expect("a session");
    stream.query("CREATE_REPLICATION_SLOT tunnelled LOGICAL pgoutput").await.expect("a slot");
    let start =
        "START_REPLICATION SLOT tunnelled LOGICAL 0/0 (proto_version '1', publication_names 'tunnelled')";
    stream.stream(start).await.expect("a stream");
    server.query("INSERT INTO tunnelled VALUES (1)");
    let wait = Duration::from_secs(10);
    assert!(!stream.stream_read(1 << 20, wait).await.expect("messages").is_empty());

    sshd.kill_sessions();
    let error = loop {
        // What had arrived before comes first.
        if let Err(error) = stream.stream_read(1 << 20, wait).await {
            break error;
        }
    };
    assert_eq!((error.class(), error.sqlstate()), (Class::Connection, "08000"), "{}", error.chain());
    assert!(error.chain().contains("the ssh tunnel through"), "{}", error.chain());
    drop(stream);

    let mut stream = client.open_replication().await.expect("a session");
    // The slot is free once the server has noticed.
    while let Err(error) = stream.stream(start).await {
        assert_eq!(error.sqlstate(), "55006", "{}", error.chain());
        stream.query("SELECT pg_sleep(0.05)").await.expect("an answer");
    }
    server.query("INSERT INTO tunnelled VALUES (2)");
    assert!(!stream.stream_read(1 << 20, wait).await.expect("messages").is_empty());
    stream.close().await;
}

#[tokio::test]
async fn each_hop_that_fails_is_named_with_its_remedy() {
    let good = behind(sshd(), config(server()));
    let change = |change: fn(&mut SshConfig)| {
        let mut config = good.clone();
        change(config.ssh_config.as_mut().expect("an ssh server"));
        config
    };
    for (config, class, parts) in [
        (change(|ssh| ssh.port = 1), Class::Connection, ["cannot connect to 127.0.0.1:1", "ssh_config.host"]),
        (
            change(|ssh| ssh.host_key = "SHA256:another".to_owned()),
            Class::Authentication,
            ["shows the host key ssh-ed25519 SHA256:", "set ssh_config.host_key"],
        ),
        (
            change(|ssh| ssh.password = Secret::new("planted")),
            Class::Authentication,
            ["the ssh server refuses user \"tarn\"", "check ssh_config.user"],
        ),
        (
            PostgresConfig { port: 1, ..good.clone() },
            Class::Connection,
            ["the ssh server cannot reach 127.0.0.1:1", "as the ssh server sees them"],
        ),
    ] {
        let error = Client::new(config).open().await.expect_err("a hop fails");
        let text = format!("{}; {}", error.chain(), error.detail());
        assert_eq!(error.class(), class, "{text}");
        for part in parts {
            assert!(text.contains(part), "{part:?} in {text:?}");
        }
        assert!(!text.contains("planted"));
    }
}
