//! Scripts: user-supplied transforms of records.

use serde::{Deserialize, Serialize};

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
}
