//! Which host keys a server may show.

use std::borrow::Cow;

use russh::Preferred;
use russh::keys::{Algorithm, HashAlg, PublicKey};

use crate::error::Error;

const FIELD: &str = "ssh_config.host_key";

/// The beginning of a fingerprint as OpenSSH prints it.
const FINGERPRINT: &str = "SHA256:";

/// The keys that the settings name; none where any key is taken.
#[derive(Debug)]
pub(super) struct HostKeys(Vec<HostKey>);

#[derive(Debug)]
enum HostKey {
    Key(Box<PublicKey>),
    Fingerprint(String),
}

impl HostKeys {
    /// Reads the setting: a line a key, each a public key (`ssh-ed25519 AAAA…`), a line of `known_hosts`, or
    /// a fingerprint (`SHA256:…`). Any of them is taken. An empty text takes every key.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let keys = lines.map(HostKey::parse).collect::<Option<Vec<_>>>();
        keys.map(Self).ok_or_else(|| Error::Pem {
            field: FIELD,
            reason: "neither a public key, nor a line of known_hosts, nor a SHA256 fingerprint".to_owned(),
        })
    }

    /// Whether every key is taken.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn takes(&self, shown: &PublicKey) -> bool {
        self.is_empty()
            || self.0.iter().any(|key| match key {
                HostKey::Key(key) => key.key_data() == shown.key_data(),
                HostKey::Fingerprint(fingerprint) => *fingerprint == fingerprint_of(shown),
            })
    }

    /// The algorithms to agree on. A server has keys of several kinds and shows one: where the settings name
    /// keys, it is asked for one of theirs. SHA-1 signatures are not taken.
    pub(super) fn preferred(&self) -> Preferred {
        let kinds = Preferred::DEFAULT.key.iter();
        let mut kinds: Vec<_> =
            kinds.filter(|kind| **kind != Algorithm::Rsa { hash: None }).cloned().collect();
        if !self.is_empty() {
            kinds.retain(|kind| self.0.iter().any(|key| key.may_be(kind)));
        }
        Preferred { key: Cow::Owned(kinds), ..Preferred::DEFAULT }
    }

    /// The keys for people, by kind and fingerprint.
    pub(super) fn describe(&self) -> String {
        let each = self.0.iter().map(|key| match key {
            HostKey::Key(key) => describe(key),
            HostKey::Fingerprint(fingerprint) => fingerprint.clone(),
        });
        each.collect::<Vec<_>>().join(" or ")
    }
}

impl HostKey {
    fn parse(line: &str) -> Option<Self> {
        if line.starts_with(FINGERPRINT) {
            return Some(Self::Fingerprint(line.split(' ').next().unwrap_or_default().to_owned()));
        }
        // In known_hosts the names of the host stand first.
        let without_names = line.split_once(' ').map_or("", |(_, rest)| rest.trim_start());
        let read = |text: &str| PublicKey::from_openssh(text).ok();
        read(line).or_else(|| read(without_names)).map(|key| Self::Key(Box::new(key)))
    }

    /// Whether a key that signs by this algorithm may be this one.
    fn may_be(&self, kind: &Algorithm) -> bool {
        match self {
            Self::Fingerprint(_) => true,
            Self::Key(key) => match (key.algorithm(), kind) {
                (Algorithm::Rsa { .. }, Algorithm::Rsa { .. }) => true,
                (mine, kind) => mine == *kind,
            },
        }
    }
}

/// A key for people: its kind and its fingerprint.
pub(super) fn describe(key: &PublicKey) -> String {
    format!("{} {}", key.algorithm(), fingerprint_of(key))
}

fn fingerprint_of(key: &PublicKey) -> String {
    key.fingerprint(HashAlg::Sha256).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID92i7aNM41DyfUrFuWHAIbvyUwLHrIN9o2qXzcUlfm+";
    const FINGERPRINT_OF_KEY: &str = "SHA256:Dj45NFqM3D7j6VXRrXTgqQjP2Zw3DAKeU3WDQGrydcM";
    const OTHER: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHHA0vT7SBTWWWSJ5wQrwtaWHR8TjzVqcitJtrC/MtlU";

    fn key(text: &str) -> PublicKey {
        PublicKey::from_openssh(text).expect("a key")
    }

    #[test]
    fn a_key_is_named_by_itself_by_known_hosts_or_by_its_fingerprint() {
        let forms = [
            KEY.to_owned(),
            format!("{KEY} root@jump"),
            format!("jump.example.org,[10.0.0.1]:2222 {KEY}"),
            format!("# a comment\n\n{OTHER}\n{KEY}\n"),
            FINGERPRINT_OF_KEY.to_owned(),
        ];
        for form in forms {
            let keys = HostKeys::parse(&form).expect("host keys");
            assert!(keys.takes(&key(KEY)), "{form}");
            assert_eq!(keys.takes(&key(OTHER)), form.contains(OTHER), "{form}");
        }
    }

    #[test]
    fn no_key_takes_every_key_and_nonsense_is_refused() {
        assert!(HostKeys::parse(" \n").expect("nothing").takes(&key(KEY)));
        for nonsense in ["AAAA", "ssh-ed25519", "ssh-ed25519 AAAA", &format!("{KEY}\nnonsense")] {
            let error = HostKeys::parse(nonsense).expect_err("no key");
            assert!(error.to_string().starts_with("ssh_config.host_key is not usable"), "{error}");
        }
    }

    #[test]
    fn the_server_is_asked_for_a_key_of_the_named_kind() {
        let kinds = |text: &str| HostKeys::parse(text).expect("host keys").preferred().key.into_owned();
        assert_eq!(kinds(KEY), [Algorithm::Ed25519]);
        assert!(kinds("").len() > 3 && kinds(FINGERPRINT_OF_KEY) == kinds(""));
        assert!(!kinds("").contains(&Algorithm::Rsa { hash: None }));
    }
}
