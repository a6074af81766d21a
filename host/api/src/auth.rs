//! HTTP Basic authentication, compared in constant time, with a limit on failures.

mod throttle;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ring::digest::{SHA256, digest};
use ring::hmac::{HMAC_SHA256, Key, Tag, sign, verify};
use ring::rand::SystemRandom;
use tarn_model::Secret;

pub(crate) use self::throttle::Throttle;

/// Clients write base64 with and without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Who may call the API.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// This user with this password.
    Password {
        /// The user's name; empty is usual.
        user: String,
        /// The password.
        password: Secret,
    },
    /// This user with the password of this digest, made by [`password_digest`].
    Digest {
        /// The user's name.
        user: String,
        /// The digest.
        digest: String,
    },
    /// Anyone. For a loopback address only.
    Open,
}

/// The digest of a generated password, to store. A password that a person chose needs more.
pub fn password_digest(password: &Secret) -> String {
    let hash = digest(&SHA256, password.expose().as_bytes());
    format!("sha256:{}", BASE64.encode(hash.as_ref()))
}

/// Compares what a client presents with what is expected, without telling by the time it takes how much
/// of it is right: both go through a keyed digest first, and the digests are compared in constant time.
pub(crate) struct Authenticator {
    expected: Option<Expected>,
}

struct Expected {
    key: Key,
    tag: Tag,
    form: Form,
}

/// What of the password the tag is over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Digest,
}

impl Authenticator {
    pub(crate) fn new(credentials: &Credentials) -> Self {
        let (user, secret, form) = match credentials {
            Credentials::Open => return Self { expected: None },
            Credentials::Password { user, password } => (user, password.expose(), Form::Plain),
            Credentials::Digest { user, digest } => (user, digest.as_str(), Form::Digest),
        };
        let key =
            Key::generate(HMAC_SHA256, &SystemRandom::new()).expect("the operating system has random bytes");
        let tag = sign(&key, &joined(user, secret));
        Self { expected: Some(Expected { key, tag, form }) }
    }

    /// Whether everyone is let in.
    pub(crate) fn is_open(&self) -> bool {
        self.expected.is_none()
    }

    /// Whether an `Authorization` header lets its sender in.
    pub(crate) fn accepts(&self, header: Option<&[u8]>) -> bool {
        let Some(expected) = &self.expected else { return true };
        let Some((user, password)) = header.and_then(presented) else { return false };
        let secret = match expected.form {
            Form::Plain => password,
            Form::Digest => password_digest(&Secret::new(password)),
        };
        verify(&expected.key, &joined(&user, &secret), expected.tag.as_ref()).is_ok()
    }
}

/// The user's name in a header that was accepted.
pub(crate) fn user(header: Option<&[u8]>) -> String {
    header.and_then(presented).map_or_else(String::new, |(user, _)| user)
}

/// User and password of a header. The password may hold colons.
fn presented(header: &[u8]) -> Option<(String, String)> {
    let (scheme, rest) = std::str::from_utf8(header).ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(BASE64.decode(rest.trim()).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

/// User and secret with the user's length before them, so that no two pairs are one text.
fn joined(user: &str, secret: &str) -> Vec<u8> {
    let mut bytes = (user.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(user.as_bytes());
    bytes.extend_from_slice(secret.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Vec<u8> {
        format!("Basic {}", BASE64.encode(text)).into_bytes()
    }

    #[test]
    fn the_right_pair_is_let_in_and_no_other() {
        let password = Secret::new("p@ss:w/?ord#test");
        let plain = Credentials::Password { user: String::new(), password: password.clone() };
        let digest = Credentials::Digest { user: String::new(), digest: password_digest(&password) };
        for credentials in [plain, digest] {
            let authenticator = Authenticator::new(&credentials);
            assert!(authenticator.accepts(Some(&header(":p@ss:w/?ord#test"))));
            assert_eq!(user(Some(&header("ann:p@ss:x"))), "ann");
            for wrong in [":", "", "x:p@ss:w/?ord#test", ":p@ss", ":p@ss:w/?ord#test ", ":sha256:x"] {
                assert!(!authenticator.accepts(Some(&header(wrong))), "{wrong}");
            }
            assert!(!authenticator.accepts(None));
        }
    }

    #[test]
    fn the_stored_digest_is_no_password() {
        let digest = password_digest(&Secret::new("x"));
        let credentials = Credentials::Digest { user: String::new(), digest: digest.clone() };
        assert!(!Authenticator::new(&credentials).accepts(Some(&header(&format!(":{digest}")))));
    }

    #[test]
    fn the_scheme_is_read_in_any_case_and_padding_is_optional() {
        let credentials = Credentials::Password { user: "ann".into(), password: Secret::new("x") };
        let authenticator = Authenticator::new(&credentials);
        assert!(authenticator.accepts(Some(b"basic YW5uOng=")));
        assert!(authenticator.accepts(Some(b"BASIC YW5uOng")));
        for wrong in ["Bearer YW5uOng=", "Basic", "Basic !", "Basic \u{ff}", "YW5uOng="] {
            assert!(!authenticator.accepts(Some(wrong.as_bytes())), "{wrong}");
        }
    }
}
