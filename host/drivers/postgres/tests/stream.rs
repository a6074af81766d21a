//! Replication streams against a real server.

#[path = "fixture/server.rs"]
mod fixture;

use std::time::{Duration, Instant};

use fixture::{config, server};
use tarn_harness::Postgres;
use tarn_postgres::{Class, Client, Connection, Error};

fn client() -> Client {
    Client::new(config(server()))
}

const WAIT: Duration = Duration::from_secs(10);
const SHORT: Duration = Duration::from_millis(20);

/// A table, a publication and a slot of one name, and the stream from there.
async fn stream(server: &Postgres, name: &str) -> Connection {
    server.query(&format!("CREATE TABLE {name} (i int PRIMARY KEY, t text)"));
    server.query(&format!("CREATE PUBLICATION {name} FOR TABLE {name}"));
    let mut session = Client::new(config(server)).open_replication().await.expect("a session");
    let created =
        session.query(&format!("CREATE_REPLICATION_SLOT {name} LOGICAL pgoutput")).await.expect("a slot");
    assert_eq!(created[0][0].as_deref(), Some(name));
    start(&mut session, name).await.expect("a stream");
    session
}

async fn start(session: &mut Connection, name: &str) -> Result<(), Error> {
    let options = format!("proto_version '1', publication_names '{name}'");
    session.stream(&format!("START_REPLICATION SLOT {name} LOGICAL 0/0 ({options})")).await
}

/// The messages of what `stream_read` returned.
fn split(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let (message, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
        messages.push(message.to_vec());
        bytes = rest;
    }
    messages
}

/// Reads until `count` inserts came; each insert's message.
async fn inserts(session: &mut Connection, bytes_max: usize, count: usize) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while found.len() < count {
        let messages = split(&session.stream_read(bytes_max, WAIT).await.expect("messages"));
        assert!(!messages.is_empty(), "only {} inserts came", found.len());
        found.extend(messages.into_iter().filter(|message| message[0] == b'w' && message[25] == b'I'));
    }
    found
}

#[tokio::test]
async fn changes_come_as_the_server_sent_them_and_in_order() {
    let mut session = stream(server(), "ordered").await;
    server().query("INSERT INTO ordered SELECT i, 'text ' || i FROM generate_series(1, 20000) i");
    let found = inserts(&mut session, 10_000, 20_000).await;
    for (index, message) in found.iter().enumerate() {
        assert!(message.ends_with(format!("text {}", index + 1).as_bytes()));
    }
    session.close().await;
}

#[tokio::test]
async fn a_dense_stream_is_read_in_good_loads() {
    let mut session = stream(server(), "dense").await;
    server().query("INSERT INTO dense SELECT i, 'text ' || i FROM generate_series(1, 100000) i");
    let (mut found, mut reads) = (0, 0);
    while found < 100_000 {
        let messages = split(&session.stream_read(1 << 20, WAIT).await.expect("messages"));
        found += messages.iter().filter(|message| message[0] == b'w' && message[25] == b'I').count();
        reads += 1;
    }
    // A walsender sends each by itself, and a reader that is woken for each takes a few at a time.
    assert!(reads < 2000, "{reads} reads");
    session.close().await;
}

#[tokio::test]
async fn a_message_larger_than_the_buffer_comes_whole() {
    let mut session = stream(server(), "large").await;
    server().query("INSERT INTO large SELECT i, repeat('x', 3000000) FROM generate_series(1, 3) i");
    for message in inserts(&mut session, 100_000, 3).await {
        assert!(message.len() > 3_000_000 && message.ends_with(b"xxx"));
    }
    session.close().await;
}

#[tokio::test]
async fn a_read_returns_when_nothing_comes_and_at_once_when_something_does() {
    let mut session = stream(server(), "waiting").await;
    while !session.stream_read(1000, SHORT).await.expect("nothing").is_empty() {}
    let reading = async {
        let started = Instant::now();
        inserts(&mut session, 1_000_000, 1).await;
        started.elapsed()
    };
    let writing = tokio::task::spawn_blocking(|| server().query("INSERT INTO waiting VALUES (1, 'x')"));
    let (waited, written) = tokio::join!(reading, writing);
    written.expect("no panic");
    assert!(waited < WAIT, "{waited:?}");
    session.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmed_position_reaches_the_slot_also_at_the_close() {
    let mut session = stream(server(), "confirmed").await;
    let position = |sql: &str| {
        let text = server().scalar(&format!("SELECT ({sql}) - '0/0'::pg_lsn"));
        text.and_then(|text| text.parse::<u64>().ok()).expect("a position")
    };
    let slot = "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = 'confirmed'";
    server().query("INSERT INTO confirmed VALUES (1, 'x')");
    inserts(&mut session, 1_000_000, 1).await;
    let first = position("SELECT pg_current_wal_insert_lsn()");
    session.stream_confirm(first, first, first).await.expect("the stream runs");
    tarn_harness::until("the slot moves", || (position(slot) == first).then_some(()));

    server().query("INSERT INTO confirmed VALUES (2, 'x')");
    inserts(&mut session, 1_000_000, 1).await;
    let second = position("SELECT pg_current_wal_insert_lsn()");
    session.stream_confirm(second, second, second).await.expect("the stream runs");
    session.close().await;
    tarn_harness::until("the slot moves", || (position(slot) == second).then_some(()));
}

#[tokio::test]
async fn nothing_is_confirmed_that_was_not_given() {
    let mut session = stream(server(), "unconfirmed").await;
    let slot = "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = 'unconfirmed'";
    let before = server().scalar(slot);
    server().query("INSERT INTO unconfirmed VALUES (1, 'x')");
    inserts(&mut session, 1_000_000, 1).await;
    session.close().await;
    assert_eq!(server().scalar(slot), before);
}

#[tokio::test]
async fn a_slot_in_use_is_an_error_and_the_session_serves_on() {
    let session = stream(server(), "busy").await;
    let mut second = client().open_replication().await.expect("a session");
    let error = start(&mut second, "busy").await.expect_err("it is in use");
    assert_eq!((error.sqlstate(), error.class()), ("55006", Class::Server));
    second.query("IDENTIFY_SYSTEM").await.expect("the session serves on");
    session.close().await;
    while start(&mut second, "busy").await.is_err() {}
    second.close().await;
}

#[tokio::test]
async fn a_stream_whose_walsender_ends_is_lost() {
    let mut server = Postgres::start();
    let client = Client::new(config(&server));
    for crash in [false, true] {
        let name = if crash { "killed" } else { "terminated" };
        let mut session = stream(&server, name).await;
        if crash {
            server.kill();
        } else {
            server.query(&format!("SELECT pg_terminate_backend({})", session.backend()));
        }
        let error = loop {
            if let Err(error) = session.stream_read(1000, WAIT).await {
                break error;
            }
        };
        assert_eq!(error.class(), Class::Connection, "{error:?}");
        assert!(matches!(session.stream_read(1000, SHORT).await, Err(Error::State(_))));
    }
    server.start_again();
    client.open_replication().await.expect("the server is back").close().await;
}

#[tokio::test]
async fn a_server_that_is_stopped_ends_the_stream_when_all_was_confirmed() {
    let mut server = Postgres::start();
    let mut session = stream(&server, "stopped").await;
    let reading = tokio::spawn(async move {
        loop {
            let messages = match session.stream_read(1_000_000, SHORT).await {
                Ok(bytes) => split(&bytes),
                Err(error) => return error,
            };
            for message in messages.iter().filter(|message| message[0] == b'k') {
                let end = u64::from_be_bytes(message[1..9].try_into().expect("eight bytes"));
                if let Err(error) = session.stream_confirm(end, end, end).await {
                    return error;
                }
            }
        }
    });
    tokio::task::spawn_blocking(move || server.stop()).await.expect("it stops");
    let error = reading.await.expect("no panic");
    assert_eq!(error.class(), Class::Connection, "{error:?}");
}
