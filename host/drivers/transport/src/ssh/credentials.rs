//! What the settings have to log in with.

use std::sync::Arc;

use russh::keys::{PrivateKey, decode_secret_key};
use tarn_model::{Secret, SshConfig};

use crate::error::Error;

const FIELD: &str = "ssh_config.private_key";

/// A key, a password, both or neither.
///
/// With both, the password is the key's passphrase where the key is encrypted, and never sent then; it is
/// the user's password where the key is not.
pub(super) struct Credentials {
    pub(super) key: Option<Arc<PrivateKey>>,
    pub(super) password: Option<Secret>,
}

impl Credentials {
    /// Reads the settings. Decrypting a key is slow on purpose, so it has a thread of its own.
    ///
    /// # Errors
    /// [`Error::Pem`] for a key that cannot be read.
    pub(super) async fn read(ssh: &SshConfig) -> Result<Self, Error> {
        let password = (!ssh.password.is_empty()).then(|| ssh.password.clone());
        if ssh.private_key.expose().trim().is_empty() {
            return Ok(Self { key: None, password });
        }
        let text = ssh.private_key.clone();
        let read = tokio::task::spawn_blocking(move || read_key(&text, password));
        read.await.unwrap_or_else(|_| Err(unusable("reading it failed")))
    }
}

fn read_key(text: &Secret, password: Option<Secret>) -> Result<Credentials, Error> {
    if let Ok(key) = decode_secret_key(text.expose(), None) {
        return Ok(Credentials { key: Some(Arc::new(key)), password });
    }
    let Some(passphrase) = password.filter(|_| is_encrypted(text)) else {
        return Err(unusable(if is_encrypted(text) {
            "it is encrypted; set ssh_config.password to its passphrase"
        } else {
            "it is no private key in OpenSSH or PEM form (RSA, ECDSA, Ed25519)"
        }));
    };
    match decode_secret_key(text.expose(), Some(passphrase.expose())) {
        Ok(key) => Ok(Credentials { key: Some(Arc::new(key)), password: None }),
        Err(_) => Err(unusable("ssh_config.password is not its passphrase")),
    }
}

/// Whether a text is an encrypted key, in any of the forms.
fn is_encrypted(text: &Secret) -> bool {
    let text = text.expose();
    text.contains("ENCRYPTED")
        || PrivateKey::from_openssh(text.trim_start()).is_ok_and(|key| key.is_encrypted())
}

/// The library's reason is left out: it may quote what it could not read.
fn unusable(reason: &str) -> Error {
    Error::Pem { field: FIELD, reason: reason.to_owned() }
}
