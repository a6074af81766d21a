//! The door to a destination that compares rows with what it holds.

use tarn_model::Failure;

use crate::bindings::exports::tarn::plugin::{comparison, destination};
use crate::capability::Capabilities;
use crate::component::Component;
use crate::config::Limits;
use crate::instance::{Instance, enter};
use crate::manifest::Kind;
use crate::output;

/// One instance of a destination that compares and writes nothing. [`Self::configure`] comes first.
///
/// Calls fail as those of a source do.
pub struct ComparisonInstance(Instance<Exports>);

/// What is called of the instance.
struct Exports {
    destination: destination::Guest,
    comparison: comparison::Guest,
}

/// What is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The destination has no row of the key.
    Missing,
    /// It has another one.
    Differs,
    /// It has a row although there should be none.
    Present,
    /// It has a later row of the key: nothing can be said.
    Later,
    /// A value cannot be stored, so that nobody can have written the row.
    Unwritable,
}

/// A row, or a key, that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which one of those that were given, from 0.
    pub at: u32,
    /// What is not as it should be.
    pub outcome: Outcome,
    /// The destination's columns that it concerns.
    pub columns: Vec<String>,
    /// The commit of the key's latest row at the destination; 0 where there is none.
    pub commit: u64,
}

/// What came of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// A number made of its key for each row.
    pub hashes: Vec<u64>,
    /// Rows that are not as they should be.
    pub findings: Vec<Finding>,
    /// The destination's columns that cannot be compared.
    pub uncompared: Vec<String>,
}

/// A part of the keys that a destination holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPage {
    /// Keys, each the texts of its columns.
    pub keys: Vec<Vec<String>>,
    /// A number made of each of them.
    pub hashes: Vec<u64>,
    /// Where the next page begins; empty after the last one.
    pub next: Vec<String>,
}

impl ComparisonInstance {
    pub(crate) async fn new(
        component: &Component,
        capabilities: Capabilities,
        limits: Limits,
    ) -> Result<Self, Failure> {
        let destination = component.destination().ok_or_else(|| component.is_no(Kind::Destination))?;
        let comparison = component.comparison().ok_or_else(|| blind(component.plugin()))?;
        let bind = |store: &mut wasmtime::Store<_>, instance: &_| {
            Ok(Exports {
                destination: destination.load(&mut *store, instance)?,
                comparison: comparison.load(store, instance)?,
            })
        };
        Instance::new(component, capabilities, limits, bind).await.map(Self)
    }

    /// Takes the settings as JSON. Opens nothing.
    pub async fn configure(&mut self, settings: &str) -> Result<(), Failure> {
        enter!(self.0, "configure", |guest, store| guest.destination.call_configure(store, settings))
            .map_err(output::failure)
    }

    /// Compares rows with what is there as of a sequence; those whose number is above `hash_max` are passed
    /// over.
    pub async fn compare(
        &mut self,
        rows: &tarn_replication::Batch,
        sequence: u64,
        hash_max: u64,
    ) -> Result<Compared, Failure> {
        let told = enter!(self.0, "compare", |guest, store| {
            guest.comparison.call_compare(store, &rows.bytes, sequence, hash_max)
        })
        .map_err(output::failure)?;
        if told.hashes.len() != rows.rows as usize {
            return Err(self.invalid("compare", "it does not have a number for each row"));
        }
        let findings = self.findings("compare", told.findings, told.hashes.len())?;
        Ok(Compared { hashes: told.hashes, findings, uncompared: told.uncompared })
    }

    /// Looks for keys of which there should be no row as of a sequence.
    pub async fn find(
        &mut self,
        table: &[u8],
        keys: &[Vec<String>],
        sequence: u64,
    ) -> Result<Vec<Finding>, Failure> {
        let texts: Vec<Vec<&str>> = keys.iter().map(|key| key.iter().map(String::as_str).collect()).collect();
        let texts: Vec<&[&str]> = texts.iter().map(Vec::as_slice).collect();
        let told = enter!(self.0, "find", |guest, store| {
            guest.comparison.call_find(store, table, &texts, sequence)
        })
        .map_err(output::failure)?;
        self.findings("find", told, keys.len())
    }

    /// The keys that are there now, from `after` on.
    pub async fn list_keys(
        &mut self,
        table: &[u8],
        after: &[String],
        count_max: u32,
    ) -> Result<KeyPage, Failure> {
        let after: Vec<&str> = after.iter().map(String::as_str).collect();
        let page = enter!(self.0, "list-keys", |guest, store| {
            guest.comparison.call_list_keys(store, table, &after, count_max)
        })
        .map_err(output::failure)?;
        if page.keys.len() != page.hashes.len() {
            return Err(self.invalid("list-keys", "it does not have a number for each key"));
        }
        Ok(KeyPage { keys: page.keys, hashes: page.hashes, next: page.next })
    }

    fn findings(
        &self,
        function: &str,
        told: Vec<comparison::Finding>,
        given: usize,
    ) -> Result<Vec<Finding>, Failure> {
        if told.iter().any(|finding| finding.at as usize >= given) {
            return Err(self.invalid(function, "it found something about a row that it was not given"));
        }
        let finding = |told: comparison::Finding| Finding {
            at: told.at,
            outcome: match told.outcome {
                comparison::Outcome::Missing => Outcome::Missing,
                comparison::Outcome::Differs => Outcome::Differs,
                comparison::Outcome::Present => Outcome::Present,
                comparison::Outcome::Later => Outcome::Later,
                comparison::Outcome::Unwritable => Outcome::Unwritable,
            },
            columns: told.columns,
            commit: told.commit,
        };
        Ok(told.into_iter().map(finding).collect())
    }

    fn invalid(&self, function: &str, what: &str) -> Failure {
        let message = format!("{} returned an invalid answer from {function}: {what}", self.0.label());
        Failure::permanent("plugin_answer_invalid", message)
            .with_hint("report it to whoever wrote the plugin")
    }
}

/// The failure of whoever compares where that is not offered.
fn blind(plugin: &str) -> Failure {
    let message = format!("the plugin {plugin} compares no rows");
    Failure::permanent("plugin_comparison_missing", message)
        .with_hint("install a version of it that exports the interface comparison")
}
