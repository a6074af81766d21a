//! The sandbox: the only crate that knows what a plugin is made of.
//!
//! It loads components (or core modules, which it turns into components), holds them to their manifest,
//! gives them the capabilities they were granted, bounds what they use, and turns whatever happens in
//! them into values of `tarn_model` and `tarn_replication`. It knows no store: what a guest says to one
//! goes through a driver as text and bytes. No type of wasmtime or of the contract leaves it.
//!
//! Invariants: a guest never sees a credential; it reaches nothing that its manifest does not name; every
//! call ends within its [`Limits`]; an instance that was stopped is never entered again, and the process
//! does not notice.

mod binary;
mod bindings;
mod cache;
mod capability;
mod comparison;
mod component;
mod config;
mod destination;
mod engine;
mod error;
mod inspection;
mod instance;
mod interface;
mod log;
mod lookup;
mod manifest;
mod meter;
mod output;
mod preview;
mod replacement;
mod runtime;
mod script;
mod script_compiler;
mod source;
mod state;
mod ticker;
mod trap;

pub use capability::{Capabilities, Capability};
pub use comparison::{Compared, ComparisonInstance, Finding, KeyPage, Outcome};
pub use component::{Component, Origin};
pub use config::{Limits, RuntimeConfig};
pub use destination::DestinationInstance;
pub use error::LoadError;
pub use inspection::InspectionInstance;
pub use log::{Level, LogSink, NoLog};
pub use lookup::{LookupInstance, RowsRead};
pub use manifest::{Kind, Manifest, ManifestError};
pub use preview::PreviewInstance;
pub use replacement::ReplacementInstance;
pub use runtime::{Runtime, StartError};
pub use script::ScriptInstance;
pub use script_compiler::{
    CompiledScript, FindModule, LanguageCompiler, ScriptError, compile_javascript, compile_lua, compile_wasm,
};
pub use source::{HeldPoint, SourceInstance};
