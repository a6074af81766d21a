//! Scripts: user-supplied transforms of records.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::enumerated::{Enumerated, serde_by_name};
use crate::timestamp::Timestamp;

/// What a script is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScriptLanguage {
    /// Lua source.
    Lua,
    /// JavaScript source.
    JavaScript,
    /// Base64 of a WebAssembly component or core module.
    Wasm,
}

impl Enumerated for ScriptLanguage {
    const EXPECTED: &'static str = "a script language";
    const ALL: &'static [(Self, u32, &'static str)] =
        &[(Self::Lua, 1, "lua"), (Self::JavaScript, 2, "javascript"), (Self::Wasm, 3, "wasm")];
}

serde_by_name!(ScriptLanguage);

/// A script at one of its versions, the newest unless a version was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its id.
    pub id: i64,
    /// Its unique name.
    pub name: String,
    /// What it is written in.
    pub language: ScriptLanguage,
    /// Its code.
    pub source: String,
    /// Counts its versions from 1.
    pub version: u32,
    /// Hexadecimal SHA-256 of the component it was compiled into.
    pub digest: String,
    /// When this version was stored.
    pub created_at: Timestamp,
    /// Its cases, which it passed before it was stored; empty without any.
    pub tests: String,
    /// The user who stored it; empty where the login has no name, and of versions from before names were kept.
    pub created_by: String,
    /// The older version whose code and cases it took up again.
    pub rolled_back_from: Option<u32>,
}

/// How a mirror names a script: `name` for its newest version, `name@version` for a pinned one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptReference {
    /// The script's name.
    pub name: String,
    /// The pinned version.
    pub version: Option<u32>,
}

impl ScriptReference {
    /// Reads a mirror's text. `None` when what follows the `@` is not a version.
    pub fn parse(text: &str) -> Option<Self> {
        match text.rsplit_once('@') {
            None => Some(Self { name: text.into(), version: None }),
            Some((name, version)) => {
                let version = version.parse().ok().filter(|version| *version > 0)?;
                Some(Self { name: name.into(), version: Some(version) })
            }
        }
    }
}

/// The scripts of a mirror, in the order that records go through them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptChain(Vec<ScriptReference>);

/// Why a text names no scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptChainError {
    /// This part of it is neither `name` nor `name@version`.
    Form(String),
    /// This script is named twice.
    Twice(String),
    /// There are more than [`ScriptChain::LENGTH_MAX`].
    TooLong,
}

impl ScriptChain {
    /// Most scripts of one mirror: each is a sandbox of its own for the stream and for every worker of a load.
    pub const LENGTH_MAX: usize = 8;

    /// Reads a mirror's text: references with commas between them, none of the empty text.
    ///
    /// # Errors
    /// [`ScriptChainError`].
    pub fn parse(text: &str) -> Result<Self, ScriptChainError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let mut references: Vec<ScriptReference> = Vec::new();
        for part in text.split(',').map(str::trim) {
            let reference = ScriptReference::parse(part).filter(|reference| !reference.name.is_empty());
            let reference = reference.ok_or_else(|| ScriptChainError::Form(part.to_owned()))?;
            if references.iter().any(|known| known.name == reference.name) {
                return Err(ScriptChainError::Twice(reference.name));
            }
            references.push(reference);
        }
        if references.len() > Self::LENGTH_MAX {
            return Err(ScriptChainError::TooLong);
        }
        Ok(Self(references))
    }

    /// The scripts, in order.
    pub fn references(&self) -> &[ScriptReference] {
        &self.0
    }

    /// Whether a script of that name is part of it.
    pub fn names(&self, name: &str) -> bool {
        self.0.iter().any(|reference| reference.name == name)
    }
}

/// Reads scripts from a text, or from a list of texts, which are joined with commas.
pub(crate) fn joined<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    struct TextOrList;

    impl<'de> Visitor<'de> for TextOrList {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text or a list of texts")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<String, E> {
            Ok(text.to_owned())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<String, A::Error> {
            let mut texts = Vec::new();
            // The field is at fault, whichever of its items is: the items are one text from here on.
            let wrong = |_| serde::de::Error::custom("a text or a list of texts is expected");
            while let Some(text) = list.next_element::<String>().map_err(wrong)? {
                texts.push(text);
            }
            Ok(texts.join(","))
        }
    }

    deserializer.deserialize_any(TextOrList)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_a_name_with_or_without_a_version() {
        let plain = ScriptReference { name: "mask".into(), version: None };
        assert_eq!(ScriptReference::parse("mask"), Some(plain));
        let pinned = ScriptReference { name: "mask".into(), version: Some(3) };
        assert_eq!(ScriptReference::parse("mask@3"), Some(pinned));
        for text in ["mask@", "mask@0", "mask@x"] {
            assert_eq!(ScriptReference::parse(text), None);
        }
    }

    #[test]
    fn a_chain_is_references_in_order_each_script_once() {
        let names = |text| {
            let chain = ScriptChain::parse(text).expect("a chain");
            chain.references().iter().map(|one| (one.name.clone(), one.version)).collect::<Vec<_>>()
        };
        assert_eq!(names(""), []);
        assert_eq!(names("mask"), [("mask".to_owned(), None)]);
        assert_eq!(names("mask, route@2"), [("mask".to_owned(), None), ("route".to_owned(), Some(2))]);
        for (text, error) in [
            ("mask,", ScriptChainError::Form(String::new())),
            ("mask,route@x", ScriptChainError::Form("route@x".into())),
            ("mask,route,mask@2", ScriptChainError::Twice("mask".into())),
            ("a,b,c,d,e,f,g,h,i", ScriptChainError::TooLong),
        ] {
            assert_eq!(ScriptChain::parse(text), Err(error), "{text}");
        }
        assert!(ScriptChain::parse("a,b@1").expect("a chain").names("b"));
    }

    #[test]
    fn scripts_are_read_from_a_text_and_from_a_list() {
        #[derive(Deserialize)]
        struct Holder {
            #[serde(deserialize_with = "joined")]
            script: String,
        }
        for (json, text) in [
            (r#"{"script": "a,b"}"#, "a,b"),
            (r#"{"script": ["a", "b@2"]}"#, "a,b@2"),
            (r#"{"script": []}"#, ""),
        ] {
            assert_eq!(serde_json::from_str::<Holder>(json).expect("read").script, text);
        }
        assert!(serde_json::from_str::<Holder>(r#"{"script": [1]}"#).is_err());
    }
}
