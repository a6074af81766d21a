//! The certificate that the API is served with, and its key, from files.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use tarn_api::{ServerTls, TlsError};
use tarn_model::Secret;

/// Permission bits of others.
const OTHERS: u32 = 0o007;
/// Permission bits of the group, but for reading.
const GROUP_BEYOND_READING: u32 = 0o030;
/// All permission bits of the group.
const GROUP: u32 = 0o070;

/// Why the API cannot be served with a certificate. No text holds the key.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("{setting} names {}, which cannot be read: {source}", path.display())]
    Read {
        /// The setting.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others may read the key.
    #[error(
        "tls_private_key names {}, which others may read (mode {mode:04o}); make it its owner's alone \
         (chmod 600), or, where root owns it, readable to a group as well (chmod 640)", path.display()
    )]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// What is in the files cannot be used.
    #[error("tls_certificate ({}) and tls_private_key ({}) cannot be used: {source}", certificate.display(), key.display())]
    Unusable {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// Why.
        source: TlsError,
    },
}

/// Reads both files. They are read once: a renewed certificate is served after a restart, which loses nothing.
///
/// # Errors
/// [`CertificateError`].
pub fn load(certificate: &Path, key: &Path) -> Result<ServerTls, CertificateError> {
    let chain = read(certificate, "tls_certificate", |_| Ok(()))?;
    let secret = read(key, "tls_private_key", |file| judge_mode(file, key))?;
    ServerTls::new(&chain, &Secret::new(secret)).map_err(|source| CertificateError::Unusable {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
        source,
    })
}

fn read(
    path: &Path,
    setting: &'static str,
    judge: impl FnOnce(&File) -> Result<(), CertificateError>,
) -> Result<String, CertificateError> {
    let failed = |source| CertificateError::Read { setting, path: path.to_owned(), source };
    let mut file = File::open(path).map_err(failed)?;
    judge(&file)?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

/// A key is its owner's alone. One that root owns may be readable to a group: that is how systems share
/// certificates between services.
fn judge_mode(file: &File, path: &Path) -> Result<(), CertificateError> {
    let setting = "tls_private_key";
    let failed = |source| CertificateError::Read { setting, path: path.to_owned(), source };
    let metadata = file.metadata().map_err(failed)?;
    let forbidden = OTHERS | if metadata.uid() == 0 { GROUP_BEYOND_READING } else { GROUP };
    if metadata.mode() & forbidden == 0 {
        Ok(())
    } else {
        Err(CertificateError::Mode { path: path.to_owned(), mode: metadata.mode() & 0o777 })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    struct Files {
        _folder: tempfile::TempDir,
        certificate: PathBuf,
        key: PathBuf,
    }

    impl Files {
        fn new(mode: u32) -> Self {
            let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
            let folder = tempfile::tempdir().expect("a folder");
            let files = Self {
                certificate: folder.path().join("tls.crt"),
                key: folder.path().join("tls.key"),
                _folder: folder,
            };
            fs::write(&files.certificate, made.cert.pem()).expect("written");
            files.write_key(&made.signing_key.serialize_pem(), mode);
            files
        }

        fn write_key(&self, pem: &str, mode: u32) {
            fs::write(&self.key, pem).expect("written");
            fs::set_permissions(&self.key, Permissions::from_mode(mode)).expect("set");
        }

        fn refusal(&self) -> String {
            load(&self.certificate, &self.key).expect_err("refused").to_string()
        }
    }

    #[test]
    fn a_certificate_and_a_key_of_its_owner_alone_are_taken() {
        for mode in [0o600, 0o400] {
            let files = Files::new(mode);
            load(&files.certificate, &files.key).expect("taken");
        }
    }

    #[test]
    fn a_key_that_others_may_read_is_refused_with_its_mode() {
        for mode in [0o644, 0o604, 0o660, 0o666] {
            let refusal = Files::new(mode).refusal();
            assert!(
                refusal.contains(&format!("mode {mode:04o}")) && refusal.contains("chmod 600"),
                "{refusal}"
            );
        }
    }

    #[test]
    fn what_cannot_be_used_is_named_by_setting_and_file_and_no_key_is_shown() {
        let files = Files::new(0o600);
        files.write_key("planted", 0o600);
        let refusal = files.refusal();
        assert!(refusal.contains("tls.key") && refusal.contains("no PEM private key"), "{refusal}");
        assert!(!refusal.contains("planted"));

        let other = Files::new(0o600);
        let refusal = load(&files.certificate, &other.key).expect_err("not a pair").to_string();
        assert!(refusal.contains("cannot be used together"), "{refusal}");

        fs::write(&other.certificate, "nothing").expect("written");
        assert!(other.refusal().contains("no PEM certificate"), "{}", other.refusal());
        fs::remove_file(&other.certificate).expect("removed");
        assert!(other.refusal().contains("tls_certificate names"), "{}", other.refusal());
    }
}
