//! The guest: the `script` world over the runtime, and the exports by which a script is compiled.
//!
//! Compiling is: [`tarn_script_buffer`], the source written there, [`tarn_script_load`], its report
//! read; after a good one the host takes the snapshot, in which the runtime below is full.

#![expect(unsafe_code, reason = "exports of the core module, called with addresses")]

use std::cell::RefCell;

use serde::Serialize;
use tarn_sdk::{Failure, Outcome, Rejection, Script, ScriptSettings};

use crate::{Fault, Host, Output, Runtime};

thread_local! {
    static RUNTIME: RefCell<Option<Runtime>> = const { RefCell::new(None) };
    /// The source before loading, the report after it.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
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

/// The answer to [`tarn_script_load`], as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    /// Where the script is wrong; 0 when unknown or not wrong.
    line: u32,
    /// What is wrong; empty when nothing is.
    message: String,
    entry_points: Vec<&'static str>,
}

fn load(source: &[u8]) -> Result<Runtime, Fault> {
    let mut runtime =
        Runtime::new(Box::new(Imports)).ok_or_else(|| Fault::new("not enough memory".to_owned()))?;
    runtime.load(source)?;
    Ok(runtime)
}

/// Makes room for a source and returns its address.
#[unsafe(no_mangle)]
extern "C" fn tarn_script_buffer(length: usize) -> *mut u8 {
    BUFFER.with_borrow_mut(|buffer| {
        *buffer = vec![0; length];
        buffer.as_mut_ptr()
    })
}

/// Loads the script in the buffer, and returns the address of a report in its upper half, the length
/// in its lower.
#[unsafe(no_mangle)]
extern "C" fn tarn_script_load() -> u64 {
    let report = match load(&BUFFER.take()) {
        Ok(runtime) => {
            let entry_points = runtime.entry_points();
            RUNTIME.set(Some(runtime));
            Report { line: 0, message: String::new(), entry_points }
        }
        Err(fault) => Report { line: fault.line, message: fault.message, entry_points: vec![] },
    };
    BUFFER.with_borrow_mut(|buffer| {
        *buffer = serde_json::to_vec(&report).expect("a report is JSON");
        (buffer.as_ptr().addr() as u64) << 32 | buffer.len() as u64
    })
}

fn empty() -> Failure {
    Failure::permanent("script_missing", "the Lua runtime holds no script")
        .with_hint("compile the script first")
}

/// The loaded script.
struct LuaScript;

impl Script for LuaScript {
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
            runtime.as_mut().ok_or_else(empty)?.start(targets, output);
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

tarn_sdk::export_script!(LuaScript);
