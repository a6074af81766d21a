use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tarn_model::Secret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::{ClientIdentity, TlsSettings, Verification};
use crate::{Error, Stream, connect};

const DEADLINE: Duration = Duration::from_secs(5);

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority")
}

/// A server for one connection that echoes one byte, with a certificate for `name`.
async fn server(issuer: &CertifiedIssuer<'static, KeyPair>, name: &str) -> (SocketAddr, JoinHandle<()>) {
    let key = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(vec![name.to_owned()])
        .expect("a name")
        .signed_by(&key, issuer)
        .expect("a certificate");
    serve(certificate, key).await
}

async fn serve(certificate: rcgen::Certificate, key: KeyPair) -> (SocketAddr, JoinHandle<()>) {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).expect("a key"),
        )
        .expect("a certificate");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let task = tokio::spawn(async move {
        let (socket, _) = listener.accept().await.expect("a client");
        if let Ok(mut stream) = TlsAcceptor::from(Arc::new(config)).accept(socket).await
            && let Ok(byte) = stream.read_u8().await
        {
            stream.write_u8(byte).await.expect("the client waits");
        }
    });
    (address, task)
}

fn settings(verification: Verification, root_ca: &str) -> TlsSettings {
    TlsSettings {
        verification,
        server_name: "db.example.org".to_owned(),
        root_ca: root_ca.to_owned(),
        client: None,
    }
}

async fn attempt(address: SocketAddr, settings: &TlsSettings) -> Result<Stream, Error> {
    let plain = connect(&address.ip().to_string(), address.port(), DEADLINE).await.expect("it listens");
    plain.encrypt(settings, DEADLINE).await
}

async fn echo(mut stream: Stream) {
    stream.write_u8(7).await.expect("the server reads");
    assert_eq!(stream.read_u8().await.expect("the server writes"), 7);
}

#[tokio::test]
async fn verify_full_takes_the_right_name_of_a_trusted_authority() {
    let issuer = authority();
    let (address, task) = server(&issuer, "db.example.org").await;
    let stream = attempt(address, &settings(Verification::Full, &issuer.pem())).await.expect("trusted");
    assert!(stream.is_encrypted());
    assert!(stream.server_certificate().is_some());
    echo(stream).await;
    task.await.expect("the server ends");
}

#[tokio::test]
async fn verify_full_refuses_another_name_and_verify_ca_takes_it() {
    let issuer = authority();
    let (address, task) = server(&issuer, "other.example.org").await;
    let error =
        attempt(address, &settings(Verification::Full, &issuer.pem())).await.expect_err("another name");
    assert!(error.is_permanent(), "{error:?}");
    task.await.expect("the server ends");

    let (address, task) = server(&issuer, "other.example.org").await;
    echo(attempt(address, &settings(Verification::Chain, &issuer.pem())).await.expect("the chain holds"))
        .await;
    task.await.expect("the server ends");
}

#[tokio::test]
async fn another_authority_is_refused_unless_nothing_is_verified() {
    let issuer = authority();
    for verification in [Verification::Full, Verification::Chain] {
        let (address, task) = server(&issuer, "db.example.org").await;
        let error =
            attempt(address, &settings(verification, &authority().pem())).await.expect_err("a stranger");
        assert!(error.is_permanent(), "{error:?}");
        task.await.expect("the server ends");
    }
    let (address, task) = server(&issuer, "db.example.org").await;
    echo(attempt(address, &settings(Verification::None, "")).await.expect("anybody will do")).await;
    task.await.expect("the server ends");
}

#[tokio::test]
async fn a_self_signed_server_certificate_can_be_its_own_authority() {
    for is_ca in [IsCa::NoCa, IsCa::Ca(BasicConstraints::Unconstrained)] {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec!["db.example.org".to_owned()]).expect("a name");
        params.is_ca = is_ca;
        let certificate = params.self_signed(&key).expect("a certificate");
        let pem = certificate.pem();
        let (address, task) = serve(certificate, key).await;
        echo(attempt(address, &settings(Verification::Full, &pem)).await.expect("given as trusted")).await;
        task.await.expect("the server ends");
    }
}

#[tokio::test]
async fn a_server_that_hangs_ends_at_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let plain = connect(&address.ip().to_string(), address.port(), DEADLINE).await.expect("it listens");
    let error = plain
        .encrypt(&settings(Verification::None, ""), Duration::from_millis(20))
        .await
        .expect_err("nobody answers");
    assert!(matches!(error, Error::TimedOut { .. }), "{error:?}");
}

#[test]
fn unreadable_certificates_name_their_field_and_never_the_key() {
    let mut broken = settings(Verification::Full, "not a certificate");
    let error = super::client_config(&broken).expect_err("no PEM");
    assert_eq!(error.to_string(), "root_ca is not usable: no PEM certificate in it");

    broken.root_ca.clear();
    broken.verification = Verification::None;
    broken.client =
        Some(ClientIdentity { certificate: authority().pem(), private_key: Secret::new("hunter2") });
    let error = super::client_config(&broken).expect_err("no key");
    assert_eq!(error.to_string(), "client_tls.private_key is not usable: no PEM private key in it");
    assert!(!format!("{error:?} {broken:?}").contains("hunter2"));
}
