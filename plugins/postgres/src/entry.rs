//! When a table that is loaded beside the stream came into the publication.
//!
//! The stream may be behind that, and have changes of the table from when it was in the mirror before: removed, and added
//! again. What happened to the table in between is in no stream, and the load has all of it. So changes by transactions
//! that are older than the table's entry must not be delivered: a row that one of them wrote, and that was deleted in
//! between, would stay. They are in the load too, for it begins once all of them have ended ([`crate::added`]); and a
//! transaction that is younger has nothing from before the entry.

use std::collections::HashMap;

use tarn_sdk::Failure;
use tarn_sdk::sql::postgres::literal;

use crate::lsn::Lsn;
use crate::peer::{Reads, number, text};
use crate::server::log_end;
use crate::table_name::TableName;

/// A table's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The transaction that added the table, the lower 32 bits of its number.
    pub(crate) transaction: u32,
    /// All older transactions have ended before this place: behind it, numbers say nothing.
    pub(crate) until: Lsn,
}

impl Entry {
    /// Whether a transaction is older than the entry.
    #[inline]
    pub(crate) fn is_after(&self, transaction: u32, commit: Lsn) -> bool {
        // Numbers go around (B163).
        commit < self.until && transaction.wrapping_sub(self.transaction).cast_signed() < 0
    }

    /// The later one of two entries of a table.
    pub(crate) fn or_later(self, other: Option<Self>) -> Self {
        other
            .filter(|other| other.transaction.wrapping_sub(self.transaction).cast_signed() > 0)
            .unwrap_or(self)
    }
}

/// The entries of a publication's tables, all of whose older transactions have ended.
pub(crate) fn entries(
    reads: &mut impl Reads,
    publication: &str,
) -> Result<HashMap<TableName, Entry>, Failure> {
    let rows = reads.read(&format!(
        "SELECT n.nspname, c.relname, r.xmin
         FROM pg_catalog.pg_publication AS p
         JOIN pg_catalog.pg_publication_rel AS r ON r.prpubid = p.oid
         JOIN pg_catalog.pg_class AS c ON c.oid = r.prrelid
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
         WHERE p.pubname = {}
           AND pg_catalog.age(r.xmin) > pg_catalog.age(pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::xid)",
        literal(publication)
    ))?;
    let until = log_end(reads)?.lsn;
    let entry = |row| {
        let name = TableName::new(text(row, 0)?, text(row, 1)?);
        Ok((name, Entry { transaction: number(row, 2)?, until }))
    };
    rows.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_transactions_are_told_by_number_and_only_up_to_the_place() {
        let entry = Entry { transaction: 5, until: Lsn(100) };
        assert!(entry.is_after(4, Lsn(99)));
        // B163: numbers go around.
        assert!(entry.is_after(u32::MAX, Lsn(99)));
        assert!(!entry.is_after(6, Lsn(99)));
        assert!(!entry.is_after(4, Lsn(100)));
        let later = Entry { transaction: 9, until: Lsn(90) };
        assert_eq!((entry.or_later(Some(later)), later.or_later(Some(entry))), (later, later));
        assert_eq!(entry.or_later(None), entry);
    }
}
