//! What a component imports and exports by name, read before it is compiled.

use std::collections::BTreeSet;

use wit_component::DecodedWasm;

use crate::capability::Capability;
use crate::error::LoadError;
use crate::manifest::{Kind, Manifest};

/// The package that plugins speak.
const PACKAGE: &str = "tarn:plugin";

/// The line of the package's versions that this host serves. Within it only functions and interfaces are
/// added, so that every `0.1.x` fits every other.
const SERVED_LINE: &str = "0.1.";

/// The line as people read it.
pub(crate) const SERVED: &str = "0.1.x";

/// The interface that holds types only: importing it asks for nothing.
const TYPES: &str = "types";

/// What of the contract a component uses, checked against its manifest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Surface {
    pub(crate) capabilities: BTreeSet<Capability>,
    pub(crate) kinds: BTreeSet<Kind>,
    pub(crate) extras: BTreeSet<Extra>,
}

/// An interface that a component may leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Extra {
    /// Questions about a store.
    Inspection,
    /// A source's rows by their keys.
    Lookup,
    /// Rows against what a destination holds.
    Comparison,
    /// Tables loaded beside a destination's.
    Replacement,
    /// Loads in parts that are there wholly or not at all.
    Parts,
    /// What would be done to tables.
    Preview,
}

impl Extra {
    const ALL: [Self; 6] =
        [Self::Inspection, Self::Lookup, Self::Comparison, Self::Replacement, Self::Parts, Self::Preview];

    /// The interface's name.
    fn name(self) -> &'static str {
        match self {
            Self::Inspection => "inspection",
            Self::Lookup => "lookup",
            Self::Comparison => "comparison",
            Self::Replacement => "replacement",
            Self::Parts => "parts",
            Self::Preview => "preview",
        }
    }
}

impl Surface {
    /// Reads a component and refuses, by name, what this host does not serve and what the manifest does
    /// not ask for.
    pub(crate) fn read(manifest: &Manifest, component: &[u8]) -> Result<Self, LoadError> {
        let names = Names::read(&manifest.name, component)?;
        let mut capabilities = BTreeSet::new();
        for import in &names.imports {
            match served(&manifest.name, import)? {
                TYPES => {}
                interface => {
                    let capability =
                        Capability::of_interface(interface).ok_or_else(|| unknown(&manifest.name, import))?;
                    capabilities.insert(capability);
                }
            }
        }
        let mut kinds = BTreeSet::new();
        let mut extras = BTreeSet::new();
        for export in &names.exports {
            // An export of another package is nobody's business here: nothing calls it.
            if export.starts_with(PACKAGE) {
                let interface = served(&manifest.name, export)?;
                kinds.extend(Kind::ALL.into_iter().filter(|kind| kind.name() == interface));
                extras.extend(Extra::ALL.into_iter().filter(|extra| extra.name() == interface));
            }
        }
        Self { capabilities, kinds, extras }.held_to(manifest)
    }

    fn held_to(self, manifest: &Manifest) -> Result<Self, LoadError> {
        if let Some(&capability) = self.capabilities.difference(&manifest.capabilities).next() {
            return Err(LoadError::CapabilityNotGranted { plugin: manifest.name.clone(), capability });
        }
        if let Some(&kind) = manifest.kinds.difference(&self.kinds).next() {
            return Err(LoadError::KindMissing { plugin: manifest.name.clone(), kind });
        }
        Ok(self)
    }
}

/// The full names of imports and exports, such as `tarn:plugin/log@0.1.1`.
struct Names {
    imports: Vec<String>,
    exports: Vec<String>,
}

impl Names {
    fn read(plugin: &str, component: &[u8]) -> Result<Self, LoadError> {
        let malformed = |error: Box<dyn std::error::Error + Send + Sync>| LoadError::Malformed {
            plugin: plugin.to_owned(),
            source: error,
        };
        let decoded = wit_component::decode(component).map_err(|error| malformed(error.into()))?;
        let DecodedWasm::Component(resolve, world) = decoded else {
            return Err(malformed("it is a description of interfaces, not a component".into()));
        };
        let world = &resolve.worlds[world];
        Ok(Self {
            imports: world.imports.keys().map(|key| resolve.name_world_key(key)).collect(),
            exports: world.exports.keys().map(|key| resolve.name_world_key(key)).collect(),
        })
    }
}

/// The name within the package of an interface that this host serves, such as `log`.
fn served<'a>(plugin: &str, full_name: &'a str) -> Result<&'a str, LoadError> {
    let interface = full_name.strip_prefix(PACKAGE).and_then(|rest| rest.strip_prefix('/'));
    let Some((interface, version)) = interface.and_then(|interface| interface.split_once('@')) else {
        return Err(unknown(plugin, full_name));
    };
    if !version.starts_with(SERVED_LINE) {
        return Err(LoadError::UnknownVersion { plugin: plugin.to_owned(), interface: full_name.to_owned() });
    }
    Ok(interface)
}

fn unknown(plugin: &str, full_name: &str) -> LoadError {
    LoadError::UnknownInterface { plugin: plugin.to_owned(), interface: full_name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_served_and_no_other() {
        for name in ["tarn:plugin/log@0.1.0", "tarn:plugin/log@0.1.17"] {
            assert_eq!(served("p", name).expect("served"), "log");
        }
        for name in ["tarn:plugin/log@0.10.0", "tarn:plugin/log@0.2.0", "tarn:plugin/log@1.0.0"] {
            assert!(matches!(served("p", name), Err(LoadError::UnknownVersion { .. })), "{name}");
        }
    }

    #[test]
    fn other_packages_are_refused_by_name() {
        for name in ["wasi:cli/stdout@0.2.0", "read-file", "tarn:plugin/log", "tarn:plugins/log@0.1.0"] {
            let error = served("p", name).expect_err("not served");
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
