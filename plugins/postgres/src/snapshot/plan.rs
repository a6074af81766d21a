//! Cutting tables into partitions, by the size of their files and without counting rows.
//!
//! PostgreSQL reads ranges of row addresses as ranges since 14. A table of 13 is cut at keys where these go with the
//! places of its rows ([`super::key_range`]), and is read whole where they do not.

use tarn_sdk::Failure;
use tarn_sdk::postgres::Row;
use tarn_sdk::sql::postgres::{literal, qualified};

use super::key_range;
use super::partition::Partition;
use crate::config::{
    ADDRESS_RANGES_SINCE_MAJOR, PARTITION_BYTES_MIN, PARTITIONS_MAX, ROWS_PER_BLOCK_GUESS, SAMPLE_BLOCKS,
};
use crate::peer::{Peer, number, text};
use crate::server::Server;
use crate::settings::MappedTable;
use crate::side::Side;
use crate::surroundings::{changed, meanwhile};

/// A relation with rows of its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Leaf {
    pub(super) oid: u32,
    pub(super) sql: String,
    pub(super) file: u32,
    pub(super) bytes: u64,
    pub(super) block_bytes: u64,
    /// Rows as of the last analysis; not positive when there was none.
    pub(super) rows: f64,
}

impl Leaf {
    pub(super) fn blocks(&self) -> u64 {
        self.bytes.div_ceil(self.block_bytes.max(1))
    }
}

/// What a plan is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The table, as the host names it.
    pub(crate) table: &'a str,
    /// About how many rows a range has.
    pub(crate) rows: u64,
    /// How many workers there are.
    pub(crate) parallel: u32,
}

/// Cuts a table into ranges of about `rows` rows, at least `parallel` where it is large. A partitioned
/// table is cut by its leaves (B119); an empty one is nothing to read (B230).
pub(crate) fn plan<P: Peer>(
    side: &mut Side<P>,
    server: &Server,
    mapping: &MappedTable,
    key: &[String],
    request: &Request<'_>,
) -> Result<Vec<Partition>, Failure> {
    let Request { table, rows, parallel } = *request;
    let leaves = leaves(side, mapping)?;
    let total_bytes: u64 = leaves.iter().map(|leaf| leaf.bytes).sum();
    let mut partitions = Vec::new();
    for leaf in leaves.iter().filter(|leaf| leaf.bytes > 0) {
        let has_ranges = server.major() >= ADDRESS_RANGES_SINCE_MAJOR;
        let estimate = if has_ranges { estimate(side, leaf)? } else { estimate_by_sample(side, leaf)? };
        let count = count(leaf, estimate, rows, share(parallel, leaf.bytes, total_bytes));
        if has_ranges || count == 1 {
            partitions.extend(cut(table, leaf, count));
            continue;
        }
        match key_range::cut(side, leaf, key, count)? {
            Some(ranges) => {
                let of_keys = |keys| Partition::of_keys(table, leaf.oid, leaf.file, keys);
                partitions.extend(ranges.into_iter().map(of_keys));
            }
            None => partitions.extend(cut(table, leaf, 1)),
        }
    }
    Ok(partitions)
}

fn leaves<P: Peer>(side: &mut Side<P>, mapping: &MappedTable) -> Result<Vec<Leaf>, Failure> {
    let rows = side.read(&format!(
        "SELECT c.oid, n.nspname, c.relname, pg_catalog.pg_relation_filenode(c.oid),
                pg_catalog.pg_relation_size(c.oid), current_setting('block_size'), c.reltuples
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind = 'r' AND c.oid IN (
           SELECT r.oid FROM pg_catalog.pg_class r JOIN pg_catalog.pg_namespace s ON s.oid = r.relnamespace
           WHERE s.nspname = {schema} AND r.relname = {name}
           UNION ALL
           SELECT t.relid FROM pg_catalog.pg_class r JOIN pg_catalog.pg_namespace s ON s.oid = r.relnamespace,
                  LATERAL pg_catalog.pg_partition_tree(r.oid) AS t
           WHERE s.nspname = {schema} AND r.relname = {name} AND r.relkind = 'p' AND t.isleaf)
         ORDER BY c.oid",
        schema = literal(&mapping.name.schema),
        name = literal(&mapping.name.name)
    ))?;
    let is_there = |row: &Row| row[3..5].iter().all(Option::is_some);
    if !rows.iter().all(is_there) {
        return Err(
            changed("a relation that was to be read was dropped").with_table(mapping.name.to_string())
        );
    }
    rows.iter()
        .map(|row| {
            Ok(Leaf {
                oid: number(row, 0)?,
                sql: qualified(text(row, 1)?, text(row, 2)?),
                file: number(row, 3)?,
                bytes: number(row, 4)?,
                block_bytes: number::<u64>(row, 5)?.max(1),
                rows: number(row, 6)?,
            })
        })
        .collect()
}

/// About how many rows a leaf has.
fn estimate<P: Peer>(side: &mut Side<P>, leaf: &Leaf) -> Result<u64, Failure> {
    if leaf.rows > 0.0 {
        return Ok(leaf.rows as u64);
    }
    // Never analysed: the first blocks tell how dense it is.
    let blocks = leaf.blocks().clamp(1, SAMPLE_BLOCKS);
    let counted = side
        .read(&format!("SELECT count(*) FROM ONLY {} AS t WHERE t.ctid < '({blocks},0)'::tid", leaf.sql))
        .map_err(meanwhile)?;
    let sampled: u64 = counted.first().map_or(Ok(0), |row| number(row, 0))?;
    let per_block = if sampled == 0 { ROWS_PER_BLOCK_GUESS } else { sampled.div_ceil(blocks) };
    Ok(per_block.saturating_mul(leaf.blocks()))
}

/// The same where a condition on row addresses would read everything.
fn estimate_by_sample<P: Peer>(side: &mut Side<P>, leaf: &Leaf) -> Result<u64, Failure> {
    if leaf.rows > 0.0 {
        return Ok(leaf.rows as u64);
    }
    let percent = key_range::sampled_percent(leaf);
    let counted = side
        .read(&format!("SELECT count(*) FROM ONLY {} AS t TABLESAMPLE SYSTEM ({percent})", leaf.sql))
        .map_err(meanwhile)?;
    let sampled: u64 = counted.first().map_or(Ok(0), |row| number(row, 0))?;
    if sampled == 0 {
        return Ok(ROWS_PER_BLOCK_GUESS.saturating_mul(leaf.blocks()));
    }
    Ok((sampled as f64 * 100.0 / percent) as u64)
}

/// How many of the workers should be busy with a leaf.
fn share(parallel: u32, bytes: u64, total_bytes: u64) -> u64 {
    (u64::from(parallel).saturating_mul(bytes)).div_ceil(total_bytes.max(1))
}

/// Into how many ranges a leaf is cut.
fn count(leaf: &Leaf, estimate: u64, rows: u64, share: u64) -> u64 {
    let by_rows = estimate.div_ceil(rows.max(1));
    let by_workers = share.min(leaf.bytes / PARTITION_BYTES_MIN);
    by_rows.max(by_workers).clamp(1, leaf.blocks().clamp(1, PARTITIONS_MAX))
}

/// Ranges of equally many blocks. The last has no upper end: rows that came after the plan are in it.
fn cut(table: &str, leaf: &Leaf, count: u64) -> Vec<Partition> {
    let blocks = leaf.blocks();
    // A file has fewer than 2^32 blocks.
    let start = |index: u64| u32::try_from(blocks * index / count).unwrap_or(u32::MAX);
    (0..count)
        .map(|index| {
            let to = (index + 1 < count).then(|| start(index + 1));
            Partition::new(table, leaf.oid, leaf.file, start(index), to)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(blocks: u64) -> Leaf {
        Leaf { oid: 1, sql: String::new(), file: 1, bytes: blocks * 8192, block_bytes: 8192, rows: -1.0 }
    }

    #[test]
    fn ranges_meet_and_the_last_is_open_upward() {
        for (blocks, count) in [(1, 1), (10, 3), (1_000_000, 7)] {
            let ranges = cut("public.t", &leaf(blocks), count);
            assert_eq!(ranges.len() as u64, count);
            assert_eq!(ranges[0].from, 0);
            for pair in ranges.windows(2) {
                assert_eq!(pair[0].to, Some(pair[1].from));
                assert!(pair[0].from < pair[1].from);
            }
            assert_eq!(ranges.last().expect("a range").to, None);
        }
    }

    #[test]
    fn tables_are_cut_by_rows_and_large_ones_for_the_workers_too() {
        assert_eq!(count(&leaf(1), 100, 1_000_000, 4), 1);
        assert_eq!(count(&leaf(100_000), 10_000_000, 1_000_000, 4), 10);
        assert_eq!(count(&leaf(100_000), 10_000, 1_000_000, 4), 4);
        // Never more ranges than blocks, or than the host keeps.
        assert_eq!(count(&leaf(3), 1_000, 1, 4), 3);
        assert_eq!(count(&leaf(1 << 32), 1 << 40, 1, 4), PARTITIONS_MAX);
        assert_eq!(count(&leaf(10), 100, 0, 0), 10);
    }

    #[test]
    fn workers_are_shared_by_size() {
        assert_eq!(share(4, 100, 100), 4);
        assert_eq!(share(4, 1, 1000), 1);
        assert_eq!(share(0, 1, 0), 0);
    }
}
