//! TLS against a real server with a certificate of an authority of its own: each mode against each rule.

#[path = "fixture/encrypted.rs"]
mod encrypted;
#[path = "fixture/server.rs"]
mod fixture;

use encrypted::{Encrypted, NAME, encrypted, strange_certificate};
use fixture::config;
use tarn_model::{ClientTls, PostgresConfig, Secret};
use tarn_postgres::{Class, Client, Error};

/// The modes as a peer's settings express them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

use Mode::{Disable, Prefer, Require, VerifyCa, VerifyFull};

const MODES: [Mode; 5] = [Disable, Prefer, Require, VerifyCa, VerifyFull];

fn in_mode(mode: Mode, server: &Encrypted, base: PostgresConfig) -> PostgresConfig {
    let root_ca = server.authority.clone();
    match mode {
        Disable => PostgresConfig { disable_tls: true, ..base },
        Prefer => base,
        Require => PostgresConfig { skip_cert_verification: true, require_tls: true, ..base },
        VerifyCa => PostgresConfig { skip_cert_verification: true, root_ca, ..base },
        VerifyFull => PostgresConfig { root_ca, tls_host: NAME.to_owned(), ..base },
    }
}

/// Whether the session is encrypted.
async fn encryption(config: PostgresConfig) -> Result<bool, Error> {
    let mut session = Client::new(config).open().await?;
    let rows = session.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").await?;
    session.close().await;
    Ok(rows[0][0].as_deref() == Some("t"))
}

/// Asserts a refusal that retrying cannot mend, and what it says.
#[track_caller]
fn assert_refused(outcome: Result<bool, Error>, parts: &[&str], context: &str) {
    let error = outcome.expect_err(context);
    let text = format!("{}; {}", error.chain(), error.detail());
    assert_eq!(error.class(), Class::Authentication, "{context}: {text}");
    for part in parts {
        assert!(text.contains(part), "{context}: {part:?} in {text:?}");
    }
}

#[tokio::test]
async fn a_rule_for_tls_and_clear_takes_each_mode_encrypted_as_it_says() {
    let server = encrypted();
    for mode in MODES {
        let outcome = encryption(in_mode(mode, server, server.role("anyhow"))).await;
        assert_eq!(outcome.expect("let in"), mode != Disable, "{mode:?}");
    }
}

#[tokio::test]
async fn a_rule_for_tls_alone_refuses_only_the_mode_without() {
    let server = encrypted();
    for mode in MODES {
        let outcome = encryption(in_mode(mode, server, server.role("only_tls"))).await;
        match mode {
            Disable => assert_refused(outcome, &["no pg_hba.conf entry", "no encryption"], "disable"),
            _ => assert!(outcome.expect("let in"), "{mode:?}"),
        }
    }
}

#[tokio::test]
async fn a_rule_for_clear_alone_takes_the_modes_that_do_not_insist() {
    let server = encrypted();
    for mode in MODES {
        let outcome = encryption(in_mode(mode, server, server.role("only_clear"))).await;
        match mode {
            Disable | Prefer => assert!(!outcome.expect("let in"), "{mode:?}"),
            _ => assert_refused(outcome, &["no pg_hba.conf entry", "SSL encryption"], &format!("{mode:?}")),
        }
    }
}

#[tokio::test]
async fn a_client_certificate_takes_the_place_of_a_password() {
    let server = encrypted();
    for mode in [Require, VerifyCa, VerifyFull] {
        let attempt = |client_tls: Option<ClientTls>| {
            let role = PostgresConfig { password: Secret::default(), ..server.role("certified") };
            encryption(in_mode(mode, server, PostgresConfig { client_tls, ..role }))
        };
        let context = format!("{mode:?}");
        assert!(attempt(Some(server.certificate("certified"))).await.expect("let in"), "{mode:?}");
        assert_refused(attempt(None).await, &["requires a valid client certificate"], &context);
        let other = attempt(Some(server.certificate("somebody"))).await;
        assert_refused(other, &["certificate authentication failed for user \"certified\""], &context);
        let stranger = attempt(Some(strange_certificate("certified"))).await;
        assert_refused(stranger, &["alert", "set certificate and private_key"], &context);
    }
}

#[tokio::test]
async fn a_rule_may_want_a_certificate_and_a_password() {
    let server = encrypted();
    let attempt = |role: &str, client_tls: Option<ClientTls>, password: Option<&str>| {
        let mut role = PostgresConfig { client_tls, ..server.role(role) };
        if let Some(password) = password {
            role.password = Secret::new(password);
        }
        encryption(in_mode(VerifyFull, server, role))
    };
    for role in ["ca_checked", "name_checked"] {
        let own = Some(server.certificate(role));
        assert!(attempt(role, own.clone(), None).await.expect("let in"), "{role}");
        assert_refused(attempt(role, own, Some("planted")).await, &["password authentication failed"], role);
        assert_refused(attempt(role, None, None).await, &["requires a valid client certificate"], role);
        let stranger = Some(strange_certificate(role));
        assert_refused(attempt(role, stranger, None).await, &["alert", "set certificate"], role);
    }
    let another = || Some(server.certificate("somebody"));
    assert!(attempt("ca_checked", another(), None).await.expect("any name will do"));
    // The server words it by the rule's method, whatever failed.
    let refused = attempt("name_checked", another(), None).await;
    assert_refused(refused, &["authentication failed for user \"name_checked\""], "another name");
}

#[tokio::test]
async fn a_server_that_cannot_be_verified_is_refused_with_the_remedy() {
    let server = encrypted();
    let base = server.role("anyhow");
    let strange = strange_certificate("x").certificate;
    let trusting = |root_ca: &str, tls_host: &str| PostgresConfig {
        root_ca: root_ca.to_owned(),
        tls_host: tls_host.to_owned(),
        ..base.clone()
    };
    for (context, config, parts) in [
        ("no name", trusting(&server.authority, ""), ["not valid for name", "set tls_host"]),
        (
            "another name",
            trusting(&server.authority, "other.example.org"),
            ["not valid for name", "set tls_host"],
        ),
        (
            "machine's authorities",
            PostgresConfig { require_tls: true, ..base.clone() },
            ["UnknownIssuer", "set root_ca"],
        ),
        ("another authority", trusting(&strange, NAME), ["UnknownIssuer", "set root_ca"]),
        (
            "another authority, no name checked",
            PostgresConfig { skip_cert_verification: true, ..trusting(&strange, NAME) },
            ["UnknownIssuer", "set root_ca"],
        ),
    ] {
        assert_refused(encryption(config).await, &parts, context);
    }
    let any = PostgresConfig { skip_cert_verification: true, tls_host: "other.example.org".into(), ..base };
    assert!(encryption(any).await.expect("require takes any server"));
}

#[tokio::test]
async fn an_unreadable_certificate_is_named_by_its_field_before_anything_is_sent() {
    let server = encrypted();
    let base = || server.role("anyhow");
    let half = ClientTls { private_key: Secret::new("planted"), ..server.certificate("anyhow") };
    for (config, field) in [
        (PostgresConfig { root_ca: "nonsense".to_owned(), ..base() }, "root_ca is not usable"),
        (PostgresConfig { client_tls: Some(half), ..base() }, "client_tls.private_key is not usable"),
    ] {
        let error = encryption(config).await.expect_err("nothing to read");
        assert!(
            error.chain().contains(field) && !format!("{error:?}").contains("planted"),
            "{}",
            error.chain()
        );
    }
}

#[tokio::test]
async fn a_server_without_tls_is_refused_where_tls_is_required() {
    let server = fixture::server();
    assert!(!encryption(config(server)).await.expect("prefer"));
    let stranger = strange_certificate("x");
    for config in [
        PostgresConfig { require_tls: true, ..config(server) },
        PostgresConfig { skip_cert_verification: true, ..config(server) },
        PostgresConfig { tls_host: NAME.to_owned(), ..config(server) },
        PostgresConfig { root_ca: stranger.certificate.clone(), ..config(server) },
        PostgresConfig { client_tls: Some(stranger.clone()), ..config(server) },
    ] {
        let outcome = encryption(config).await;
        assert_refused(outcome, &["the server offers no tls", "ssl = on"], "a mode that insists");
    }
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
