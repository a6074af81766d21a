//! What the server says of several relations of a transaction at once.
//!
//! It is as good as what it would say of each at its turn. The catalog is always read later than the log was written, and how
//! much later does not matter, but for what the transaction itself did: others have to see that. So it is asked
//! only once the descriptions are there, for tables that others see as the transaction left them, and nothing is
//! kept beyond the learning of these.

use std::collections::{HashMap, HashSet};

use tarn_sdk::Failure;

use super::visibility::Unseen;
use crate::catalog::{self, CatalogTable};
use crate::peer::Peer;
use crate::pgoutput::Relation;
use crate::publication;
use crate::server::Server;
use crate::settings::{Publication, Settings};
use crate::side::Side;

/// See the module's documentation. Empty where nothing was asked.
#[derive(Debug, Default)]
pub(super) struct Asked {
    tables: HashMap<u32, CatalogTable>,
    /// Of each table, whether the publication of somebody else had all columns of it.
    whole: HashMap<u32, bool>,
}

impl Asked {
    /// Asks of those relations that are mapped themselves. One that others may not see yet as the transaction left it is left to
    /// its turn, which waits.
    pub(super) fn of<P: Peer>(
        relations: &[Relation<'_>],
        is_mapped: impl Fn(u32) -> bool,
        writer: u32,
        unseen: &mut Unseen,
        server: &Server,
        side: &mut Side<P>,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let mut oids = Vec::with_capacity(relations.len());
        for relation in relations {
            if is_mapped(relation.oid) && unseen.is_seen(side, writer, relation.oid)? {
                oids.push(relation.oid);
            }
        }
        let tables = catalog::tables_numbered(side, &oids)?;
        let whole: HashSet<u32> = match &settings.publication {
            Publication::Managed(_) => HashSet::new(),
            Publication::Given(given) => publication::having_all_columns(side, server, given, &oids, writer)?,
        };
        let whole = oids.into_iter().map(|oid| (oid, whole.contains(&oid))).collect();
        Ok(Self { tables, whole })
    }

    /// A table, once.
    pub(super) fn take(&mut self, oid: u32) -> Option<CatalogTable> {
        self.tables.remove(&oid)
    }

    /// Whether the publication of somebody else had all columns of a table.
    pub(super) fn is_whole(&self, oid: u32) -> Option<bool> {
        self.whole.get(&oid).copied()
    }
}
