//! Columns that are left out, because it cannot be told which ones of the table they are.
//!
//! Their table is read again, from behind the last change that lacks them. Whether a later transaction's are told is asked of
//! the server only where that may be: a long list of small transactions is caught up with as fast as any other.

use tarn_sdk::log;

use super::succession::compare;
use crate::catalog::CatalogTable;
use crate::mark::{Again, Marks};
use crate::table_name::TableName;

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Doubt {
    /// The columns' names, as the message has them.
    columns: Vec<String>,
    /// The transaction with whose number they could not be told; none where another description will tell.
    writer: Option<u32>,
    /// The transactions that defined or dropped columns, by whose numbers they could be.
    changes: Vec<u32>,
    /// Whether its table's reading has begun since: it lacks what is left out from then on, and the host was told of all columns.
    pub(super) is_read: bool,
}

impl Doubt {
    pub(super) fn new(columns: Vec<String>, writer: Option<u32>, catalog: &CatalogTable) -> Self {
        let dropped = catalog.dropped.iter().map(|dropped| dropped.dropped_by);
        let defined = catalog.columns.iter().map(|column| column.defined_by);
        let mut changes: Vec<u32> = dropped.chain(defined).collect();
        changes.sort_unstable();
        changes.dedup();
        Self { columns, writer, changes, is_read: false }
    }

    /// Whether the numbers of later transactions may tell.
    pub(super) fn may_end(&self) -> bool {
        self.writer.is_some()
    }

    /// Whether another transaction's number tells no more than the one that was asked with: no change of a column was by a
    /// transaction between the two, nor by either of them.
    pub(super) fn holds_for(&self, writer: u32) -> bool {
        self.writer.is_some_and(|asked| {
            let is_alike =
                |change: &u32| *change != writer && compare(*change, asked) == compare(*change, writer);
            asked == writer || self.changes.iter().all(is_alike)
        })
    }

    /// Has the table read again.
    pub(super) fn have_read(&self, marks: &mut Marks, name: &TableName) {
        let Some(mark) = marks.get_mut(name) else { return };
        if mark.again != Again::Due {
            log::warn(&format!(
                "a column of {name} was dropped, and another one made in its place, while the stream was behind: to which of \
                 the two values belong cannot be told. Values of {} are left out until the rows are read again, beside the \
                 stream",
                self.columns.join(", ")
            ));
        }
        // A reading that has begun lacks what is left out from here on.
        mark.read_again(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{CatalogColumn, fixture};

    #[test]
    fn a_doubt_holds_for_transactions_that_no_change_of_a_column_is_between() {
        let column = |number, defined_by| CatalogColumn { defined_by, ..fixture::column(number, "c") };
        let mut catalog = fixture::table([column(1, 500), column(3, 1010)]);
        catalog.dropped = vec![fixture::dropped(2, 1000)];
        let doubt = |writer| Doubt::new(vec!["a".to_owned()], Some(writer), &catalog);
        for (asked, alike, other) in [
            (900, &[501, 899, 900, 901, 999][..], &[499, 500, 1000, 1001, 1011][..]),
            (1000, &[1000], &[999, 1001]),
            (1005, &[1001, 1009], &[1000, 1010, 900]),
            (1010, &[1010], &[1009, 1011]),
            (2000, &[1011, 3000], &[1010, 1000]),
        ] {
            assert!(alike.iter().all(|writer| doubt(asked).holds_for(*writer)), "{asked}");
            assert!(!other.iter().any(|writer| doubt(asked).holds_for(*writer)), "{asked}");
        }
        assert!(!Doubt::new(Vec::new(), None, &catalog).holds_for(900));
    }
}
