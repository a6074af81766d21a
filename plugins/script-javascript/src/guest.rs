//! The guest: the `script` world over the runtime, and the exports by which a script is compiled.
//!
//! Compiling is: [`tarn_script_buffer`], the source written there, [`tarn_script_load`], its report
//! read; after a good one the host takes the snapshot, in which the runtime below is full. Stored scripts
//! that it imports come before: [`tarn_script_buffer`], name and source written, [`tarn_script_module`].

#![expect(unsafe_code, reason = "exports of the core module, called with addresses")]

use std::cell::RefCell;

use serde::Serialize;
use tarn_sdk::{Failure, Outcome, Rejection, Script, ScriptSettings};

use crate::{Fault, Host, Level, Output, Runtime};

thread_local! {
    static RUNTIME: RefCell<Option<Runtime>> = const { RefCell::new(None) };
    /// The source before loading, the report after it.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// Stored scripts for the next one that is loaded: names and sources.
    static MODULES: RefCell<Vec<(String, String)>> = const { RefCell::new(Vec::new()) };
}

struct Imports;

impl Host for Imports {
    fn log(&mut self, level: Level, line: &str) {
        tarn_sdk::log::write(
            match level {
                Level::Debug => tarn_sdk::log::Level::Debug,
                Level::Info => tarn_sdk::log::Level::Info,
                Level::Warn => tarn_sdk::log::Level::Warn,
                Level::Error => tarn_sdk::log::Level::Error,
            },
            line,
        );
    }

    fn now_us(&mut self) -> i64 {
        tarn_sdk::clock::now()
    }
}

/// The answer to [`tarn_script_load`], as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    /// Where the script is wrong; 0 when unknown or not wrong.
    line: u32,
    /// The character in that line; 0 when unknown.
    column: u32,
    /// What is wrong; empty when nothing is.
    message: String,
    entry_points: Vec<&'static str>,
    /// The module that it imported and that was not there; empty where there is none.
    missing_module: String,
}

/// Loads a source into the runtime that the component keeps.
fn load(source: &[u8]) -> Report {
    let fault = |fault: Fault, missing_module| Report {
        line: fault.line,
        column: fault.column,
        message: fault.message,
        entry_points: vec![],
        missing_module,
    };
    let Some(mut runtime) = Runtime::new(Box::new(Imports)) else {
        return fault(Fault::new("not enough memory"), String::new());
    };
    for (name, source) in MODULES.take() {
        runtime.add_module(&name, &source);
    }
    let loaded = match std::str::from_utf8(source) {
        Ok(source) => runtime.load(source),
        Err(_) => Err(Fault::new("the script is not UTF-8")),
    };
    let missing_module = runtime.missing_module().unwrap_or_default().to_owned();
    if let Err(error) = loaded {
        return fault(error, missing_module);
    }
    let entry_points = runtime.entry_points();
    RUNTIME.set(Some(runtime));
    Report { line: 0, column: 0, message: String::new(), entry_points, missing_module }
}

/// The clock that the engine's C code asks once, when it is made: for the seed of `Math.random`, which is the
/// same for the same script. `Date` is given the host's time instead.
#[unsafe(no_mangle)]
extern "C" fn __rquickjs_host_now_us() -> f64 {
    0.0
}

/// Makes room for a source and returns its address.
#[unsafe(no_mangle)]
extern "C" fn tarn_script_buffer(length: usize) -> *mut u8 {
    BUFFER.with_borrow_mut(|buffer| {
        *buffer = vec![0; length];
        buffer.as_mut_ptr()
    })
}

/// Keeps the stored script in the buffer for the next [`tarn_script_load`]: its name, of so many bytes,
/// then its source.
#[unsafe(no_mangle)]
extern "C" fn tarn_script_module(name_length: usize) {
    let mut name = BUFFER.take();
    let source = name.split_off(name_length.min(name.len()));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    MODULES.with_borrow_mut(|modules| modules.push((text(name), text(source))));
}

/// Loads the script in the buffer, and returns the address of a report in its upper half, the length
/// in its lower.
#[unsafe(no_mangle)]
extern "C" fn tarn_script_load() -> u64 {
    let report = load(&BUFFER.take());
    BUFFER.with_borrow_mut(|buffer| {
        *buffer = serde_json::to_vec(&report).expect("a report is JSON");
        (buffer.as_ptr().addr() as u64) << 32 | buffer.len() as u64
    })
}

fn empty() -> Failure {
    Failure::permanent("script_missing", "the JavaScript runtime holds no script")
        .with_hint("compile the script first")
}

fn no_entry_point() -> Failure {
    Failure::permanent("script_without_entry_point", "the script is a module: it defines no entry point")
        .with_hint("choose a script that defines onRecord, transformRecord or transformRow")
}

/// The loaded script.
struct JavaScript;

impl Script for JavaScript {
    fn describe() -> String {
        let entry_points = RUNTIME.with_borrow(|runtime| runtime.as_ref().map(Runtime::entry_points));
        serde_json::json!({ "entryPoints": entry_points.unwrap_or_default() }).to_string()
    }

    fn open(settings: ScriptSettings) -> Result<Self, Failure> {
        let output = match settings.output {
            tarn_sdk::Output::Rows => Output::Rows,
            tarn_sdk::Output::Messages => Output::Messages,
        };
        let targets = settings.tables.into_iter().map(|table| (table.source, table.destination)).collect();
        RUNTIME.with_borrow_mut(|runtime| {
            let runtime = runtime.as_mut().ok_or_else(empty)?;
            if runtime.entry_points().is_empty() {
                return Err(no_entry_point());
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
        let rejected = applied.rejected.into_iter().map(|rejection| Rejection {
            row: rejection.row,
            table: rejection.table,
            key: rejection.key,
            line: rejection.line,
            message: rejection.message,
        });
        Ok(Outcome {
            batch: applied.batch,
            rows: applied.rows,
            dropped: applied.dropped,
            rejected: rejected.collect(),
        })
    }
}

tarn_sdk::export_script!(JavaScript);
