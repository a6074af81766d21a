//! The destination, over any client.

use tarn_batch::Table;
use tarn_sdk::{
    Ack, Compared, Description, DestinationConfig, Failure, Finding, KeyPage, Problem, TablePlan, log,
};

use crate::client::Client;
use crate::failure::of_error;
use crate::inserts::Inserts;
use crate::targets::Targets;
use crate::{beside, comparison, evolve, replacement, validate, write};

/// A mirror's ClickHouse.
#[derive(Debug)]
pub(crate) struct Connector<C: Client> {
    pub(crate) client: C,
    targets: Targets,
    inserts: Inserts<C::Insert>,
}

impl<C: Client> Connector<C> {
    pub(crate) fn new(config: DestinationConfig, client: C) -> Self {
        Self { client, targets: Targets::new(config), inserts: Inserts::new() }
    }

    pub(crate) fn version(&mut self) -> Result<String, Failure> {
        validate::version(&mut self.client)
    }

    pub(crate) fn validate(&mut self, schema: &[Table]) -> Result<Vec<Problem>, Failure> {
        validate::validate(&mut self.targets, &mut self.client, schema)
    }

    pub(crate) fn prepare(&mut self, schema: &[Description]) -> Result<(), Failure> {
        self.inserts.finish_all()?;
        evolve::prepare(&mut self.targets, &mut self.client, schema)
    }

    /// What `evolve` would do.
    pub(crate) fn preview(&mut self, schema: &[Description]) -> Result<Vec<TablePlan>, Failure> {
        evolve::preview(&mut self.targets, &mut self.client, schema)
    }

    pub(crate) fn evolve(&mut self, schema: &[Description]) -> Result<(), Failure> {
        self.inserts.finish_all()?;
        evolve::evolve(&mut self.targets, &mut self.client, schema)
    }

    pub(crate) fn write(&mut self, batches: &[Vec<u8>]) -> Result<Ack, Failure> {
        write::write(&mut self.targets, &mut self.client, &mut self.inserts, batches)
    }

    /// Waits until everything written is in its table.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        // What is still open would otherwise join what is written again.
        self.inserts.finish_all().inspect_err(|_| self.inserts.give_up())
    }

    /// Compares rows with what the targets hold as of a sequence.
    pub(crate) fn compare(&mut self, rows: &[u8], sequence: u64, hash_max: u64) -> Result<Compared, Failure> {
        comparison::compare(&mut self.targets, &mut self.client, rows, sequence, hash_max)
    }

    /// Looks for keys of which a target should have no row as of a sequence.
    pub(crate) fn find(
        &mut self,
        table: &Table,
        keys: &[Vec<String>],
        sequence: u64,
    ) -> Result<Vec<Finding>, Failure> {
        let plan = comparison::plan(&mut self.targets, &mut self.client, table)?;
        comparison::find(&mut self.client, &plan, keys, sequence)
    }

    /// A part of the keys that a target holds.
    pub(crate) fn list_keys(
        &mut self,
        table: &Table,
        after: &[String],
        count_max: u32,
    ) -> Result<KeyPage, Failure> {
        let plan = comparison::plan(&mut self.targets, &mut self.client, table)?;
        comparison::list_keys(&mut self.client, &plan, after, count_max)
    }

    /// Puts tables that were loaded beside in the place of those of these names.
    pub(crate) fn replace(&mut self, tables: &[String]) -> Result<(), Failure> {
        self.inserts.finish_all()?;
        if self.targets.config.beside.is_empty() {
            return Err(Failure::permanent("settings_invalid", "the settings name no load that went beside"));
        }
        for target in tables {
            replacement::replace(&self.targets, &mut self.client, target)?;
        }
        Ok(())
    }

    /// Drops the targets of the named tables, which may be named by source or by target. A table that
    /// no mirror made, by its columns, stays.
    pub(crate) fn drop_tables(&mut self, tables: &[String]) -> Result<(), Failure> {
        self.inserts.give_up();
        for name in tables {
            let mapping = self.targets.config.tables.iter().find(|mapping| mapping.source == *name);
            let named = || match self.targets.config.beside.as_str() {
                "" => name.clone(),
                _ => beside::name(name),
            };
            let target = mapping.map_or_else(named, |mapping| mapping.destination.clone());
            let Some(existing) = self.targets.find(&mut self.client, &target)? else { continue };
            if !existing.is_a_target(&self.targets.config) {
                log::warn(&format!("table {target} has not the columns of a mirror's target, and stays"));
                continue;
            }
            let dropped = self.client.query(&self.targets.ddl.drop(&target));
            dropped.map_err(|error| of_error(error, &format!("dropping table {target}")))?;
            self.targets.forget(&target);
            log::info(&format!("dropped table {target}"));
        }
        Ok(())
    }
}
