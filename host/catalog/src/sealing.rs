//! Sealing: how secrets rest in the catalog.
//!
//! A sealed value is `1.<key id>.<base64 of nonce, ciphertext and tag>` by ChaCha20-Poly1305. The
//! associated data is the table and the row's name, so that a sealed value moved to another row does not
//! open. Nonces are random: a catalog seals millions of values in its life at most, dead letters included, far from
//! the 2^32 at which a repeat would have to be feared.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

use crate::CatalogError;
use crate::digest::hexadecimal;

/// Bytes of a key.
pub(crate) const KEY_BYTES: usize = 32;

/// The form written before each sealed value.
const FORM: &str = "1";

/// Seals and opens with one key.
pub(crate) struct Sealer {
    key: LessSafeKey,
    id: String,
    random: SystemRandom,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sealer({})", self.id)
    }
}

impl Sealer {
    /// Takes a key in base64, as a file or the environment holds it.
    pub(crate) fn from_base64(text: &str, origin: &str) -> Result<Self, CatalogError> {
        let wrong = || CatalogError::KeyForm { origin: origin.into(), bytes: KEY_BYTES };
        let bytes = STANDARD.decode(text.trim()).map_err(|_| wrong())?;
        let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes).map_err(|_| wrong())?;
        let id = hexadecimal(&digest(&SHA256, &bytes).as_ref()[..4]);
        Ok(Self { key: LessSafeKey::new(key), id, random: SystemRandom::new() })
    }

    /// Names the key without telling it.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Seals a text for one row of a table.
    pub(crate) fn seal(&self, table: &str, name: &str, text: &str) -> String {
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).expect("the operating system has random bytes");
        let mut sealed = nonce.to_vec();
        let mut body = text.as_bytes().to_vec();
        self.key
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad(table, name), &mut body)
            .expect("a text is shorter than the cipher's limit");
        sealed.extend_from_slice(&body);
        format!("{FORM}.{}.{}", self.id, STANDARD.encode(sealed))
    }

    /// Whether a value says that this key sealed it.
    pub(crate) fn has_sealed(&self, sealed: &str) -> bool {
        sealed.split('.').nth(1) == Some(self.id.as_str())
    }

    /// Opens what was sealed for that row.
    pub(crate) fn open(&self, table: &str, name: &str, sealed: &str) -> Result<String, CatalogError> {
        let broken = || CatalogError::Sealed { place: format!("{table} {name}") };
        let mut parts = sealed.splitn(3, '.');
        let (form, id, body) = (parts.next(), parts.next(), parts.next());
        if form != Some(FORM) {
            return Err(broken());
        }
        let id = id.ok_or_else(broken)?;
        if id != self.id {
            return Err(CatalogError::KeyMissing { wanted: id.into(), given: self.id.clone() });
        }
        let mut bytes = STANDARD.decode(body.ok_or_else(broken)?).map_err(|_| broken())?;
        if bytes.len() < NONCE_LEN {
            return Err(broken());
        }
        let (nonce, body) = bytes.split_at_mut(NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| broken())?;
        let text = self.key.open_in_place(nonce, aad(table, name), body).map_err(|_| broken())?;
        String::from_utf8(text.to_vec()).map_err(|_| broken())
    }
}

fn aad(table: &str, name: &str) -> Aad<Vec<u8>> {
    Aad::from(format!("{table}/{name}").into_bytes())
}

/// A new key in base64.
pub(crate) fn new_key() -> String {
    let mut bytes = [0; KEY_BYTES];
    SystemRandom::new().fill(&mut bytes).expect("the operating system has random bytes");
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealer() -> Sealer {
        Sealer::from_base64(&new_key(), "a test").expect("a key")
    }

    #[test]
    fn what_was_sealed_for_a_row_opens_for_that_row_only() {
        let sealer = sealer();
        let sealed = sealer.seal("peers", "pg", "hunter2");
        assert!(!sealed.contains("hunter2"));
        assert_eq!(sealer.open("peers", "pg", &sealed).expect("opens"), "hunter2");
        assert!(sealer.open("peers", "other", &sealed).is_err());
        assert!(sealer.open("scripts", "pg", &sealed).is_err());
    }

    #[test]
    fn sealing_twice_gives_two_texts() {
        let sealer = sealer();
        assert_ne!(sealer.seal("peers", "pg", "x"), sealer.seal("peers", "pg", "x"));
    }

    #[test]
    fn a_changed_value_does_not_open() {
        let sealer = sealer();
        let sealed = sealer.seal("peers", "pg", "hunter2");
        for (place, _) in sealed.char_indices() {
            let mut broken = sealed.clone().into_bytes();
            broken[place] = if broken[place] == b'A' { b'B' } else { b'A' };
            let broken = String::from_utf8(broken).expect("ASCII");
            assert!(sealer.open("peers", "pg", &broken).is_err(), "{broken}");
        }
        for short in ["", "1", "1.", &format!("1.{}.", sealer.id()), "2.aa.bb"] {
            assert!(sealer.open("peers", "pg", short).is_err());
        }
    }

    #[test]
    fn another_key_is_told_by_its_id() {
        let (one, other) = (sealer(), sealer());
        let error = other.open("peers", "pg", &one.seal("peers", "pg", "x")).expect_err("another key");
        assert!(error.to_string().contains(one.id()) && error.to_string().contains(other.id()));
    }

    #[test]
    fn a_key_of_another_length_is_refused_without_being_quoted() {
        let error = Sealer::from_base64("c2hvcnQ=", "TARN_KEY").expect_err("5 bytes").to_string();
        assert!(error.contains("TARN_KEY") && !error.contains("c2hvcnQ"));
    }
}
