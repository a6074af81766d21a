//! The server's own life: asked to stop while it starts, and served over HTTPS.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tarn_e2e::Certificate;
use tarn_harness::{Tarn, until};

#[test]
fn a_server_that_is_asked_to_stop_while_it_starts_stops_at_once() {
    let mut tarn = Tarn::launch(&[]);
    // From here on components are compiled, which takes seconds: nothing is cached in a fresh folder.
    until("the catalog is open", || tarn.data_dir().join("sealing.key").exists().then_some(()));
    assert!(tarn.stop(), "a server that is stopped ends with success");
    let log = tarn.log();
    assert!(log.contains("stopped before it served") && !log.contains("tarn serves"), "{log}");
    // Nothing is left behind that the next start would stumble over.
    tarn.start_again();
    assert_eq!(tarn.get("/api/v1/version").status, 200);
}

/// What trusts a certificate, as a client of a library does.
fn client(certificate: &Certificate) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().to_vec().into()).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(client)
}

fn launch(certificate: &Certificate) -> Tarn {
    let environment = certificate.environment();
    Tarn::launch(&environment.each_ref().map(|(name, value)| (*name, value.as_str())))
}

/// The answer to a GET over HTTPS, if the server answers.
fn get(client: &Arc<ClientConfig>, port: u16, path: &str) -> Option<String> {
    let socket = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let name = ServerName::try_from("localhost").expect("a name");
    let session = ClientConnection::new(Arc::clone(client), name).expect("a client");
    let mut stream = StreamOwned::new(session, socket);
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

#[test]
fn with_a_certificate_the_server_speaks_https_and_no_http() {
    let certificate = Certificate::of("localhost");
    let mut tarn = launch(&certificate);
    let client = client(&certificate);
    let ready = until("it answers over https", || get(&client, tarn.port(), "/readyz"));
    assert!(ready.starts_with("HTTP/1.1 200 OK\r\n"), "{ready}");
    let stranger = get(&client, tarn.port(), "/api/v1/version").expect("an answer");
    assert!(stranger.starts_with("HTTP/1.1 401 "), "{stranger}");
    assert!(tarn.try_request("GET", "/readyz", &[], b"").is_err(), "clear text is not answered");
    assert!(tarn.stop());
}

#[test]
fn a_key_that_others_may_read_is_refused_at_the_start_with_the_remedy() {
    let certificate = Certificate::of("localhost");
    fs::set_permissions(certificate.key_file(), Permissions::from_mode(0o644)).expect("set");
    let mut tarn = launch(&certificate);
    assert!(!tarn.wait_for_end(), "it does not start");
    let log = tarn.log();
    assert!(log.contains("mode 0644") && log.contains("chmod 600"), "{log}");
}
