//! What the driver makes of answers that a healthy server does not give.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread;

use tarn_clickhouse::{Client, Error, ErrorClass};
use tarn_model::{ClickHouseConfig, Secret};

/// A client of a server that reads one request, answers with these bytes and closes.
fn client_of(answer: String) -> (Client, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let server = thread::spawn(move || {
        let (socket, _) = listener.accept().expect("a connection");
        let mut reader = BufReader::new(socket.try_clone().expect("a handle"));
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let start = head.len();
            reader.read_line(&mut head).expect("a line");
            if let Some(value) = head[start..].to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a number");
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("a body");
        if head.to_lowercase().contains("transfer-encoding: chunked") {
            while !body.ends_with(b"0\r\n\r\n") {
                reader.read_until(b'\n', &mut body).expect("a chunk");
            }
        }
        (&socket).write_all(answer.as_bytes()).expect("an answer is taken");
        head + &String::from_utf8_lossy(&body)
    });
    let config = ClickHouseConfig {
        host: "127.0.0.1".to_owned(),
        port,
        user: "tarn".to_owned(),
        password: Secret::new("pass word "),
        database: "d".to_owned(),
        disable_tls: true,
        ..ClickHouseConfig::default()
    };
    (Client::new(&config).expect("settings that can be used"), server)
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

async fn query_error(answer: String) -> Error {
    client_of(answer).0.query("SELECT 1").await.expect_err("no result")
}

#[tokio::test]
async fn credentials_travel_in_a_header_and_never_in_the_url() {
    let (client, server) = client_of(answer("200 OK", "", "1\n"));
    client.query("SELECT 1").await.expect("a row");
    let request = server.join().expect("a request");
    let (line, rest) = request.split_once("\r\n").expect("a request line");
    assert_eq!(line, "POST /?wait_end_of_query=1&database=d HTTP/1.1");
    assert!(rest.contains("Basic dGFybjpwYXNzIHdvcmQg\r\n"), "{rest}");
    assert!(rest.ends_with("\r\n\r\nSELECT 1"));
}

#[tokio::test]
async fn an_exception_behind_rows_of_a_200_is_an_error() {
    let body = "1\n2\n\r\n__exception__\r\naaaabbbbccccdddd\r\nCode: 241. DB::Exception: memory. (X)\n\r\n31 aaaabbbbccccdddd\r\n__exception__\r\n";
    let error = query_error(answer("200 OK", "X-ClickHouse-Exception-Tag: aaaabbbbccccdddd\r\n", body)).await;
    assert_eq!((error.code(), error.class()), (241, ErrorClass::Retryable));
}

#[tokio::test]
async fn an_exception_in_an_answer_that_breaks_off_is_told() {
    let chunk = "1\n2\nCode: 159. DB::Exception: Timeout exceeded. (TIMEOUT_EXCEEDED) (version 24.3.1)\n";
    let broken =
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{chunk}\r\n", chunk.len());
    let error = query_error(broken).await;
    assert_eq!(error.to_string(), "ClickHouse error 159: Timeout exceeded. (TIMEOUT_EXCEEDED)");
}

#[tokio::test]
async fn an_insert_answered_200_with_an_exception_did_not_happen() {
    let (client, _) = client_of(answer("200 OK", "", "Code: 252. DB::Exception: Too many parts. (X)\n"));
    let mut insert = client.insert("INSERT INTO t FORMAT RowBinary", &[]);
    insert.append(vec![1]).await.expect("it is taken");
    let error = insert.finish().await.expect_err("an error");
    assert_eq!((error.code(), error.class()), (252, ErrorClass::Retryable));
}

#[tokio::test]
async fn rows_that_look_like_an_exception_are_rows() {
    let body = "Code: 60. DB::Exception: a log line a person stored (version 1)\n";
    let (client, _) = client_of(answer("200 OK", "", body));
    assert_eq!(&client.query("SELECT line FROM logs").await.expect("rows")[..], body.as_bytes());
}

#[tokio::test]
async fn a_broken_answer_leaves_the_outcome_unknown() {
    let error = query_error("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n1\n".to_owned()).await;
    assert!(matches!(error, Error::Lost { .. }));
    assert_eq!((error.code(), error.class()), (0, ErrorClass::Connection));
    assert!(matches!(query_error(String::new()).await, Error::Lost { .. }));
}

#[tokio::test]
async fn what_is_not_clickhouse_is_named_by_address_and_status() {
    let native = answer("400 Bad Request", "", "Port 9000 is for clickhouse-client program\n");
    let error = query_error(native).await;
    assert_eq!(error.class(), ErrorClass::Permanent);
    assert!(error.to_string().contains("status 400") && error.to_string().contains("Port 9000"), "{error}");
    assert!(error.to_failure().hint.contains("8123"));
    let proxy = query_error(answer("502 Bad Gateway", "", "<html>nobody behind</html>")).await;
    assert_eq!((proxy.code(), proxy.class()), (0, ErrorClass::Retryable));
}

#[tokio::test]
async fn a_proxy_that_shows_the_request_shows_no_secret() {
    let shown = "cannot forward: Authorization: Basic dGFybjpwYXNzIHdvcmQg, key=pass word ";
    let error = query_error(answer("502 Bad Gateway", "", shown)).await.to_string();
    assert!(error.contains("Basic ********, key=********"), "{error}");
}

#[tokio::test]
async fn a_message_that_is_cut_keeps_no_part_of_a_secret() {
    let long = format!("{}pass word ", "x".repeat(1_020));
    let error = query_error(answer("500 Oops", "", &long)).await.to_string();
    assert!(error.contains("xxx***") && !error.contains("pass"), "{error}");
}
