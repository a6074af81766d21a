//! TLS against a real server with a certificate of an authority of its own.

#[path = "fixture/server.rs"]
mod fixture;

use std::sync::OnceLock;

use fixture::config;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use tarn_harness::Postgres;
use tarn_model::{ClientTls, PostgresConfig, Secret};
use tarn_postgres::{Class, Client, Error};

struct Encrypted {
    server: Postgres,
    authority: String,
    client: ClientTls,
}

/// A server for `db.example.org` that wants a client certificate of the role `certified`.
fn encrypted() -> &'static Encrypted {
    static SERVER: OnceLock<Encrypted> = OnceLock::new();
    SERVER.get_or_init(|| {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer =
            CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
        let (certificate, key) = issue(&issuer, "db.example.org", ExtendedKeyUsagePurpose::ServerAuth);
        let (client, client_key) = issue(&issuer, "certified", ExtendedKeyUsagePurpose::ClientAuth);
        let server = Postgres::start();
        write_file(&server, "server.crt", &certificate);
        write_file(&server, "server.key", &key);
        write_file(&server, "root.crt", &issuer.pem());
        let rules =
            ["local all all trust", "hostssl all certified all cert", "host all all all scram-sha-256", ""];
        write_file(&server, "pg_hba.conf", &rules.join("\n"));
        server.query("CREATE ROLE certified LOGIN");
        server.query("ALTER SYSTEM SET ssl_ca_file = 'root.crt'");
        server.query("ALTER SYSTEM SET ssl = on");
        server.query("SELECT pg_reload_conf()");
        tarn_harness::until("tls is on", || {
            (server.scalar("SHOW ssl").as_deref() == Some("on")).then_some(())
        });
        let client = ClientTls { certificate: client, private_key: Secret::new(client_key) };
        Encrypted { server, authority: issuer.pem(), client }
    })
}

fn issue(
    issuer: &CertifiedIssuer<'_, KeyPair>,
    name: &str,
    usage: ExtendedKeyUsagePurpose,
) -> (String, String) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.extended_key_usages = vec![usage];
    (params.signed_by(&key, issuer).expect("a certificate").pem(), key.serialize_pem())
}

fn write_file(server: &Postgres, name: &str, content: &str) {
    server
        .query(&format!("COPY (SELECT 1) TO PROGRAM 'printf %s \"{content}\" > {name} && chmod 600 {name}'"));
}

async fn encryption(config: PostgresConfig) -> Result<bool, Error> {
    let mut session = Client::new(config).open().await?;
    let rows = session.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").await?;
    session.close().await;
    Ok(rows[0][0].as_deref() == Some("t"))
}

#[tokio::test]
async fn each_mode_encrypts_as_it_says() {
    let encrypted = encrypted();
    let plain = config(&encrypted.server);
    assert!(encryption(plain.clone()).await.expect("prefer"));
    assert!(!encryption(PostgresConfig { disable_tls: true, ..plain.clone() }).await.expect("disable"));
    let require = PostgresConfig { skip_cert_verification: true, require_tls: true, ..plain.clone() };
    assert!(encryption(require).await.expect("require"));
    let verify_ca = PostgresConfig {
        skip_cert_verification: true,
        root_ca: encrypted.authority.clone(),
        ..plain.clone()
    };
    assert!(encryption(verify_ca).await.expect("verify-ca"));
    let verify_full = PostgresConfig {
        root_ca: encrypted.authority.clone(),
        tls_host: "db.example.org".to_owned(),
        ..plain
    };
    assert!(encryption(verify_full).await.expect("verify-full"));
}

#[tokio::test]
async fn a_server_that_cannot_be_verified_is_refused() {
    let encrypted = encrypted();
    let plain = config(&encrypted.server);
    let another_name = PostgresConfig { root_ca: encrypted.authority.clone(), ..plain.clone() };
    let unknown_authority = PostgresConfig { require_tls: true, ..plain };
    for config in [another_name, unknown_authority] {
        let error = encryption(config).await.expect_err("not to be trusted");
        assert_eq!(error.class(), Class::Authentication, "{}", error.chain());
        assert!(error.chain().contains("certificate"), "{}", error.chain());
    }
}

#[tokio::test]
async fn a_client_certificate_takes_the_place_of_a_password() {
    let encrypted = encrypted();
    let mut config = PostgresConfig {
        user: "certified".to_owned(),
        password: Secret::default(),
        database: "postgres".to_owned(),
        root_ca: encrypted.authority.clone(),
        tls_host: "db.example.org".to_owned(),
        client_tls: Some(encrypted.client.clone()),
        ..config(&encrypted.server)
    };
    assert!(encryption(config.clone()).await.expect("the certificate serves"));
    config.client_tls = None;
    let error = encryption(config).await.expect_err("no certificate");
    assert_eq!(error.class(), Class::Authentication, "{}", error.chain());
}

#[tokio::test]
async fn a_server_without_tls_is_refused_where_tls_is_required() {
    let server = fixture::server();
    assert!(!encryption(config(server)).await.expect("prefer"));
    let error = encryption(PostgresConfig { require_tls: true, ..config(server) }).await.expect_err("no tls");
    assert!(matches!(error, Error::TlsNotOffered));
    assert_eq!(error.class(), Class::Authentication);
}

#[tokio::test]
async fn large_amounts_pass_through_tls() {
    let mut session = Client::new(config(&encrypted().server)).open().await.expect("a session");
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
