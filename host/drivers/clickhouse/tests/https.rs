//! HTTPS to the ClickHouse engine: whom the driver trusts, and what it shows.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tarn_clickhouse::{Client, Error, ErrorClass};
use tarn_harness::ClickHouse;
use tarn_model::{ClickHouseConfig, FailureClass, Secret};

const NAME: &str = "clickhouse.example.org";

/// A server, and the authority behind its certificate and the clients'.
struct Encrypted {
    server: ClickHouse,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A server that takes everyone.
fn open() -> &'static Encrypted {
    static SERVER: OnceLock<Encrypted> = OnceLock::new();
    SERVER.get_or_init(|| start(false))
}

/// A server that takes clients with a certificate of its authority only.
fn closed() -> &'static Encrypted {
    static SERVER: OnceLock<Encrypted> = OnceLock::new();
    SERVER.get_or_init(|| start(true))
}

fn start(clients_show_certificates: bool) -> Encrypted {
    let issuer = authority();
    let (certificate, key) = issue(&issuer, NAME);
    let authority = issuer.pem();
    let client_authority = clients_show_certificates.then_some(authority.as_str());
    Encrypted { server: ClickHouse::start_with_https(&certificate, &key, client_authority), issuer }
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    let name = format!("authority {}", NEXT.fetch_add(1, Ordering::Relaxed));
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority")
}

fn issue(issuer: &CertifiedIssuer<'_, KeyPair>, name: &str) -> (String, String) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    params.distinguished_name.push(DnType::CommonName, name);
    (params.signed_by(&key, issuer).expect("a certificate").pem(), key.serialize_pem())
}

impl Encrypted {
    /// A peer that trusts the server's authority and knows its name.
    fn trusted(&self) -> ClickHouseConfig {
        ClickHouseConfig {
            host: self.server.host().to_owned(),
            port: self.server.https_port(),
            user: self.server.user().to_owned(),
            password: Secret::new(self.server.password()),
            database: self.server.database().to_owned(),
            root_ca: self.issuer.pem(),
            tls_host: NAME.to_owned(),
            ..ClickHouseConfig::default()
        }
    }
}

fn showing(config: ClickHouseConfig, issuer: &CertifiedIssuer<'_, KeyPair>) -> ClickHouseConfig {
    let (certificate, key) = issue(issuer, "somebody");
    ClickHouseConfig { certificate, private_key: Secret::new(key), ..config }
}

async fn version(config: &ClickHouseConfig) -> Result<String, Error> {
    Client::new(config)?.version().await
}

/// Asserts a refusal that retrying cannot mend, and what it says with its remedy.
async fn assert_refused(config: &ClickHouseConfig, parts: &[&str]) {
    let error = version(config).await.expect_err("refused");
    let failure = error.to_failure();
    assert_eq!(failure.class, FailureClass::Permanent, "{failure}");
    for part in parts {
        assert!(failure.to_string().contains(part), "{part:?} in {failure}");
    }
}

#[tokio::test]
async fn a_server_of_the_given_authority_and_name_is_spoken_to() {
    let trusted = open().trusted();
    assert!(version(&trusted).await.expect("a version").contains('.'));
    let client = Client::new(&trusted).expect("settings that can be used");
    client.query("CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a").await.expect("a table");
    let data: Vec<u8> = (0..1_000_000_u64).flat_map(u64::to_le_bytes).collect();
    let mut insert = client.insert("INSERT INTO t (a) FORMAT RowBinary", &[]);
    insert.append(data).await.expect("rows taken");
    insert.finish().await.expect("an insert");
    assert_eq!(open().server.scalar("SELECT sum(a) FROM t").as_deref(), Some("499999500000"));
}

#[tokio::test]
async fn another_name_or_authority_is_refused_with_the_remedy() {
    let trusted = open().trusted();
    let unnamed = ClickHouseConfig { tls_host: String::new(), ..trusted.clone() };
    assert_refused(&unnamed, &["not valid for name", "set tls_host"]).await;
    let other_name = ClickHouseConfig { tls_host: "other.example.org".to_owned(), ..trusted.clone() };
    assert_refused(&other_name, &["not valid for name", "set tls_host"]).await;
    let other_authority = ClickHouseConfig { root_ca: authority().pem(), ..trusted.clone() };
    assert_refused(&other_authority, &["UnknownIssuer", "set root_ca"]).await;
    let machines = ClickHouseConfig { root_ca: String::new(), ..trusted };
    assert_refused(&machines, &["UnknownIssuer", "set root_ca"]).await;
}

#[tokio::test]
async fn a_client_certificate_is_shown_where_one_is_set() {
    let closed = closed();
    let trusted = closed.trusted();
    version(&showing(trusted.clone(), &closed.issuer)).await.expect("a version");
    // Not needed, it does no harm.
    version(&showing(open().trusted(), &closed.issuer)).await.expect("a version");
    for config in [trusted.clone(), showing(trusted, &authority())] {
        assert_refused(&config, &["alert", "set certificate and private_key"]).await;
    }
}

#[tokio::test]
async fn a_port_without_tls_and_one_with_are_told_apart() {
    let trusted = open().trusted();
    let plain_port = ClickHouseConfig { port: open().server.port(), ..trusted.clone() };
    let error = version(&plain_port).await.expect_err("no TLS there");
    assert!(error.to_failure().hint.contains("disable_tls"), "{}", error.report());
    let plain = ClickHouseConfig { disable_tls: true, ..trusted };
    let error = version(&plain).await.expect_err("no clear text there");
    assert_eq!(error.class(), ErrorClass::Connection, "{}", error.report());
    version(&ClickHouseConfig { port: open().server.port(), ..plain }).await.expect("clear text");
}

#[test]
fn an_unreadable_certificate_is_named_by_its_field_and_no_key_is_shown() {
    let good = ClickHouseConfig { host: "h".to_owned(), ..ClickHouseConfig::default() };
    let (certificate, _) = issue(&authority(), "somebody");
    let half = ClickHouseConfig { certificate, private_key: Secret::new("planted"), ..good.clone() };
    for (config, field) in [
        (ClickHouseConfig { root_ca: "nonsense".to_owned(), ..good }, "root_ca: no PEM certificate in it"),
        (half, "private_key: no PEM private key in it"),
    ] {
        let error = Client::new(&config).expect_err("nothing to read");
        assert_eq!(error.to_string(), field);
        assert!(!format!("{error:?}").contains("planted"));
    }
}
