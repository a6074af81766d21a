//! The guest: the `script` world over the runtime, and the exports by which a script is compiled
//! ([`tarn_script::handover`] has how).

#![expect(unsafe_code, reason = "exports of the core module, called with addresses")]

use std::cell::RefCell;

use tarn_script::handover::{self, Report};
use tarn_sdk::{Failure, Outcome, Script, ScriptSettings};

use crate::{Fault, Host, Runtime};

thread_local! {
    static RUNTIME: RefCell<Option<Runtime>> = const { RefCell::new(None) };
}

struct Imports;

impl Host for Imports {
    fn log(&mut self, line: &str) {
        tarn_sdk::log::info(line);
    }

    fn now_us(&mut self) -> i64 {
        tarn_sdk::clock::now()
    }
}

/// Loads a source into the runtime that the component keeps.
fn load(source: &[u8], modules: Vec<(String, String)>) -> Report {
    let fault = |fault: Fault, missing_module| Report {
        line: fault.line,
        column: 0,
        message: fault.message,
        entry_points: vec![],
        missing_module,
    };
    let Some(mut runtime) = Runtime::new(Box::new(Imports)) else {
        return fault(Fault::new("not enough memory"), String::new());
    };
    for (name, source) in modules {
        runtime.add_module(&name, &source);
    }
    let loaded = runtime.load(source);
    let missing_module = runtime.missing_module().unwrap_or_default().to_owned();
    if let Err(error) = loaded {
        return fault(error, missing_module);
    }
    let entry_points = runtime.entry_points();
    RUNTIME.set(Some(runtime));
    Report { entry_points, missing_module, ..Report::default() }
}

/// Makes room for a source and returns its address.
#[unsafe(no_mangle)]
extern "C" fn tarn_script_buffer(length: usize) -> *mut u8 {
    handover::room(length)
}

/// Keeps a stored script for the next [`tarn_script_load`].
#[unsafe(no_mangle)]
extern "C" fn tarn_script_module(name_length: usize) {
    handover::keep_module(name_length);
}

/// Loads the script in the buffer.
#[unsafe(no_mangle)]
extern "C" fn tarn_script_load() -> u64 {
    handover::load(load)
}

fn empty() -> Failure {
    handover::no_script("Lua")
}

/// The loaded script.
struct LuaScript;

impl Script for LuaScript {
    fn describe() -> String {
        let entry_points = RUNTIME.with_borrow(|runtime| runtime.as_ref().map(Runtime::entry_points));
        serde_json::json!({ "entryPoints": entry_points.unwrap_or_default() }).to_string()
    }

    fn open(settings: ScriptSettings) -> Result<Self, Failure> {
        let (targets, output) = handover::settings(settings);
        RUNTIME.with_borrow_mut(|runtime| {
            let runtime = runtime.as_mut().ok_or_else(empty)?;
            if runtime.entry_points().is_empty() {
                return Err(handover::no_entry_point());
            }
            runtime.start(targets, output);
            runtime.tell_parts();
            Ok(Self)
        })
    }

    fn apply(&mut self, batch: Vec<u8>) -> Result<Outcome, Failure> {
        let applied = RUNTIME.with_borrow_mut(|runtime| {
            runtime.as_mut().ok_or_else(empty)?.apply(&batch).map_err(Failure::from)
        })?;
        Ok(applied.into())
    }
}

tarn_sdk::export_script!(LuaScript);
