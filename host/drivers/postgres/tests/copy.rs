//! COPY against a real server.

#[path = "fixture/server.rs"]
mod fixture;

use fixture::{config, server};
use tarn_postgres::{Class, Client, Connection, Error};

fn client() -> Client {
    Client::new(config(server()))
}

async fn read(session: &mut Connection, bytes_max: usize) -> Result<Vec<Vec<u8>>, Error> {
    let mut pieces = Vec::new();
    loop {
        let rows = session.copy_read(bytes_max).await?;
        if rows.is_empty() {
            return Ok(pieces);
        }
        pieces.push(rows);
    }
}

#[tokio::test]
async fn a_copy_comes_in_pieces_of_whole_rows() {
    let mut session = client().open().await.expect("a session");
    session.copy_out("COPY (SELECT i FROM generate_series(1, 200000) i) TO STDOUT").await.expect("a copy");
    let pieces = read(&mut session, 50_000).await.expect("rows");
    assert!(pieces.len() > 10);
    for piece in &pieces {
        assert!(piece.len() < 60_000);
        assert_eq!(piece.last(), Some(&b'\n'));
    }
    let expected: String = (1..=200_000).map(|i| format!("{i}\n")).collect();
    assert_eq!(pieces.concat(), expected.into_bytes());
    assert_eq!(session.query("SELECT 1").await.expect("a row"), [[Some("1".to_owned())]]);
}

#[tokio::test]
async fn an_empty_copy_ends_at_once() {
    let mut session = client().open().await.expect("a session");
    session.copy_out("COPY (SELECT 1 WHERE false) TO STDOUT").await.expect("a copy");
    assert!(read(&mut session, 1000).await.expect("no rows").is_empty());
    assert!(matches!(session.copy_read(1000).await, Err(Error::State(_))));
    session.query("SELECT 1").await.expect("the session serves on");
}

#[tokio::test]
async fn rows_larger_than_the_buffer_come_whole() {
    let mut session = client().open().await.expect("a session");
    let sql = "COPY (SELECT repeat(i::text, 1000000 * i) FROM generate_series(1, 5) i) TO STDOUT";
    session.copy_out(sql).await.expect("a copy");
    let pieces = read(&mut session, 1).await.expect("rows");
    let lengths: Vec<usize> = pieces.iter().map(Vec::len).collect();
    assert_eq!(lengths, [1_000_001, 2_000_001, 3_000_001, 4_000_001, 5_000_001]);
}

#[tokio::test]
async fn a_copy_that_fails_in_the_middle_is_an_error_and_the_session_serves_on() {
    let mut session = client().open().await.expect("a session");
    let sql = "COPY (SELECT 1 / (50000 - i) FROM generate_series(1, 100000) i) TO STDOUT";
    session.copy_out(sql).await.expect("a copy");
    let error = read(&mut session, 1000).await.expect_err("a division by zero");
    assert_eq!((error.sqlstate(), error.class()), ("22012", Class::Server));
    session.query("SELECT 1").await.expect("the session serves on");
}

#[tokio::test]
async fn a_copy_that_cannot_start_is_an_error_and_the_session_serves_on() {
    let mut session = client().open().await.expect("a session");
    let error = session.copy_out("COPY nowhere TO STDOUT").await.expect_err("no such table");
    assert_eq!(error.sqlstate(), "42P01");
    session.query("SELECT 1").await.expect("the session serves on");
}

#[tokio::test]
async fn other_calls_are_refused_while_a_copy_runs() {
    let mut session = client().open().await.expect("a session");
    session.copy_out("COPY (SELECT i FROM generate_series(1, 3) i) TO STDOUT").await.expect("a copy");
    assert!(matches!(session.query("SELECT 1").await, Err(Error::State(_))));
    assert_eq!(read(&mut session, 1000).await.expect("rows").concat(), b"1\n2\n3\n");
}

#[tokio::test]
async fn a_dropped_call_leaves_the_session_refusing_others() {
    let mut session = client().open().await.expect("a session");
    drop(Box::pin(session.query("SELECT 1")));
    session.query("SELECT 1").await.expect("nothing had begun");
    let dropped =
        tokio::time::timeout(std::time::Duration::from_millis(20), session.query("SELECT pg_sleep(60)"));
    dropped.await.expect_err("the call takes longer");
    assert!(matches!(session.query("SELECT 1").await, Err(Error::State(_))));
}
