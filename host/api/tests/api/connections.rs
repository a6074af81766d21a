//! The API on a socket: over TCP and TLS, and against clients that hold connections, heads, bodies and
//! answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tarn_api::{Limits, ServerTls, serve};
use tarn_model::Secret;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

use crate::fixture::{AUTHORIZATION, Fixture, creation};

/// Nothing takes this long unless it takes for ever.
const PATIENCE: Duration = Duration::from_secs(20);

/// A moment that a limit of a test lasts.
const MOMENT: Duration = Duration::from_millis(300);

struct Served {
    fixture: Arc<Fixture>,
    address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Served {
    async fn start(limits: Limits) -> Self {
        Self::start_with(limits, None).await
    }

    async fn start_with(limits: Limits, tls: Option<ServerTls>) -> Self {
        let fixture = Arc::new(Fixture::within(limits.clone()).await.with_peers().await);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let stop = CancellationToken::new();
        let task = tokio::spawn(serve(listener, fixture.router(), tls, limits, stop.clone()));
        Self { fixture, address, stop, task }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("it listens")
    }

    /// The answer to a request on a connection of its own.
    async fn ask(&self, request: &str) -> Answer {
        ask(self.connect().await, request).await
    }

    async fn end(self) {
        self.stop.cancel();
        timeout(PATIENCE, self.task).await.expect("it ends").expect("in order");
    }
}

struct Answer {
    status: u16,
    head: String,
    body: Value,
}

/// A GET that ends its connection, as an authenticated client.
fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: h\r\nAuthorization: {AUTHORIZATION}\r\nConnection: close\r\n\r\n")
}

async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> Answer {
    stream.write_all(request.as_bytes()).await.expect("the server reads");
    answer(&mut stream).await
}

/// Reads until the server closes.
async fn answer(stream: &mut (impl AsyncRead + Unpin)) -> Answer {
    let mut text = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut text)).await.expect("an end").expect("an orderly one");
    let text = String::from_utf8(text).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer in {text:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Answer { status, head: head.to_ascii_lowercase(), body: serde_json::from_str(body).unwrap_or_default() }
}

/// Whether the server closes the connection without another byte.
async fn closes(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    match timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("an end") {
        Ok(_) => rest.is_empty(),
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[tokio::test]
async fn requests_are_answered_one_after_another_on_one_connection() {
    let served = Served::start(Limits::default()).await;
    let mut stream = served.connect().await;
    for _ in 0..3 {
        let request = get("/api/v1/version").replace("Connection: close\r\n", "");
        stream.write_all(request.as_bytes()).await.expect("the server reads");
        let mut head = String::new();
        while !head.ends_with("\"}") {
            head.push(char::from(
                timeout(PATIENCE, stream.read_u8()).await.expect("an answer").expect("a byte"),
            ));
        }
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("0.1.0"), "{head}");
    }
    drop(stream);
    served.end().await;
}

#[tokio::test]
async fn a_head_that_never_ends_is_waited_for_only_so_long() {
    let served = Served::start(Limits { head_deadline: MOMENT, ..Limits::default() }).await;
    for beginning in ["", "G", "GET /api/v1/version HTTP/1.1\r\nHost: h\r\nX-Slow:"] {
        let mut stream = served.connect().await;
        stream.write_all(beginning.as_bytes()).await.expect("the server reads");
        assert!(closes(&mut stream).await, "{beginning:?}");
    }
    // Byte by byte is no way around it.
    let mut stream = served.connect().await;
    let dripping = async {
        for byte in get("/api/v1/version").bytes().cycle() {
            if stream.write_all(&[byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(MOMENT / 10).await;
        }
    };
    timeout(PATIENCE, dripping).await.expect("the server ends it");
    assert_eq!(served.ask(&get("/api/v1/version")).await.status, 200);
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let served = Served::start(Limits { head_deadline: MOMENT, ..Limits::default() }).await;
    let request = get("/api/v1/version").replace("Connection: close\r\n", "");
    // The answer, and then the end, although the client wants to go on.
    assert_eq!(served.ask(&request).await.status, 200);
}

#[tokio::test]
async fn a_body_that_drips_is_408_and_one_that_breaks_off_harms_nobody() {
    let served = Served::start(Limits { body_deadline: MOMENT, ..Limits::default() }).await;
    let head = format!(
        "POST /api/v1/mirrors/logs HTTP/1.1\r\nHost: h\r\nAuthorization: {AUTHORIZATION}\r\nContent-Length: 100\r\n\r\n{{"
    );
    let reply = served.ask(&head).await;
    assert_eq!((reply.status, &reply.body["code"]), (408, &json!(3)), "{}", reply.head);
    let mut stream = served.connect().await;
    stream.write_all(head.as_bytes()).await.expect("the server reads");
    drop(stream);
    assert_eq!(served.ask(&get("/api/v1/version")).await.status, 200);
}

#[tokio::test]
async fn an_announced_body_that_is_too_large_is_refused_before_it_is_sent() {
    let served = Served::start(Limits::default()).await;
    for announced in ["Content-Length: 99999999999", "Content-Length: 5000000"] {
        let reply = served
            .ask(&format!(
                "POST /api/v1/mirrors/logs HTTP/1.1\r\nHost: h\r\nAuthorization: {AUTHORIZATION}\r\n{announced}\r\n\r\n"
            ))
            .await;
        assert_eq!((reply.status, &reply.body["code"]), (413, &json!(8)), "{}", reply.head);
    }
}

#[tokio::test]
async fn an_answer_that_nobody_takes_ends_its_connection() {
    let limits = Limits { stall: MOMENT, connections_max: 1, ..Limits::default() };
    let served = Served::start(limits).await;
    let script = json!({"id": -1, "lang": "lua", "name": "large", "source": "x".repeat(16 << 20)});
    served.fixture.post("scripts", json!({"script": script})).await.ok();
    let mut stream = served.connect().await;
    stream.write_all(get("/api/v1/scripts/-1").as_bytes()).await.expect("the server reads");
    // The only place is free again although the client neither reads nor leaves.
    let free = async {
        while served.ask(&get("/api/v1/version")).await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, free).await.expect("the place is free again");
    drop(stream);
}

#[tokio::test]
async fn a_connection_too_many_is_told_to_come_back() {
    let served = Served::start(Limits { connections_max: 2, ..Limits::default() }).await;
    let mut held = vec![served.connect().await, served.connect().await];
    let reply = loop {
        let reply = served.ask(&get("/api/v1/version")).await;
        // The held ones may not have been taken yet.
        if reply.status != 200 {
            break reply;
        }
        held.push(served.connect().await);
    };
    assert_eq!((reply.status, &reply.body["code"]), (503, &json!(14)));
    assert!(reply.head.contains("retry-after: 1"), "{}", reply.head);
    assert!(
        reply.body["message"].as_str().is_some_and(|text| text.contains("connections")),
        "{}",
        reply.body
    );
    drop(held);
    let free = async { while served.ask(&get("/api/v1/version")).await.status != 200 {} };
    timeout(PATIENCE, free).await.expect("places are free again");
}

#[tokio::test]
async fn what_is_no_http_is_refused_and_harms_nobody() {
    let served = Served::start(Limits::default()).await;
    let huge = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "y".repeat(100 << 10));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(200));
    for (request, status) in
        [("\u{16}\u{3}\u{1}\r\n\r\n", 400), ("GET\r\n\r\n", 400), (&huge, 431), (&many, 431)]
    {
        assert_eq!(served.ask(request).await.status, status, "{request:.20?}");
    }
    assert_eq!(served.ask(&get("/api/v1/version")).await.status, 200);
    served.end().await;
}

#[tokio::test]
async fn failed_logins_count_for_the_sockets_address() {
    let served = Served::start(Limits { failed_logins_max: 3, ..Limits::default() }).await;
    for number in 0..3 {
        let wrong = get("/api/v1/version").replace(AUTHORIZATION, "Basic Ondyb25n");
        let spoofed = wrong.replace("Host: h", &format!("Host: h\r\nX-Forwarded-For: 192.0.2.{number}"));
        assert_eq!(served.ask(&spoofed).await.status, 401);
    }
    let reply = served.ask(&get("/api/v1/version")).await;
    assert_eq!((reply.status, &reply.body["code"]), (429, &json!(8)), "{}", reply.head);
    assert!(reply.head.contains("retry-after: "), "{}", reply.head);
}

#[tokio::test]
async fn stopping_lets_a_request_under_way_finish_and_takes_no_more() {
    let served = Served::start(Limits::default()).await;
    let (release, released) = tokio::sync::oneshot::channel();
    *served.fixture.stores.meanwhile.lock().expect("whole") = Some(Box::pin(async move {
        let _ = released.await;
    }));
    let body = creation("m").to_string();
    let request = format!(
        "POST /api/v1/mirrors/cdc/validate HTTP/1.1\r\nHost: h\r\nAuthorization: {AUTHORIZATION}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let idle = served.connect().await;
    let mut stream = served.connect().await;
    stream.write_all(request.as_bytes()).await.expect("the server reads");
    while served.fixture.stores.meanwhile.lock().expect("whole").is_some() {
        tokio::task::yield_now().await;
    }
    served.stop.cancel();
    let refused = async { while TcpStream::connect(served.address).await.is_ok() {} };
    timeout(PATIENCE, refused).await.expect("nobody listens any more");
    assert!(!served.task.is_finished(), "a request is under way");
    release.send(()).expect("it waits");
    assert_eq!(answer(&mut stream).await.status, 200);
    timeout(PATIENCE, served.task).await.expect("it ends").expect("in order");
    drop(idle);
}

/// A certificate for `localhost`, and a client that trusts it.
fn certified() -> (ServerTls, TlsConnector) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = Secret::new(made.signing_key.serialize_pem());
    let tls = ServerTls::new(&made.cert.pem(), &key).expect("a pair");
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("an authority");
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    (tls, TlsConnector::from(Arc::new(config)))
}

async fn encrypted(served: &Served, client: &TlsConnector) -> tokio_rustls::client::TlsStream<TcpStream> {
    let name = ServerName::try_from("localhost").expect("a name");
    let connecting = client.connect(name, served.connect().await);
    timeout(PATIENCE, connecting).await.expect("a handshake").expect("a trusted one")
}

#[tokio::test]
async fn with_a_certificate_the_api_speaks_https_and_nothing_else() {
    let (tls, client) = certified();
    let limits = Limits { handshake_deadline: MOMENT, connections_max: 2, ..Limits::default() };
    let served = Served::start_with(limits, Some(tls)).await;
    let reply = ask(encrypted(&served, &client).await, &get("/api/v1/version")).await;
    assert_eq!((reply.status, &reply.body["version"]), (200, &json!("0.1.0")));

    let mut clear = served.connect().await;
    clear.write_all(get("/api/v1/version").as_bytes()).await.expect("the server reads");
    let mut told = Vec::new();
    // A TLS alert at most, or a reset.
    let _ = timeout(PATIENCE, clear.read_to_end(&mut told)).await.expect("an end");
    assert!(!told.starts_with(b"HTTP"), "{}", String::from_utf8_lossy(&told));

    // Clients that never finish a handshake hold no place for long.
    let silent = [served.connect().await, served.connect().await];
    let free = async {
        while ask(encrypted(&served, &client).await, &get("/api/v1/version")).await.status != 200 {}
    };
    timeout(PATIENCE, free).await.expect("places are free again");
    drop(silent);
    served.end().await;
}

#[tokio::test]
async fn a_connection_too_many_is_told_over_tls_too() {
    let (tls, client) = certified();
    let served = Served::start_with(Limits { connections_max: 1, ..Limits::default() }, Some(tls)).await;
    let held = encrypted(&served, &client).await;
    let reply = ask(encrypted(&served, &client).await, &get("/api/v1/version")).await;
    assert_eq!((reply.status, &reply.body["code"]), (503, &json!(14)), "{}", reply.head);
    drop(held);
}
