//! A table as it is replicated: the batch's view of it, and how each of its cells is decoded.

use tarn_batch::{Column, Table};

use crate::attributes::Attributes;
use crate::catalog::{CatalogColumn, CatalogTable};
use crate::publication::PublishedTable;
use crate::sent_value::SentDecoder;
use crate::settings::MappedTable;
use crate::type_catalog::{TypeKey, Types};
use crate::value::Decoder;

/// A table with a decoder for each of its columns, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapped {
    pub(crate) table: Table,
    pub(crate) decoders: Vec<Decoder>,
    /// The same for the binary form of COPY; nothing where a column has only a text that is sure.
    pub(crate) sent: Option<Vec<SentDecoder>>,
}

impl Mapped {
    /// The table as the catalog has it. The types of [`wanted_types`] must have been looked up.
    pub(crate) fn from_catalog(
        catalog: &CatalogTable,
        mapping: &MappedTable,
        published: Option<&PublishedTable>,
        types: &Types,
    ) -> Self {
        let columns = replicated(catalog, mapping, published).map(|column| {
            let column_type = types.get((column.type_oid, column.type_modifier));
            let described = Column {
                name: column.name.clone(),
                data_type: column_type.data_type.clone(),
                type_name: column_type.name.clone(),
                nullable: !column.not_null,
                key: column.key,
                attribute: column.attribute,
            };
            (described, column_type.decoder.clone())
        });
        let (columns, decoders) = columns.unzip();
        let sent = replicated(catalog, mapping, published)
            .map(|column| types.get((column.type_oid, column.type_modifier)).sent.clone())
            .collect();
        Self { sent, ..Self::new(catalog.oid, mapping, columns, decoders) }
    }

    /// The table as the stream describes it, which has text.
    pub(crate) fn new(id: u32, mapping: &MappedTable, columns: Vec<Column>, decoders: Vec<Decoder>) -> Self {
        let version = version(&columns);
        let (schema, name) = (mapping.name.schema.clone(), mapping.name.name.clone());
        Self { table: Table { id, schema, name, version, columns }, decoders, sent: None }
    }

    /// The columns that identify a row, in the order of the key.
    pub(crate) fn key(&self) -> Vec<usize> {
        self.table.key_columns()
    }
}

/// The types of a table's replicated columns.
pub(crate) fn wanted_types<'a>(
    catalog: &'a CatalogTable,
    mapping: &'a MappedTable,
    published: Option<&'a PublishedTable>,
) -> impl Iterator<Item = TypeKey> + 'a {
    replicated(catalog, mapping, published).map(|column| (column.type_oid, column.type_modifier))
}

/// The numbers of a table's replicated columns.
pub(crate) fn attributes(
    catalog: &CatalogTable,
    mapping: &MappedTable,
    published: Option<&PublishedTable>,
) -> Attributes {
    replicated(catalog, mapping, published).map(|column| column.attribute).collect()
}

/// The columns that the stream has and the mirror wants. Generated columns are not in the stream unless
/// a publication says so, and a snapshot must not have what the stream lacks (B070).
fn replicated<'a>(
    catalog: &'a CatalogTable,
    mapping: &'a MappedTable,
    published: Option<&'a PublishedTable>,
) -> impl Iterator<Item = &'a CatalogColumn> + 'a {
    let listed = published.and_then(|published| published.columns.as_ref());
    catalog.columns.iter().filter(move |column| {
        let in_stream = match listed {
            Some(listed) => listed.contains(&column.name),
            None => !column.generated,
        };
        in_stream && !mapping.exclude.contains(&column.name)
    })
}

/// A number that equal columns have in every instance and after every restart, and other columns have
/// not: a 32-bit FNV-1a hash of all that a batch says of them.
fn version(columns: &[Column]) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
        hash = (hash ^ 0xFF).wrapping_mul(0x0100_0193);
    };
    for column in columns {
        add(column.name.as_bytes());
        add(column.type_name.as_bytes());
        add(&[column.data_type.tag(), u8::from(column.nullable)]);
        add(&column.key.to_le_bytes());
        add(&column.attribute.to_le_bytes());
    }
    // 0 reads as "no version".
    hash.max(1)
}

#[cfg(test)]
mod tests {
    use tarn_batch::Type;

    use super::*;

    fn columns() -> Vec<Column> {
        ["a", "b"]
            .map(|name| Column {
                name: name.to_owned(),
                data_type: Type::Text,
                type_name: "text".to_owned(),
                nullable: true,
                key: 0,
                attribute: 1,
            })
            .to_vec()
    }

    #[test]
    fn equal_columns_have_equal_versions_and_others_do_not() {
        assert_eq!(version(&columns()), version(&columns()));
        let changes: [fn(&mut Vec<Column>); 6] = [
            |columns| columns[0].name = "A".to_owned(),
            |columns| columns[0].type_name = "character varying(3)".to_owned(),
            |columns| columns[0].nullable = false,
            |columns| columns[0].key = 1,
            // B091: dropped and added again by the same name and type.
            |columns| columns[0].attribute = 7,
            |columns| columns.swap(0, 1),
        ];
        for change in changes {
            let mut changed = columns();
            change(&mut changed);
            assert_ne!(version(&columns()), version(&changed));
        }
    }
}
