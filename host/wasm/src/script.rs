//! The door to a script.

use tarn_model::Failure;
use tarn_replication::{Batch, Rejection, Transform, Transformed};

use crate::bindings::exports::tarn::plugin::script::Guest;
use crate::capability::Capabilities;
use crate::component::Component;
use crate::config::{LOG_TAIL_LINE_BYTES_MAX, LOG_TAIL_LINES, Limits, REJECTION_MESSAGE_BYTES_MAX};
use crate::instance::{Instance, enter};
use crate::log::cut;
use crate::manifest::Kind;
use crate::output;

/// One instance of a script: it serves one mirror and one task. [`Self::open`] comes before the first
/// batch.
///
/// Calls fail as those of a source do.
pub struct ScriptInstance(Instance<Guest>);

impl ScriptInstance {
    pub(crate) async fn new(
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
    ) -> Result<Self, Failure> {
        let indices = component.script().ok_or_else(|| component.is_no(Kind::Script))?;
        let bind = |store: &mut wasmtime::Store<_>, instance: &_| indices.load(store, instance);
        Instance::new(component, capabilities, limits, bind).await.map(Self)
    }

    /// The entry points that the script defines, as JSON.
    pub async fn describe(&mut self) -> Result<String, Failure> {
        Ok(enter!(self.0, "describe", |guest, store| guest.call_describe(store)))
    }

    /// Takes the settings as JSON.
    pub async fn open(&mut self, settings: &str) -> Result<(), Failure> {
        enter!(self.0, "open", |guest, store| guest.call_open(store, settings)).map_err(output::failure)
    }
}

/// What a rejection's message says: the contract keeps more than the words in one text.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    message: String,
    function: String,
    log_lines: Vec<String>,
}

/// What stands between the parts of a rejection's message (wit/v0.1/script.wit).
const PART: char = '\u{1f}';

impl Told {
    fn read(text: &str) -> Self {
        let mut parts = text.split(PART);
        let mut next = || cut(parts.next().unwrap_or_default(), REJECTION_MESSAGE_BYTES_MAX).to_owned();
        let (message, function) = (next(), next());
        let lines = parts.take(LOG_TAIL_LINES).map(|line| cut(line, LOG_TAIL_LINE_BYTES_MAX).to_owned());
        Self { message, function, log_lines: lines.collect() }
    }
}

impl Transform for ScriptInstance {
    async fn apply(&mut self, batch: Batch) -> Result<Transformed, Failure> {
        let told = enter!(self.0, "apply", |guest, store| guest.call_apply(store, &batch.bytes));
        let outcome = told.map_err(output::failure)?;
        let transformed = output::counted_batch(self.0.label(), "apply", outcome.batch, outcome.rows)?;
        if outcome.rejected.iter().any(|rejection| rejection.row >= batch.rows) {
            return Err(output::invalid(self.0.label(), "apply", "it names rows that the batch has not"));
        }
        let lines = if outcome.rejected.is_empty() { Vec::new() } else { self.0.last_log_lines() };
        let rejected = outcome.rejected.into_iter().map(|rejection| {
            let Told { message, function, log_lines } = Told::read(&rejection.message);
            Rejection {
                row: rejection.row,
                table: rejection.table,
                key: rejection.key,
                line: rejection.line,
                message,
                function,
                log_lines: if log_lines.is_empty() { lines.clone() } else { log_lines },
                ..Rejection::default()
            }
        });
        Ok(Transformed {
            batch: transformed.unwrap_or_else(|| Batch { bytes: bytes::Bytes::new(), rows: 0 }),
            // Of no more rows can anything be said.
            dropped: outcome.dropped.min(batch.rows),
            rejected: rejected.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_may_bring_function_and_log_lines_along() {
        let told = |message: &str, function: &str, lines: &[&str]| Told {
            message: message.to_owned(),
            function: function.to_owned(),
            log_lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        };
        assert_eq!(Told::read("no"), told("no", "", &[]));
        assert_eq!(Told::read("no\u{1f}mask"), told("no", "mask", &[]));
        assert_eq!(Told::read("no\u{1f}\u{1f}one\u{1f}two"), told("no", "", &["one", "two"]));
        let long = format!("{0}\u{1f}{0}\u{1f}{0}", "é".repeat(10_000));
        let told = Told::read(&long);
        assert!(told.message.len() <= REJECTION_MESSAGE_BYTES_MAX && told.log_lines[0].len() <= 500);
    }
}
