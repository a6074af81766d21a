//! A text that must not be seen.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

/// How a secret reads wherever it is shown. An update that sends this back keeps what is stored.
pub const MASK: &str = "********";

/// A password, key or token. It prints and serialises as [`MASK`]; the catalog, which seals it, and the
/// driver, which authenticates with it, are the only places that call [`Secret::expose`].
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the text in.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a client sent back what it was shown.
    pub fn is_mask(&self) -> bool {
        self.0 == MASK
    }

    /// How it is shown: the mask, or nothing where there is no secret.
    fn shown(&self) -> &'static str {
        if self.is_empty() { "" } else { MASK }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown())
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.shown())
    }
}

impl PartialSchema for Secret {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Password)))
            .description(Some(
                "A secret. It reads back as `********`; sent back like that, it stays as it is.",
            ))
            .into()
    }
}

impl ToSchema for Secret {}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_prints_and_serialises_as_the_mask() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret} {secret:?}"), "******** ********");
        assert_eq!(serde_json::to_string(&secret).expect("a string"), "\"********\"");
        assert_eq!(serde_json::to_string(&Secret::default()).expect("a string"), "\"\"");
    }
}
