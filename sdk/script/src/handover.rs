//! Between a runtime and the contract: how settings and batches come, and how a source is loaded.
//!
//! Loading is what the host does while it compiles: it asks for room ([`room`]), writes a source there, has it
//! loaded ([`load`]) and reads the report; after a good one it takes the snapshot. Stored scripts that the source
//! asks for come before: room, name and source written, [`keep_module`].

use std::cell::RefCell;

use serde::Serialize;
use tarn_sdk::{Failure, Outcome, ScriptSettings};

use crate::rejection::Rejection;
use crate::transform::{Applied, Output};

thread_local! {
    /// The source before loading, the report after it.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// Stored scripts for the next one that is loaded: names and sources.
    static MODULES: RefCell<Vec<(String, String)>> = const { RefCell::new(Vec::new()) };
}

/// What became of a source, for the host.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Where the script is wrong; 0 when unknown or not wrong.
    pub line: u32,
    /// The character in that line; 0 when unknown.
    pub column: u32,
    /// What is wrong; empty when nothing is.
    pub message: String,
    /// The functions that it defines for the host.
    pub entry_points: Vec<&'static str>,
    /// The module that it asked for and that was not there; empty where there is none.
    pub missing_module: String,
}

/// Makes room for a source and returns its address.
pub fn room(length: usize) -> *mut u8 {
    BUFFER.with_borrow_mut(|buffer| {
        *buffer = vec![0; length];
        buffer.as_mut_ptr()
    })
}

/// Keeps the stored script in the room for the next [`load`]: its name, of so many bytes, then its source.
pub fn keep_module(name_length: usize) {
    let mut name = BUFFER.take();
    let source = name.split_off(name_length.min(name.len()));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    MODULES.with_borrow_mut(|modules| modules.push((text(name), text(source))));
}

/// Loads the script in the room with the modules that were kept: names and sources. Returns the address of the
/// report as JSON in its upper half, the length in its lower.
pub fn load(loads: impl FnOnce(&[u8], Vec<(String, String)>) -> Report) -> u64 {
    let report = loads(&BUFFER.take(), MODULES.take());
    BUFFER.with_borrow_mut(|buffer| {
        *buffer = serde_json::to_vec(&report).expect("a report is JSON");
        (buffer.as_ptr().addr() as u64) << 32 | buffer.len() as u64
    })
}

/// The tables of a mirror, source and destination, and what its destination takes.
pub fn settings(settings: ScriptSettings) -> (Vec<(String, String)>, Output) {
    let output = match settings.output {
        tarn_sdk::Output::Rows => Output::Rows,
        tarn_sdk::Output::Messages => Output::Messages,
    };
    let targets = settings.tables.into_iter().map(|table| (table.source, table.destination)).collect();
    (targets, output)
}

/// The failure of a runtime that is used without a script.
pub fn no_script(language: &str) -> Failure {
    Failure::permanent("script_missing", format!("the {language} runtime holds no script"))
        .with_hint("compile the script first")
}

/// The failure of a script that transforms nothing.
pub fn no_entry_point() -> Failure {
    Failure::permanent("script_without_entry_point", "the script is a module: it defines no entry point")
        .with_hint("choose a script that defines onRecord, transformRecord or transformRow")
}

impl From<Applied> for Outcome {
    fn from(applied: Applied) -> Self {
        let Applied { batch, rows, dropped, rejected } = applied;
        Self { batch, rows, dropped, rejected: rejected.into_iter().map(Into::into).collect() }
    }
}

impl From<Rejection> for tarn_sdk::Rejection {
    fn from(rejection: Rejection) -> Self {
        let Rejection { row, table, key, line, message } = rejection;
        Self { row, table, key, line, message }
    }
}
