//! Which column of the source a column of a target holds, kept in the column's comment.
//!
//! Names change hands: a column is renamed, two swap their names, one is dropped and another made under
//! its name (B091). The source's numbers do not. Kept with the column they outlive the process, so that
//! a change is understood also when it happened while nobody looked, and when it is delivered twice.

use std::fmt;

use tarn_batch::{Column, Table};

/// The source's numbers for a table and its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    table: u32,
    attribute: i32,
}

/// What the comment begins with.
const MARK: &str = "tarn: ";

impl Origin {
    /// The origin of a source's column; `None` where the source numbers no columns.
    pub(crate) fn new(table: &Table, column: &Column) -> Option<Self> {
        (column.attribute != 0).then_some(Self { table: table.id, attribute: column.attribute })
    }

    /// The origin that a comment tells of.
    pub(crate) fn parse(comment: &str) -> Option<Self> {
        let (table, attribute) = comment.strip_prefix(MARK)?.split_once('.')?;
        Some(Self { table: table.parse().ok()?, attribute: attribute.parse().ok()? })
    }

    /// Whether both are of one table, so that their numbers tell columns apart.
    pub(crate) fn is_beside(self, other: Self) -> bool {
        self.table == other.table
    }

    /// The name under which a column whose name went to another one is kept.
    pub(crate) fn aside(self, name: &str) -> String {
        format!("{name}_dropped_{}", self.attribute)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK}{}.{}", self.table, self.attribute)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_reads_as_it_prints_and_other_comments_are_none() {
        let origin = Origin { table: 16_384, attribute: 3 };
        assert_eq!(Origin::parse(&origin.to_string()), Some(origin));
        for comment in ["", "the user's name", "tarn: x.3", "tarn: 3"] {
            assert_eq!(Origin::parse(comment), None);
        }
    }
}
