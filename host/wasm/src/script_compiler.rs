//! From the source of a script to a component: what every front end ends in.
//!
//! Lua and JavaScript: the runtime (the core module of `plugins/script-lua` or `plugins/script-javascript`) runs
//! the script's top level once, here, and what its memory then holds becomes the component. WebAssembly: a
//! component as it was uploaded, or one made of the core module that was.
//!
//! The same source and runtime give the same bytes: nothing but them goes in, and running time is bounded
//! by work, not by a clock.

mod language;
mod limits;
mod place;

use ring::digest;
use tarn_model::chain;
use wasmtime::{Config, Engine};

use crate::binary;
use crate::interface::Surface;
use crate::manifest::Manifest;

pub use language::{FindModule, LanguageCompiler};

/// A script as a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledScript {
    /// The component's bytes.
    pub component: Vec<u8>,
    /// Their SHA-256, in hexadecimal.
    pub digest: String,
    /// The functions that the script defines for the host. A component that was uploaded says them when
    /// it is asked ([`crate::ScriptInstance::describe`]), so here it has none.
    pub entry_points: Vec<String>,
}

impl CompiledScript {
    fn new(component: Vec<u8>, entry_points: Vec<String>) -> Self {
        let digest = digest::digest(&digest::SHA256, &component);
        let digest = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        Self { component, digest, entry_points }
    }
}

/// Why a script cannot be used, for its author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ScriptError {
    /// The line that is wrong, from 1; 0 when it is not about a line.
    pub line: u32,
    /// The character in that line, from 1, where it is known.
    pub column: Option<u32>,
    /// What is wrong: a lower-case fragment.
    pub message: String,
}

impl ScriptError {
    fn whole(message: impl Into<String>) -> Self {
        Self { line: 0, column: None, message: message.into() }
    }
}

/// An engine that loads scripts and checks modules: what runs in it later runs in the pool's, which has
/// the same stack and the same features.
fn engine() -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .max_wasm_stack(limits::STACK_BYTES)
        .wasm_gc(true)
        .wasm_function_references(true)
        .wasm_exceptions(true);
    Engine::new(&config)
}

/// Compiles one Lua script. It takes about a second of one core, so it belongs on a thread for blocking
/// work; who compiles many keeps a [`LanguageCompiler`], with which all but the first take half of it.
///
/// `runtime` is the core module of the Lua runtime, `name` is what people call the script.
pub fn compile_lua(runtime: &[u8], name: &str, source: &str) -> Result<CompiledScript, ScriptError> {
    LanguageCompiler::lua(runtime)?.compile(name, source)
}

/// Compiles one JavaScript script, as [`compile_lua`] does one in Lua: who compiles many keeps a
/// [`LanguageCompiler`].
///
/// # Errors
/// What is wrong with it.
pub fn compile_javascript(runtime: &[u8], name: &str, source: &str) -> Result<CompiledScript, ScriptError> {
    LanguageCompiler::javascript(runtime)?.compile(name, source)
}

/// Takes an uploaded component, or a core module with a component type, that is a script and imports
/// nothing a script may not.
pub fn compile_wasm(name: &str, bytes: &[u8]) -> Result<CompiledScript, ScriptError> {
    let refused = |error| ScriptError::whole(chain(&error));
    let engine = engine().map_err(|error| ScriptError::whole(chain(&*error.into_boxed_dyn_error())))?;
    let component = binary::component_of(&engine, name, bytes).map_err(refused)?;
    Surface::read(&Manifest::script(name), &component).map_err(refused)?;
    Ok(CompiledScript::new(component.into_owned(), Vec::new()))
}
