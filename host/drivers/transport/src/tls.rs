//! TLS as peers configure it.

mod refusal;
mod verifier;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tarn_model::Secret;
use tokio_rustls::TlsConnector;

pub(crate) use self::refusal::{alert_in, cause, hint};
use crate::error::Error;
use crate::stream::Stream;

/// Whether a connection is encrypted, and how far the server is trusted: the five modes of libpq that
/// make sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsMode {
    /// Never.
    Disable,
    /// When the server offers it, whoever the server is.
    Prefer,
    /// Always, whoever the server is.
    Require,
    /// Always, with a certificate that a trusted authority issued, for whatever name.
    VerifyCa,
    /// Always, with a certificate that a trusted authority issued for the server's name.
    VerifyFull,
}

impl TlsMode {
    /// How far the server's certificate is checked under this mode.
    pub fn verification(self) -> Verification {
        match self {
            Self::Disable | Self::Prefer | Self::Require => Verification::None,
            Self::VerifyCa => Verification::Chain,
            Self::VerifyFull => Verification::Full,
        }
    }
}

/// How far a server's certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// Not at all, beyond that the server owns the key it shows.
    None,
    /// Its authority.
    Chain,
    /// Its authority and its name.
    Full,
}

/// A certificate to show to the server, and its key, both PEM.
#[derive(Clone, Debug)]
pub struct ClientIdentity {
    /// The certificate, followed by those that lead to its authority.
    pub certificate: String,
    /// The private key: PKCS #8, PKCS #1 or SEC 1.
    pub private_key: Secret,
}

/// What TLS to a server needs to know.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// How far the server's certificate is checked.
    pub verification: Verification,
    /// The name it must carry; also sent to the server.
    pub server_name: String,
    /// PEM of the authorities to trust; empty means those of the machine.
    pub root_ca: String,
    /// What to show to the server.
    pub client: Option<ClientIdentity>,
}

/// The TLS library's settings for a server: one provider (ring), TLS 1.2 and 1.3.
///
/// # Errors
/// [`Error::Pem`] naming the field that cannot be read, [`Error::NoAuthorities`].
pub fn client_config(settings: &TlsSettings) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match settings.verification {
        Verification::None => Arc::new(verifier::KeyOnly::new(&provider)),
        verification => {
            let pinned = certificates("root_ca", &settings.root_ca)?;
            let roots = authorities(&pinned)?;
            Arc::new(verifier::Trusting::new(&provider, roots, pinned, verification)?)
        }
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring serves TLS 1.2 and 1.3")
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    match &settings.client {
        None => Ok(builder.with_no_client_auth()),
        Some(identity) => {
            let chain = certificates("client_tls.certificate", &identity.certificate)?;
            let key = PrivateKeyDer::from_pem_slice(identity.private_key.expose().as_bytes())
                .map_err(|_| unusable("client_tls.private_key", "no PEM private key in it"))?;
            builder.with_client_auth_cert(chain, key).map_err(|error| {
                unusable("client_tls", &format!("certificate and key do not serve: {error}"))
            })
        }
    }
}

impl Stream {
    /// Turns a bare connection into an encrypted one.
    ///
    /// # Errors
    /// Those of [`client_config`], [`Error::ServerName`], [`Error::Handshake`], or [`Error::TimedOut`]
    /// after `deadline`.
    ///
    /// # Panics
    /// When the connection is encrypted already.
    pub async fn encrypt(self, settings: &TlsSettings, deadline: Duration) -> Result<Self, Error> {
        assert!(!self.is_encrypted(), "the connection is encrypted already");
        let name = ServerName::try_from(settings.server_name.clone())
            .map_err(|_| Error::ServerName { name: settings.server_name.clone() })?;
        let connector = TlsConnector::from(Arc::new(client_config(settings)?));
        match tokio::time::timeout(deadline, connector.connect(name, self)).await {
            Ok(Ok(stream)) => Ok(Self::Tls(Box::new(stream))),
            Ok(Err(source)) => Err(Error::Handshake { source }),
            Err(_) => Err(Error::TimedOut { what: "the tls handshake".to_owned(), deadline }),
        }
    }
}

fn authorities(pinned: &[CertificateDer<'static>]) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    if pinned.is_empty() {
        let machine = rustls_native_certs::load_native_certs();
        for error in &machine.errors {
            tracing::debug!(%error, "a certificate authority of this machine was passed over");
        }
        roots.add_parsable_certificates(machine.certs);
    } else {
        for certificate in pinned {
            roots
                .add(certificate.clone())
                .map_err(|error| unusable("root_ca", &format!("not an authority: {error}")))?;
        }
    }
    if roots.is_empty() { Err(Error::NoAuthorities) } else { Ok(roots) }
}

/// The certificates of a PEM text; an empty text has none.
fn certificates(field: &'static str, pem: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    if pem.trim().is_empty() {
        return Ok(Vec::new());
    }
    let found = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unusable(field, &error.to_string()))?;
    if found.is_empty() { Err(unusable(field, "no PEM certificate in it")) } else { Ok(found) }
}

fn unusable(field: &'static str, reason: &str) -> Error {
    Error::Pem { field, reason: reason.to_owned() }
}

/// An error of the TLS library as the handshake reports it.
impl From<rustls::Error> for Error {
    fn from(error: rustls::Error) -> Self {
        Self::Handshake { source: io::Error::new(io::ErrorKind::InvalidData, error) }
    }
}

#[cfg(test)]
mod tests;
