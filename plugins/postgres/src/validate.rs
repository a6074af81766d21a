//! Everything that would keep the mirror from running, found before it runs and all at once.

mod access;
mod server;
mod tables;

use tarn_sdk::{Failure, Problem};

use crate::catalog;
use crate::partitions;
use crate::peer::Peer;
use crate::publication;
use crate::publication::lacks::Lacks;
use crate::server::Server;
use crate::settings::{Publication, Settings};
use crate::side::Side;

/// All findings, the server's first.
pub(crate) fn validate<P: Peer>(
    side: &mut Side<P>,
    server: &Server,
    settings: &Settings,
) -> Result<Vec<Problem>, Failure> {
    let mut problems = server::check(side, server, settings)?;
    for (index, text) in &settings.unreadable {
        let message = format!("{text:?} is not the name of a table with its schema");
        problems.push(Problem::new(path(*index), message).with_hint("write schema.table"));
    }
    let names = settings.tables.iter().map(|table| &table.name);
    let found = catalog::tables_named(side, names)?;
    let published = match &settings.publication {
        Publication::Managed(_) => None,
        Publication::Given(name) => Some((name, publication::tables(side, server, name)?)),
    };
    let access = access::read(side, settings)?;
    for other in partitions::identities(side, server, found.values())? {
        if let Some(mapping) = settings.table(&other.table) {
            problems.push(Problem::new(path(mapping.index), other.message()).with_hint(other.remedy()));
        }
    }
    for unlogged in partitions::unlogged(side, server, found.values())? {
        if let Some(mapping) = settings.table(&unlogged.table) {
            problems.push(Problem::new(path(mapping.index), unlogged.message()).with_hint(unlogged.remedy()));
        }
    }
    for mapping in &settings.tables {
        let Some(table) = found.get(&mapping.name) else {
            let message = format!("table {} does not exist", mapping.name);
            problems.push(Problem::new(path(mapping.index), message).with_hint("names are case-sensitive"));
            continue;
        };
        problems.extend(tables::check(mapping, table));
        if let Some(access) = access.get(&mapping.name) {
            problems.extend(access::check(mapping, table, access, settings));
        }
        if let Some((publication, published)) = &published
            && !published.contains_key(&mapping.name)
            && let Some(Lacks { message, remedy }) = Lacks::find(side, publication, &mapping.name, published)?
        {
            problems.push(Problem::new(path(mapping.index), message).with_hint(remedy));
        }
    }
    Ok(problems)
}

/// The field of a mapping's table.
fn path(index: usize) -> String {
    format!("table_mappings[{index}].source_table_identifier")
}

/// The field of a mapping's excluded columns.
fn exclude_path(index: usize) -> String {
    format!("table_mappings[{index}].exclude")
}
