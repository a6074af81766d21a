//! Compiling scripts with the sandbox's compiler, off the threads that serve requests.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tarn_model::ScriptLanguage;
use tarn_wasm::{CompiledScript, FindModule, LanguageCompiler, ScriptError, compile_wasm};
use tokio::sync::Semaphore;

use crate::config::SCRIPTS_COMPILED_AT_ONCE;
use crate::hooks::{CompileError, Pending, ScriptCompiler, ScriptSource};
use crate::plugins::{Plugins, ScriptRuntimes};

/// Compiles with the bundled language runtimes. A runtime is made ready when its first script comes.
#[derive(Clone, Debug)]
pub struct ComponentCompiler {
    runtimes: ScriptRuntimes,
    /// Kept between scripts.
    lua: Arc<Mutex<Option<LanguageCompiler>>>,
    /// Kept between scripts.
    javascript: Arc<Mutex<Option<LanguageCompiler>>>,
    /// One script is compiled at a time, so that uploads cannot fill the machine.
    turn: Arc<Semaphore>,
}

impl ComponentCompiler {
    /// A compiler over the runtimes of these plugins.
    pub fn new(plugins: &Plugins) -> Self {
        Self::of_runtimes(plugins.script_runtimes())
    }

    /// A compiler over language runtimes alone, for whoever compiles and runs nothing.
    pub fn of_runtimes(runtimes: ScriptRuntimes) -> Self {
        Self {
            runtimes,
            lua: Arc::default(),
            javascript: Arc::default(),
            turn: Arc::new(Semaphore::new(SCRIPTS_COMPILED_AT_ONCE)),
        }
    }

    fn compile_now(
        &self,
        name: &str,
        language: ScriptLanguage,
        source: &str,
        modules: &[(String, String)],
    ) -> Result<CompiledScript, CompileError> {
        let find =
            |name: &str| modules.iter().find(|(known, _)| known == name).map(|(_, source)| source.clone());
        let find: &FindModule<'_> = &find;
        match language {
            ScriptLanguage::Lua => kept(
                &self.lua,
                || LanguageCompiler::lua(self.runtimes.lua),
                |compiler| compiler.compile_with(name, source, find),
            ),
            ScriptLanguage::JavaScript => kept(
                &self.javascript,
                || LanguageCompiler::javascript(self.runtimes.javascript),
                |compiler| compiler.compile_with(name, source, find),
            ),
            ScriptLanguage::Wasm => {
                let bytes = STANDARD.decode(source.trim()).map_err(|error| CompileError::Rejected {
                    message: format!("the source is not base64: {error}"),
                    line: 0,
                    column: 0,
                })?;
                compile_wasm(name, &bytes)
            }
        }
        .map_err(rejected)
    }
}

/// Compiles with the compiler that is kept, made when there is none. One whose last script made it panic is made
/// anew.
fn kept(
    place: &Mutex<Option<LanguageCompiler>>,
    make: impl FnOnce() -> Result<LanguageCompiler, ScriptError>,
    compile: impl FnOnce(&LanguageCompiler) -> Result<CompiledScript, ScriptError>,
) -> Result<CompiledScript, ScriptError> {
    let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
    let compiler = match place.take() {
        Some(compiler) => compiler,
        None => make()?,
    };
    let compiled = compile(&compiler);
    *place = Some(compiler);
    compiled
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
