//! Tables for unit tests.

use super::{CatalogColumn, CatalogTable, Dropped, Earlier, Identity, Kind, Layout};
use crate::table_name::TableName;

/// How integers lie in rows.
const INTEGER: Layout = Layout { length: 4, alignment: 'i', type_modifier: -1 };

/// An integer that may be NULL, in no key.
pub(crate) fn column(attribute: i32, name: &str) -> CatalogColumn {
    CatalogColumn {
        attribute,
        name: name.to_owned(),
        type_oid: 23,
        type_modifier: -1,
        layout: INTEGER,
        written_by: 43,
        not_null: false,
        generated: false,
        defined_by: 0,
        defined_at: None,
        default_by: None,
        earlier: Earlier::Null,
        key: 0,
    }
}

/// An integer that was dropped by a transaction, nobody knows by which of its commands.
pub(crate) fn dropped(attribute: i32, dropped_by: u32) -> Dropped {
    Dropped { attribute, dropped_by, dropped_at: None, layout: INTEGER }
}

/// `public.t`, an ordinary table that never had another column.
pub(crate) fn table(columns: impl IntoIterator<Item = CatalogColumn>) -> CatalogTable {
    let columns: Vec<_> = columns.into_iter().collect();
    CatalogTable {
        oid: 1,
        name: TableName::new("public", "t"),
        kind: Kind::Ordinary,
        identity: Identity::Default,
        primary_key: 0,
        file: 0,
        attributes_made: columns.iter().map(|column| column.attribute).max().unwrap_or(0),
        dropped: Vec::new(),
        columns,
    }
}
