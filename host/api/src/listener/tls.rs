//! The server's own certificate.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tarn_model::Secret;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Why a certificate cannot be served with. No text holds the key.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// There is no certificate in the text.
    #[error("there is no PEM certificate in it")]
    Certificate,
    /// There is no key in the text.
    #[error("there is no PEM private key in it; an encrypted one cannot be used")]
    Key,
    /// Certificate and key do not go together, or the TLS library does not take them.
    #[error("certificate and key cannot be used together: {0}")]
    Pair(rustls::Error),
}

/// A certificate with its key, ready to serve TLS 1.2 and 1.3 with.
#[derive(Clone)]
pub struct ServerTls(TlsAcceptor);

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTls").finish_non_exhaustive()
    }
}

impl ServerTls {
    /// Takes PEM: the certificate, followed by those that lead to its authority, and its key (PKCS #8,
    /// PKCS #1 or SEC 1).
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn new(certificate: &str, key: &Secret) -> Result<Self, TlsError> {
        let chain = CertificateDer::pem_slice_iter(certificate.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| TlsError::Certificate)?;
        if chain.is_empty() {
            return Err(TlsError::Certificate);
        }
        let key = PrivateKeyDer::from_pem_slice(key.expose().as_bytes()).map_err(|_| TlsError::Key)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring serves TLS 1.2 and 1.3")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(TlsError::Pair)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    pub(super) async fn accept(self, socket: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.0.accept(socket).await
    }
}
