//! Lua scripts.

use super::snapshot::{FindModule, Language, SnapshotCompiler};
use super::{CompiledScript, ScriptError, place};

const LANGUAGE: Language = Language { name: "Lua", column: place::column };

/// Compiles Lua scripts with one runtime, which is made ready once.
#[derive(Debug)]
pub struct LuaCompiler(SnapshotCompiler);

impl LuaCompiler {
    /// Makes the runtime, a core module, ready to load scripts.
    ///
    /// # Errors
    /// It is no such runtime.
    pub fn new(runtime: &[u8]) -> Result<Self, ScriptError> {
        SnapshotCompiler::new(&LANGUAGE, runtime).map(Self)
    }

    /// Compiles a script that requires no other one. `name` is what people call it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn compile(&self, name: &str, source: &str) -> Result<CompiledScript, ScriptError> {
        self.compile_with(name, source, &|_| None)
    }

    /// Compiles a script that may require stored ones: they become part of the component.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn compile_with(
        &self,
        name: &str,
        source: &str,
        find: &FindModule<'_>,
    ) -> Result<CompiledScript, ScriptError> {
        self.0.compile_with(name, source, find)
    }
}
