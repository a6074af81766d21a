//! How many rows tables have: counted where that is quick enough, else the server's own guess.

use tarn_sdk::inspection::RowCount;
use tarn_sdk::sql::postgres::literal;
use tarn_sdk::{Failure, clock};

use super::{CANCELED, ask, limit};
use crate::catalog::{self, CatalogTable, Kind};
use crate::config::{COUNTED_BYTES_MAX, LOOK_UP_MS_MIN};
use crate::peer::{Peer, number, single};
use crate::side::Side;
use crate::table_name::TableName;

/// Counts tables one after the other. Each may take an equal part of the time that is left; what its
/// predecessors did not need is its own.
pub(super) fn count<P: Peer>(
    side: &mut Side<P>,
    tables: &[String],
    within_ms: u32,
) -> Result<Vec<RowCount>, Failure> {
    let began = clock::monotonic();
    limit(side, look_up_ms(within_ms))?;
    let names: Vec<Option<TableName>> = tables.iter().map(|table| TableName::parse(table)).collect();
    let found = catalog::tables_named(side, names.iter().flatten())?;
    let mut counts = Vec::with_capacity(tables.len());
    for (at, (table, name)) in tables.iter().zip(&names).enumerate() {
        let spent_ms = u32::try_from((clock::monotonic() - began) / 1000).unwrap_or(u32::MAX);
        let left = u32::try_from(tables.len() - at).unwrap_or(u32::MAX);
        // 0 would be no limit.
        let share_ms = if within_ms == 0 { 0 } else { (within_ms.saturating_sub(spent_ms) / left).max(1) };
        let counted = match name.as_ref().and_then(|name| found.get(name)) {
            Some(known) => {
                limit(side, look_up_ms(within_ms))?;
                count_one(side, known, share_ms)?
            }
            None => Counted::default(),
        };
        counts.push(RowCount { table: table.clone(), rows: counted.rows, approximate: counted.approximate });
    }
    Ok(counts)
}

/// What the catalog may take: a guess is worth little time more than there is.
fn look_up_ms(within_ms: u32) -> u32 {
    if within_ms == 0 { 0 } else { within_ms.max(LOOK_UP_MS_MIN) }
}

#[derive(Default)]
struct Counted {
    rows: Option<u64>,
    approximate: bool,
}

fn count_one<P: Peer>(side: &mut Side<P>, table: &CatalogTable, share_ms: u32) -> Result<Counted, Failure> {
    let guess = guess(side, table)?;
    if guess.bytes <= COUNTED_BYTES_MAX {
        limit(side, share_ms)?;
        // What inherits from a table is another table, but what is a partition of one is that table.
        let only = if table.kind == Kind::Partitioned { "" } else { "ONLY " };
        let rows = side.read(&format!("SELECT count(*) FROM {only}{}", table.name.sql()));
        match rows {
            Ok(rows) => {
                let rows = number(&single(rows, "a count")?, 0)?;
                return Ok(Counted { rows: Some(rows), approximate: false });
            }
            Err(error) if error.sqlstate == CANCELED => {}
            Err(error) if error.is_passing() => return Err(error.into()),
            // The role may not read it, or it was dropped just now: the others can still be counted.
            Err(_) => return Ok(Counted::default()),
        }
    }
    Ok(Counted { rows: guess.rows, approximate: guess.rows.is_some() })
}

/// What the server knows of a table without reading it.
struct Guess {
    bytes: u64,
    /// As of the last analysis; `None` where there was none.
    rows: Option<u64>,
}

fn guess<P: Peer>(side: &mut Side<P>, table: &CatalogTable) -> Result<Guess, Failure> {
    let rows = ask(
        side,
        &format!(
            "SELECT coalesce(sum(pg_catalog.pg_relation_size(c.oid)), 0)::bigint,
                    coalesce(sum(c.reltuples) FILTER (WHERE c.reltuples >= 0), -1)::bigint
             FROM pg_catalog.pg_class c
             WHERE c.oid = {oid}::oid AND c.relkind <> 'p'
                OR c.relkind <> 'p' AND c.oid IN (
                     SELECT part.relid FROM pg_catalog.pg_partition_tree({oid}::oid::regclass) part)",
            oid = literal(&table.oid.to_string())
        ),
    )?;
    let row = single(rows, "a size")?;
    let rows: i64 = number(&row, 1)?;
    Ok(Guess { bytes: number(&row, 0)?, rows: u64::try_from(rows).ok() })
}
