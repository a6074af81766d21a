//! Why a component is refused.

use std::error::Error;

use tarn_model::{Failure, chain};

use crate::capability::Capability;
use crate::interface::SERVED;
use crate::manifest::Kind;

/// Why a component could not be loaded. None of these passes by itself: the component, its manifest or
/// the machine has to change.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The bytes are no WebAssembly.
    #[error("the plugin {plugin} is no WebAssembly: it has neither a module's nor a component's header")]
    NotWasm {
        /// The plugin's name.
        plugin: String,
    },
    /// There are too many bytes.
    #[error("the plugin {plugin} has {bytes} bytes; at most {bytes_max} are taken")]
    TooLarge {
        /// The plugin's name.
        plugin: String,
        /// Its size.
        bytes: usize,
        /// The largest size that is taken.
        bytes_max: usize,
    },
    /// A core module that says nothing of the interfaces it implements.
    #[error("the plugin {plugin} is a core module without a component type")]
    NotAComponent {
        /// The plugin's name.
        plugin: String,
    },
    /// Cut short, damaged, or made of what this host does not support.
    #[error("the plugin {plugin} is malformed")]
    Malformed {
        /// The plugin's name.
        plugin: String,
        /// What is wrong and at which byte.
        source: Box<dyn Error + Send + Sync>,
    },
    /// It imports an interface that this host does not have.
    #[error("the plugin {plugin} needs {interface}, which this host does not have")]
    UnknownInterface {
        /// The plugin's name.
        plugin: String,
        /// The interface's full name.
        interface: String,
    },
    /// It speaks another version of the contract.
    #[error("the plugin {plugin} speaks {interface}; this host serves {SERVED}")]
    UnknownVersion {
        /// The plugin's name.
        plugin: String,
        /// The interface's full name.
        interface: String,
    },
    /// It imports a capability that its manifest does not ask for.
    #[error("the plugin {plugin} imports the capability {capability}, which it is not granted")]
    CapabilityNotGranted {
        /// The plugin's name.
        plugin: String,
        /// The capability.
        capability: Capability,
    },
    /// Its manifest says that it is something it is not.
    #[error("the plugin {plugin} is no {kind}: it does not export that interface")]
    KindMissing {
        /// The plugin's name.
        plugin: String,
        /// What it should be.
        kind: Kind,
    },
    /// It could not be compiled or linked.
    #[error("the plugin {plugin} cannot be compiled")]
    Compile {
        /// The plugin's name.
        plugin: String,
        /// What is wrong.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The work was given up because the process is shutting down, or it panicked.
    #[error("loading the plugin {plugin} was given up")]
    GivenUp {
        /// The plugin's name.
        plugin: String,
        /// Which of the two.
        source: tokio::task::JoinError,
    },
}

impl LoadError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotWasm { .. } => "plugin_not_wasm",
            Self::TooLarge { .. } => "plugin_too_large",
            Self::NotAComponent { .. } => "plugin_not_a_component",
            Self::Malformed { .. } => "plugin_malformed",
            Self::UnknownInterface { .. } => "plugin_interface_unknown",
            Self::UnknownVersion { .. } => "plugin_version_unknown",
            Self::CapabilityNotGranted { .. } => "plugin_capability_not_granted",
            Self::KindMissing { .. } => "plugin_kind_missing",
            Self::Compile { .. } => "plugin_not_compiled",
            Self::GivenUp { .. } => "plugin_load_given_up",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::NotWasm { .. } => "upload a component, or a core module built with the SDK".to_owned(),
            Self::NotAComponent { .. } => "build it with the SDK, which adds the component type".to_owned(),
            Self::Malformed { .. } => "build and upload it again: it may have been cut short".to_owned(),
            Self::UnknownInterface { .. } => {
                "build it for the interfaces in wit/v0.1, without WASI".to_owned()
            }
            Self::UnknownVersion { .. } => {
                format!("build it with an SDK of the line {SERVED}, or update the host")
            }
            Self::CapabilityNotGranted { capability, .. } => {
                format!("add \"{capability}\" to the capabilities in its manifest, if it should have it")
            }
            Self::KindMissing { .. } => "correct the kinds in its manifest".to_owned(),
            Self::TooLarge { .. } | Self::Compile { .. } | Self::GivenUp { .. } => String::new(),
        }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Failure::permanent(error.code(), chain(&error)).with_hint(error.hint())
    }
}
