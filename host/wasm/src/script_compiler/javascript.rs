//! JavaScript scripts.

use super::snapshot::{FindModule, Language, SnapshotCompiler};
use super::{CompiledScript, ScriptError};

const LANGUAGE: Language = Language { name: "JavaScript", column: |_, _, _| None };

/// Compiles JavaScript scripts with one runtime, which is made ready once.
#[derive(Debug)]
pub struct JavaScriptCompiler(SnapshotCompiler);

impl JavaScriptCompiler {
    /// Makes the runtime, a core module, ready to load scripts.
    ///
    /// # Errors
    /// It is no such runtime.
    pub fn new(runtime: &[u8]) -> Result<Self, ScriptError> {
        SnapshotCompiler::new(&LANGUAGE, runtime).map(Self)
    }

    /// Compiles a script that imports no other one. `name` is what people call it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn compile(&self, name: &str, source: &str) -> Result<CompiledScript, ScriptError> {
        self.compile_with(name, source, &|_| None)
    }

    /// Compiles a script that may import stored ones: they become part of the component.
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
