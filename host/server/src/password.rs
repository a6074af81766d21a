//! The API's password: set by the operator, or made at the first start and shown once.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use tarn_model::Secret;

/// Random bytes of a password made here: more than anyone can try, so that a plain digest may be stored.
const PASSWORD_BYTES: usize = 24;

/// A new password.
pub fn generate() -> Secret {
    let mut bytes = [0; PASSWORD_BYTES];
    SystemRandom::new().fill(&mut bytes).expect("the operating system has random bytes");
    Secret::new(URL_SAFE_NO_PAD.encode(bytes))
}
