//! The keys that are at hand: one seals, each opens what it sealed.
//!
//! There is more than one only around a rotation. Which one seals is written in the catalog, in the same
//! transaction that seals everything anew, so that key and secrets belong together at every instant.

use crate::CatalogError;
use crate::sealing::Sealer;

/// Keys of one catalog.
#[derive(Debug)]
pub(crate) struct Keyring {
    sealing: Sealer,
    others: Vec<Sealer>,
}

impl Keyring {
    /// Takes the keys at hand, the configured one first, of which the one named `wanted` seals.
    ///
    /// # Errors
    /// [`CatalogError::KeyMissing`] when none is it.
    pub(crate) fn new(mut keys: Vec<Sealer>, wanted: &str) -> Result<Self, CatalogError> {
        match keys.iter().position(|key| key.id() == wanted) {
            Some(place) => Ok(Self { sealing: keys.remove(place), others: keys }),
            None => Err(CatalogError::KeyMissing {
                wanted: wanted.into(),
                given: keys.iter().map(Sealer::id).collect::<Vec<_>>().join(", "),
            }),
        }
    }

    /// The key that seals.
    pub(crate) fn sealing(&self) -> &Sealer {
        &self.sealing
    }

    /// Seals a text for one row of a table.
    pub(crate) fn seal(&self, table: &str, name: &str, text: &str) -> String {
        self.sealing.seal(table, name, text)
    }

    /// Opens what one of the keys sealed for that row.
    pub(crate) fn open(&self, table: &str, name: &str, sealed: &str) -> Result<String, CatalogError> {
        let key = self.others.iter().find(|key| key.has_sealed(sealed));
        key.unwrap_or(&self.sealing).open(table, name, sealed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sealing::new_key;

    fn key() -> Sealer {
        Sealer::from_base64(&new_key(), "a test").expect("a key")
    }

    #[test]
    fn the_wanted_key_seals_and_every_key_opens_what_it_sealed() {
        let (old, new) = (key(), key());
        let (id, sealed) = (new.id().to_owned(), old.seal("peers", "pg", "hunter2"));
        let keyring = Keyring::new(vec![old, new], &id).expect("it is there");
        assert_eq!(keyring.open("peers", "pg", &sealed).expect("the old key is there"), "hunter2");
        let again = keyring.seal("peers", "pg", "hunter2");
        assert!(again.contains(&id));
        assert_eq!(keyring.open("peers", "pg", &again).expect("opens"), "hunter2");
        assert!(keyring.open("peers", "other", &sealed).is_err());
    }

    #[test]
    fn a_key_that_is_not_at_hand_is_named() {
        let (one, other) = (key(), key());
        let (ids, missing) = (format!("{}, {}", one.id(), other.id()), key());
        let error = Keyring::new(vec![one, other], missing.id()).expect_err("it is not there").to_string();
        assert!(error.contains(&ids) && error.contains(missing.id()), "{error}");
    }
}
