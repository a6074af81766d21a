//! Columns that the publication left out before.

use tarn_batch::Column;
use tarn_sdk::{Failure, Rereads, log};

use super::replicated::Replicated;
use crate::attributes::Attributes;
use crate::catalog::CatalogTable;
use crate::mark::Mark;
use crate::peer::Peer;
use crate::publication;
use crate::server::Server;
use crate::settings::{Publication, Settings};
use crate::side::Side;

/// Columns that are new in the stream and not in the table: they were left out of it before, so that rows of
/// the destination lack them.
pub(super) fn joined<P: Peer>(
    replicated: &Replicated,
    catalog: &CatalogTable,
    mark: &Mark,
    server: &Server,
    side: &mut Side<P>,
    settings: &Settings,
) -> Result<Attributes, Failure> {
    let delivered = &mark.columns.delivered;
    let columns = replicated.mapped.table.columns.iter();
    let new: Vec<&Column> =
        columns.filter(|column| column.attribute != 0 && !delivered.contains(column.attribute)).collect();
    if new.is_empty() || delivered.is_empty() {
        return Ok(Attributes::default());
    }
    // A column that is added has a greater number than all before it. Where the publication names columns,
    // one that it did not name says nothing by its number.
    let has_list = match &settings.publication {
        Publication::Managed(_) => false,
        Publication::Given(name) => {
            let published = publication::tables(side, server, name)?;
            published.get(&replicated.name()).is_some_and(|table| table.list.is_some())
        }
    };
    let joined = new.into_iter().filter(|column| has_list || column.attribute < delivered.greatest());
    let joined: Vec<&Column> = joined.collect();
    let is_read_again = settings.rereads == Rereads::All;
    let is_brought = |attribute: i32| {
        let now = catalog.columns.iter().find(|now| now.attribute == attribute);
        is_read_again && now.is_some_and(|now| mark.brings(now))
    };
    let stay_null = joined.iter().filter(|column| !is_brought(column.attribute));
    let names: Vec<&str> = stay_null.map(|column| column.name.as_str()).collect();
    if !names.is_empty() {
        log::warn(&format!(
            "columns of {} that were not published before are now: {}. Rows that are at the destination show NULL \
             in them until they change; resync the mirror to have all values",
            replicated.table().qualified_name(),
            names.join(", ")
        ));
    }
    Ok(joined.into_iter().map(|column| column.attribute).collect())
}
