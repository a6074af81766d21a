//! A call that did not return, as a failure that a person can act on.

use tarn_model::{Failure, chain};
use wasmtime::{PoolConcurrencyLimitError, Trap, WasmBacktrace};

use crate::config::{Limits, TRAP_FRAMES};
use crate::log::Log;
use crate::manifest::SCRIPT_LABEL;
use crate::meter::LimitReached;

/// What wasmtime says when a guest hands over more bytes than it may. It has no type of its own.
const OUTPUT_LIMIT_TEXT: &str = "fuel allocated for hostcalls has been exhausted";

/// What to do about a fault of the guest's own.
const FAULT_HINT: &str = "report it to whoever wrote it";

/// Names plugin, function, what happened, where in the guest, and what the guest logged last.
pub(crate) fn failure(
    label: &str,
    function: &str,
    error: &wasmtime::Error,
    limits: &Limits,
    log: &Log,
) -> Failure {
    if let Some(error) = error.downcast_ref::<PoolConcurrencyLimitError>() {
        return Failure::retry(
            "plugin_pool_exhausted",
            format!("no room for another instance of {label}: {error}"),
        )
        .with_hint("run fewer mirrors or snapshot workers at the same time");
    }
    let (code, what, hint) = cause(error, limits);
    let mut message = format!("{label} was stopped in {function}: {what}");
    // Of a script those are the functions of its language's runtime, which tell its author nothing.
    let frames = if label.starts_with(SCRIPT_LABEL) { Vec::new() } else { frames(error) };
    if !frames.is_empty() {
        message.push_str(&format!("; in {}", frames.join(" < ")));
    }
    let tail = log.tail();
    if !tail.is_empty() {
        message.push_str(&format!("; its last log lines: {tail}"));
    }
    Failure::permanent(code, message).with_hint(hint)
}

/// The failure's name, what happened, and what to do about it.
fn cause(error: &wasmtime::Error, limits: &Limits) -> (&'static str, String, &'static str) {
    if let Some(limit) = limit_reached(error, limits) {
        return (limit.code(), limit.to_string(), limit.hint());
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::UnreachableCodeReached) => ("plugin_panicked", "it panicked".to_owned(), FAULT_HINT),
        Some(trap) => ("plugin_trapped", trap.to_string(), FAULT_HINT),
        None => ("plugin_trapped", chain(error.root_cause()), FAULT_HINT),
    }
}

fn limit_reached(error: &wasmtime::Error, limits: &Limits) -> Option<LimitReached> {
    if let Some(limit) = error.downcast_ref::<LimitReached>() {
        return Some(*limit);
    }
    if matches!(error.downcast_ref::<Trap>(), Some(Trap::StackOverflow)) {
        return Some(LimitReached::Stack);
    }
    error
        .root_cause()
        .to_string()
        .contains(OUTPUT_LIMIT_TEXT)
        .then_some(LimitReached::Output(limits.output_bytes_max))
}

/// The guest's functions, innermost first, where the guest has kept their names.
fn frames(error: &wasmtime::Error) -> Vec<String> {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else { return Vec::new() };
    let names = backtrace.frames().iter().filter_map(|frame| frame.func_name());
    names.take(TRAP_FRAMES).map(str::to_owned).collect()
}
