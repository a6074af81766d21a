//! Compiling scripts with the sandbox's compiler, off the threads that serve requests.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tarn_model::{Enumerated as _, ScriptLanguage};
use tarn_wasm::{CompiledScript, LuaCompiler, ScriptError, compile_wasm};
use tokio::sync::Semaphore;

use crate::config::SCRIPTS_COMPILED_AT_ONCE;
use crate::hooks::{CompileError, Pending, ScriptCompiler, ScriptSource};
use crate::plugins::Plugins;

/// Compiles with the bundled language runtimes. A runtime is made ready when its first script comes.
#[derive(Clone, Debug)]
pub struct ComponentCompiler {
    lua_runtime: &'static [u8],
    /// Kept between scripts.
    lua: Arc<Mutex<Option<LuaCompiler>>>,
    /// One script is compiled at a time, so that uploads cannot fill the machine.
    turn: Arc<Semaphore>,
}

impl ComponentCompiler {
    /// A compiler over the runtimes of these plugins.
    pub fn new(plugins: &Plugins) -> Self {
        Self::of_runtimes(plugins.script_runtime())
    }

    /// A compiler over language runtimes alone, for whoever compiles and runs nothing.
    pub fn of_runtimes(lua_runtime: &'static [u8]) -> Self {
        Self { lua_runtime, lua: Arc::default(), turn: Arc::new(Semaphore::new(SCRIPTS_COMPILED_AT_ONCE)) }
    }

    fn compile_now(
        &self,
        name: &str,
        language: ScriptLanguage,
        source: &str,
        modules: &[(String, String)],
    ) -> Result<CompiledScript, CompileError> {
        match language {
            ScriptLanguage::Lua => self.compile_lua(name, source, modules).map_err(rejected),
            ScriptLanguage::Wasm => {
                let bytes = STANDARD.decode(source.trim()).map_err(|error| CompileError::Rejected {
                    message: format!("the source is not base64: {error}"),
                    line: 0,
                    column: 0,
                })?;
                compile_wasm(name, &bytes).map_err(rejected)
            }
            ScriptLanguage::JavaScript => Err(CompileError::Unsupported(language.name().to_owned())),
        }
    }

    fn compile_lua(
        &self,
        name: &str,
        source: &str,
        modules: &[(String, String)],
    ) -> Result<CompiledScript, ScriptError> {
        // A compiler whose last script made it panic is made anew.
        let mut lua = self.lua.lock().unwrap_or_else(PoisonError::into_inner);
        let compiler = match lua.take() {
            Some(compiler) => compiler,
            None => LuaCompiler::new(self.lua_runtime)?,
        };
        let find =
            |name: &str| modules.iter().find(|(known, _)| known == name).map(|(_, source)| source.clone());
        let compiled = compiler.compile_with(name, source, &find);
        *lua = Some(compiler);
        compiled
    }
}

impl ScriptCompiler for ComponentCompiler {
    fn compile<'a>(&'a self, script: ScriptSource<'a>) -> Pending<'a, Result<Vec<u8>, CompileError>> {
        let compiler = self.clone();
        let (name, source) = (script.name.to_owned(), script.source.to_owned());
        let modules = script.modules.to_vec();
        let language = script.language;
        Box::pin(async move {
            let turn = Arc::clone(&compiler.turn).acquire_owned().await;
            // The turn ends with the work, also where nobody waits for it any more.
            let work = move || {
                let _turn = turn;
                compiler.compile_now(&name, language, &source, &modules)
            };
            match tokio::task::spawn_blocking(work).await {
                Ok(compiled) => compiled.map(|script| script.component),
                Err(fault) => Err(CompileError::Failed(fault.to_string())),
            }
        })
    }
}

fn rejected(error: ScriptError) -> CompileError {
    CompileError::Rejected { message: error.message, line: error.line, column: error.column.unwrap_or(0) }
}
