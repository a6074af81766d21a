//! The API's password: set by the operator, or made at the first start and shown once.
//!
//! What is made here has 192 random bits, so that a plain digest of it may be stored: nobody can try that
//! many. What the operator sets is never stored.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use tarn_api::{Credentials, password_digest};
use tarn_catalog::{Catalog, CatalogError};
use tarn_model::Secret;

use crate::settings::Settings;

/// Random bytes of a password made here.
const PASSWORD_BYTES: usize = 24;
/// The catalog's entry of the digest.
const DIGEST_ENTRY: &str = "api_password_digest";

/// Why there is no password to ask for.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    /// The digest cannot be read or stored.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// Open to everyone who can reach it.
    #[error(
        "--without-password serves on loopback addresses only, not on {0}; set a password, or listen on 127.0.0.1"
    )]
    OpenToOthers(SocketAddr),
}

/// Who may use the API.
///
/// # Errors
/// [`PasswordError`].
pub async fn credentials(
    settings: &Settings,
    catalog: &Catalog,
    without_password: bool,
) -> Result<Credentials, PasswordError> {
    if without_password {
        if !settings.listen.ip().is_loopback() {
            return Err(PasswordError::OpenToOthers(settings.listen));
        }
        tracing::warn!("the API asks for no password");
        return Ok(Credentials::Open);
    }
    let user = settings.username.clone();
    if let Some(password) = settings.password.clone() {
        return Ok(Credentials::Password { user, password });
    }
    let digest = match catalog.meta(DIGEST_ENTRY).await? {
        Some(digest) => digest,
        None => {
            // Shown before it is stored: a kill in between makes another one, not one that nobody saw.
            let made = generate();
            show(&made);
            catalog.meta_once(DIGEST_ENTRY, &password_digest(&made)).await?
        }
    };
    Ok(Credentials::Digest { user, digest })
}

/// A new password.
pub fn generate() -> Secret {
    let mut bytes = [0; PASSWORD_BYTES];
    SystemRandom::new().fill(&mut bytes).expect("the operating system has random bytes");
    Secret::new(URL_SAFE_NO_PAD.encode(bytes))
}

/// Once, on the terminal: it is stored nowhere.
#[expect(clippy::print_stderr, reason = "the only place a made password is ever seen, and no log")]
fn show(password: &Secret) {
    eprintln!(
        "\nThe API's password, shown this once: {}\n(the user name is empty unless TARN_USERNAME sets one)\n",
        password.expose()
    );
}
