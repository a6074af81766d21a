//! A certificate that Tarn serves its API with.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use tempfile::TempDir;

/// A certificate that no authority issued, in files that go with it.
#[derive(Debug)]
pub struct Certificate {
    folder: TempDir,
    der: Vec<u8>,
}

impl Certificate {
    /// Makes one for a host.
    #[must_use]
    pub fn of(host: &str) -> Self {
        let made = rcgen::generate_simple_self_signed([host.to_owned()]).expect("a certificate");
        let folder = tempfile::tempdir().expect("a folder can be made");
        let certificate = Self { folder, der: made.cert.der().to_vec() };
        fs::write(certificate.file(), made.cert.pem()).expect("written");
        fs::write(certificate.key_file(), made.signing_key.serialize_pem()).expect("written");
        fs::set_permissions(certificate.key_file(), Permissions::from_mode(0o600)).expect("set");
        certificate
    }

    /// Its bytes.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Its PEM file, which is also the authority to trust.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.path("tls.crt")
    }

    /// The PEM file of its key, its owner's alone.
    #[must_use]
    pub fn key_file(&self) -> PathBuf {
        self.path("tls.key")
    }

    /// The settings of a server that shows it.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, String); 2] {
        let text = |path: PathBuf| path.display().to_string();
        [("TARN_TLS_CERTIFICATE", text(self.file())), ("TARN_TLS_PRIVATE_KEY", text(self.key_file()))]
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
