//! What compiles a language whose runtime is a guest: the runtime with the script loaded, as a snapshot.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde::Deserialize;
use tarn_model::chain;
use wasmtime::{Engine, Instance, Linker, Memory, Module, Store, StoreLimits, StoreLimitsBuilder, Trap, Val};
use wasmtime_wizer::{InstanceState, SnapshotVal, ValType, Wizer};

use super::limits::{
    COMPONENT_BYTES_MAX, LOAD_FUEL, LOAD_MEMORY_BYTES_MAX, LOAD_MEMORY_TOLD_BYTES, MODULES_MAX,
    SOURCE_BYTES_MAX,
};
use super::{CompiledScript, ScriptError, engine, place};
use crate::binary;

/// The runtime's export that makes room for a source.
const BUFFER: &str = "tarn_script_buffer";
/// The runtime's export that keeps a stored script for others to require.
const MODULE: &str = "tarn_script_module";
/// The runtime's export that loads it, which is not part of the component.
const LOAD: &str = "tarn_script_load";

/// What is the language's own.
struct Language {
    /// What people call it.
    name: &'static str,
    /// The character in a line of a source that a message is about, where the runtime does not say it.
    column: fn(source: &str, line: u32, message: &str) -> Option<u32>,
}

const LUA: Language = Language { name: "Lua", column: place::column };
const JAVASCRIPT: Language = Language { name: "JavaScript", column: |_, _, _| None };

/// Compiles scripts of a language with one runtime, which is made ready once.
pub struct LanguageCompiler {
    language: &'static Language,
    runtime: Vec<u8>,
    engine: Engine,
    /// The runtime with its state made visible.
    module: Module,
}

/// What the runtime says of a script that it loaded, or could not.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    line: u32,
    /// From 1; 0 or absent where the runtime does not know it.
    #[serde(default)]
    column: u32,
    message: String,
    entry_points: Vec<String>,
    /// The stored script that it required and that was not there; empty where there is none.
    missing_module: String,
}

/// Finds a stored script's source by the name that another one requires it by.
pub type FindModule<'a> = dyn Fn(&str) -> Option<String> + 'a;

impl LanguageCompiler {
    /// Makes a Lua runtime, a core module, ready to load scripts.
    ///
    /// # Errors
    /// It is no such runtime.
    pub fn lua(runtime: &[u8]) -> Result<Self, ScriptError> {
        Self::new(&LUA, runtime)
    }

    /// Makes a JavaScript runtime, a core module, ready to load scripts.
    ///
    /// # Errors
    /// It is no such runtime.
    pub fn javascript(runtime: &[u8]) -> Result<Self, ScriptError> {
        Self::new(&JAVASCRIPT, runtime)
    }

    fn new(language: &'static Language, runtime: &[u8]) -> Result<Self, ScriptError> {
        let prepare = || -> wasmtime::Result<(Engine, Module)> {
            let engine = engine()?;
            let (_, instrumented) = wizer().instrument(runtime)?;
            let module = Module::new(&engine, instrumented)?;
            Ok((engine, module))
        };
        let (engine, module) = prepare().map_err(|error| language.unusable(error))?;
        Ok(Self { language, runtime: runtime.to_vec(), engine, module })
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
        if source.len() > SOURCE_BYTES_MAX {
            return Err(ScriptError::whole(format!(
                "the script has {} bytes; at most {SOURCE_BYTES_MAX} are taken",
                source.len()
            )));
        }
        let (mut loaded, report) = self.load(source, find)?;
        if !report.message.is_empty() {
            let column = Some(report.column)
                .filter(|column| *column > 0)
                .or_else(|| (self.language.column)(source, report.line, &report.message));
            return Err(ScriptError { line: report.line, column, message: report.message });
        }
        let module = self.snapshot(&mut loaded).map_err(|error| self.language.unusable(error))?;
        if module.len() > COMPONENT_BYTES_MAX {
            return Err(ScriptError::whole(format!(
                "the script fills {} bytes while it is loaded; at most {COMPONENT_BYTES_MAX} are kept",
                module.len()
            )));
        }
        let component = binary::component_of(&self.engine, name, &module).map_err(|error| {
            ScriptError::whole(format!(
                "the {} runtime cannot be used: {}",
                self.language.name,
                chain(&error)
            ))
        })?;
        Ok(CompiledScript::new(component.into_owned(), report.entry_points))
    }

    /// Loads a script, again with each stored one that it turns out to require. Only those are given: what
    /// else is stored must not change the component.
    fn load(&self, source: &str, find: &FindModule<'_>) -> Result<(Loaded, Report), ScriptError> {
        let mut modules: Vec<(String, String)> = Vec::new();
        loop {
            let unusable = |error| self.language.unusable(error);
            let mut loaded = Loaded::new(&self.engine, &self.module).map_err(unusable)?;
            for (name, source) in &modules {
                loaded.add_module(name, source).map_err(unusable)?;
            }
            let report = loaded.load(source.as_bytes(), self.language)?;
            let missing = Some(&report.missing_module).filter(|name| !name.is_empty());
            match missing.and_then(|name| find(name)) {
                Some(found) if modules.len() < MODULES_MAX => modules.push((report.missing_module, found)),
                Some(_) => {
                    let message = format!("the script requires more than {MODULES_MAX} stored scripts");
                    return Err(ScriptError::whole(message));
                }
                None => return Ok((loaded, report)),
            }
        }
    }

    /// The runtime as a core module whose memory is what it is now.
    fn snapshot(&self, loaded: &mut Loaded) -> wasmtime::Result<Vec<u8>> {
        let wizer = wizer();
        let (context, _) = wizer.instrument(&self.runtime)?;
        let taken = pin!(wizer.snapshot(&context, loaded));
        match taken.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(module) => module,
            Poll::Pending => unreachable!("reading an instance's state waits for nothing"),
        }
    }
}

impl std::fmt::Debug for LanguageCompiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct(self.language.name).field("runtime_bytes", &self.runtime.len()).finish_non_exhaustive()
    }
}

fn wizer() -> Wizer {
    let mut wizer = Wizer::new();
    wizer.init_func(LOAD);
    wizer
}

impl Language {
    /// The fault is the runtime's, not the script's: who builds the service reads it.
    fn unusable(&self, error: wasmtime::Error) -> ScriptError {
        let reason = chain(&*error.into_boxed_dyn_error());
        ScriptError::whole(format!("the {} runtime cannot be used: {reason}", self.name))
    }
}

/// An instance of the runtime that loads one script. Its imports trap: while a script is loaded there is
/// no log and no clock, and the runtime asks for neither.
struct Loaded {
    store: Store<StoreLimits>,
    instance: Instance,
}

impl Loaded {
    fn new(engine: &Engine, module: &Module) -> wasmtime::Result<Self> {
        let limits = StoreLimitsBuilder::new().memory_size(LOAD_MEMORY_BYTES_MAX).build();
        let mut store = Store::new(engine, limits);
        store.limiter(|limits| limits);
        store.set_fuel(LOAD_FUEL)?;
        let mut linker = Linker::new(engine);
        linker.define_unknown_imports_as_traps(module)?;
        let instance = linker.instantiate(&mut store, module)?;
        Ok(Self { store, instance })
    }

    fn add_module(&mut self, name: &str, source: &str) -> wasmtime::Result<()> {
        self.put(format!("{name}{source}").as_bytes())?;
        let module = self.instance.get_typed_func::<u32, ()>(&mut self.store, MODULE)?;
        module.call(&mut self.store, u32::try_from(name.len())?)
    }

    /// Puts bytes where the runtime takes its next input from.
    fn put(&mut self, bytes: &[u8]) -> wasmtime::Result<()> {
        let store = &mut self.store;
        let buffer = self.instance.get_typed_func::<u32, u32>(&mut *store, BUFFER)?;
        let at = buffer.call(&mut *store, u32::try_from(bytes.len())?)?;
        let memory = memory(&self.instance, store)?;
        Ok(memory.write(store, at as usize, bytes)?)
    }

    fn load(&mut self, source: &[u8], language: &Language) -> Result<Report, ScriptError> {
        self.try_load(source).map_err(|error| match error.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) if self.memory_bytes() > LOAD_MEMORY_TOLD_BYTES => ScriptError::whole(format!(
                "the script's top level does not end in time and has taken {} MiB of memory: does it fill a table or a \
                 string for ever?",
                self.memory_bytes() >> 20
            )),
            Some(Trap::OutOfFuel) => {
                ScriptError::whole("the script's top level does not end in time: does it loop for ever?")
            }
            Some(trap) => {
                ScriptError::whole(format!("the script stopped the {} runtime: {trap}", language.name))
            }
            None => language.unusable(error),
        })
    }

    /// How much memory the runtime and the script have by now.
    fn memory_bytes(&mut self) -> usize {
        memory(&self.instance, &mut self.store).map_or(0, |memory| memory.data_size(&self.store))
    }

    fn try_load(&mut self, source: &[u8]) -> wasmtime::Result<Report> {
        self.put(source)?;
        let store = &mut self.store;
        let load = self.instance.get_typed_func::<(), u64>(&mut *store, LOAD)?;
        let memory = memory(&self.instance, store)?;
        let report = load.call(&mut *store, ())?;
        let (at, length) = ((report >> 32) as usize, (report & u64::from(u32::MAX)) as usize);
        let report = memory.data(&*store).get(at..).and_then(|rest| rest.get(..length));
        let report = report.ok_or_else(|| wasmtime::Error::msg("its report is outside its memory"))?;
        Ok(serde_json::from_slice(report)?)
    }
}

fn memory(instance: &Instance, store: &mut Store<StoreLimits>) -> wasmtime::Result<Memory> {
    instance.get_memory(store, "memory").ok_or_else(|| wasmtime::Error::msg("it exports no memory"))
}

impl InstanceState for Loaded {
    async fn global_get(&mut self, name: &str, _: ValType) -> SnapshotVal {
        let global =
            self.instance.get_global(&mut self.store, name).expect("the instrumented global is there");
        match global.get(&mut self.store) {
            Val::I32(value) => SnapshotVal::I32(value),
            Val::I64(value) => SnapshotVal::I64(value),
            Val::F32(bits) => SnapshotVal::F32(bits),
            Val::F64(bits) => SnapshotVal::F64(bits),
            Val::V128(value) => SnapshotVal::V128(value.as_u128()),
            other => unreachable!("instrumenting refuses globals of references, such as {other:?}"),
        }
    }

    async fn memory_contents(&mut self, name: &str, contents: impl FnOnce(&[u8]) + Send) {
        let memory =
            self.instance.get_memory(&mut self.store, name).expect("the instrumented memory is there");
        contents(memory.data(&self.store));
    }
}
