use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use serde_json::json;
use tarn_model::Secret;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::*;

/// What a server got, once it is over.
type Served = JoinHandle<String>;

fn access(address: &str, root_ca: &str) -> Access {
    Access {
        address: address.parse().expect("an address"),
        username: "ann".into(),
        password: Secret::new("p@ss:w/?ord"),
        root_ca: root_ca.into(),
    }
}

/// Reads one request and answers it.
async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, status: &str, body: &str) -> String {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).await.is_ok_and(|count| count > 0) {
        request.push(byte[0]);
    }
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    // A client that gave up does not read it.
    let _unread = stream.write_all(answer.as_bytes()).await;
    String::from_utf8(request).expect("a head is text")
}

async fn plain(status: &'static str, body: &'static str) -> (String, Served) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let task = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.expect("a client");
        serve(socket, status, body).await
    });
    (address, task)
}

/// A server with a certificate for `localhost`, and the PEM of its authority.
async fn encrypted() -> (u16, String, Served) {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer =
        CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
    let key = KeyPair::generate().expect("a key");
    let names = vec!["localhost".to_owned()];
    let certificate =
        CertificateParams::new(names).expect("a name").signed_by(&key, &issuer).expect("signed");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
        )
        .expect("a certificate");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let task = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.expect("a client");
        match TlsAcceptor::from(Arc::new(config)).accept(socket).await {
            Ok(stream) => serve(stream, "200 OK", "{\"version\": \"1\"}").await,
            Err(_) => String::new(),
        }
    });
    (port, issuer.pem(), task)
}

#[test]
fn a_name_stays_one_segment_of_the_path() {
    assert_eq!(segment("a b/c?d.é"), "a%20b%2Fc%3Fd.%C3%A9");
}

#[tokio::test]
async fn a_request_has_its_base_path_its_host_and_its_credentials() {
    let (address, served) = plain("200 OK", "{}").await;
    let client = Client::new(access(&format!("http://{address}/data"), ""));
    assert_eq!(client.get("version").await.expect("an answer"), json!({}));
    let request = served.await.expect("served");
    assert!(request.starts_with("GET /data/api/v1/version HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("host: {address}\r\n")), "{request}");
    assert!(request.contains("authorization: Basic YW5uOnBAc3M6dy8/b3Jk\r\n"), "{request}");
    assert!(!format!("{client:?}").contains("YW5u"), "the header prints as what it is");
}

#[tokio::test]
async fn a_server_of_an_own_authority_is_verified() {
    let (port, authority, served) = encrypted().await;
    let client = Client::new(access(&format!("https://localhost:{port}"), &authority));
    assert_eq!(client.get("version").await.expect("an answer"), json!({"version": "1"}));
    assert!(served.await.expect("served").starts_with("GET /api/v1/version"));
}

#[tokio::test]
async fn a_server_of_another_authority_or_name_gets_no_credentials() {
    let (port, _, served) = encrypted().await;
    let (_, other, _) = encrypted().await;
    let client = Client::new(access(&format!("https://localhost:{port}"), &other));
    let error = client.get("version").await.expect_err("another authority").to_string();
    assert!(error.contains("--ca-file"), "{error}");
    assert_eq!(served.await.expect("served"), "", "nothing was sent");

    let (port, authority, served) = encrypted().await;
    let client = Client::new(access(&format!("https://127.0.0.1:{port}"), &authority));
    client.get("version").await.expect_err("another name");
    assert_eq!(served.await.expect("served"), "", "nothing was sent");
}

#[tokio::test]
async fn http_to_a_server_that_speaks_https_says_so() {
    let (port, _, _served) = encrypted().await;
    let client = Client::new(access(&format!("http://localhost:{port}"), ""));
    let error = client.get("version").await.expect_err("not HTTP");
    assert!(error.to_string().contains("https://") && error.exit_code() == 3, "{error}");
}

#[tokio::test]
async fn an_answer_of_another_kind_is_told_from_a_refusal() {
    for (status, body, code) in [
        ("404 Not Found", "{\"code\": 5, \"message\": \"there is no peer x\", \"details\": []}", 1),
        ("401 Unauthorized", "{}", 4),
        ("200 OK", "<html>", 3),
        ("502 Bad Gateway", "<html>", 3),
        ("500 Internal Server Error", "{}", 3),
    ] {
        let (address, _served) = plain(status, body).await;
        let error = Client::new(access(&address, "")).get("x").await.expect_err(status);
        assert_eq!(error.exit_code(), code, "{status}: {error}");
    }
}
