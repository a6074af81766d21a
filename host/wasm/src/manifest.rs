//! What a plugin says of itself, and is held to.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;

use crate::capability::Capability;

/// What a script's name is led by in messages.
pub(crate) const SCRIPT_LABEL: &str = "the script ";

/// The version of the manifest's form that this host reads.
const MANIFEST_VERSION: u32 = 1;

/// What a plugin can be. Each is an interface that it exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Records come from it.
    Source,
    /// Records go to it.
    Destination,
    /// It transforms records.
    Script,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Source, Self::Destination, Self::Script];

    /// Its name in manifests, which is the name of its interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Destination => "destination",
            Self::Script => "script",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A plugin's `plugin.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of the manifest's form.
    manifest: u32,
    /// The plugin's name, which every failure of it carries.
    pub name: String,
    /// The plugin's own version.
    pub version: String,
    /// One line for people.
    #[serde(default)]
    pub summary: String,
    /// What it is.
    pub kinds: BTreeSet<Kind>,
    /// What it asks for, and is granted where it is loaded with this manifest.
    pub capabilities: BTreeSet<Capability>,
}

/// A manifest that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It is not TOML, or a field is missing, unknown or of the wrong form.
    #[error("the manifest cannot be read")]
    Malformed(#[from] toml::de::Error),
    /// It has a form that this host does not know.
    #[error("the manifest has form {found}; this host reads form {MANIFEST_VERSION}")]
    Version {
        /// The form it says it has.
        found: u32,
    },
    /// It names nothing that the plugin is.
    #[error("the manifest names no kind")]
    NoKind,
}

impl Manifest {
    /// Reads a `plugin.toml`.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        let manifest: Self = toml::from_str(text)?;
        if manifest.manifest != MANIFEST_VERSION {
            return Err(ManifestError::Version { found: manifest.manifest });
        }
        if manifest.kinds.is_empty() {
            return Err(ManifestError::NoKind);
        }
        Ok(manifest)
    }

    /// Its name with what it is, as failures of its instances begin.
    pub(crate) fn label(&self) -> String {
        let is_script = self.kinds.iter().eq([&Kind::Script]);
        format!("{}{}", if is_script { SCRIPT_LABEL } else { "the plugin " }, self.name)
    }

    /// What every script is held to: it logs, asks for the time, and sees no store.
    pub fn script(name: impl Into<String>) -> Self {
        Self {
            manifest: MANIFEST_VERSION,
            name: name.into(),
            version: String::new(),
            summary: String::new(),
            kinds: BTreeSet::from([Kind::Script]),
            capabilities: BTreeSet::from([Capability::Log, Capability::Clock]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
        manifest = 1
        name = "postgres"
        version = "0.1.0"
        kinds = ["source"]
        capabilities = ["log", "postgres"]
    "#;

    #[test]
    fn a_manifest_says_kind_and_capabilities() {
        let manifest = Manifest::parse(SOURCE).expect("valid manifest");
        assert_eq!(manifest.kinds, BTreeSet::from([Kind::Source]));
        assert_eq!(manifest.capabilities, BTreeSet::from([Capability::Log, Capability::Postgres]));
    }

    #[test]
    fn an_unknown_capability_is_refused_by_name() {
        let error =
            Manifest::parse(&SOURCE.replace("\"log\"", "\"filesystem\"")).expect_err("unknown capability");
        let ManifestError::Malformed(cause) = error else { panic!("{error}") };
        assert!(cause.to_string().contains("filesystem"), "{cause}");
    }

    #[test]
    fn a_manifest_of_a_later_form_is_refused() {
        let error = Manifest::parse(&SOURCE.replace("manifest = 1", "manifest = 2")).expect_err("later form");
        assert_eq!(error.to_string(), "the manifest has form 2; this host reads form 1");
    }
}
