//! A relation as its message and the catalog say of it together.

use tarn_batch::{Column, Table};
use tarn_sdk::Failure;

use super::doubt::Doubt;
use super::numbers::Known;
use super::replicated::{Cell, Replicated};
use crate::attributes::Attributes;
use crate::catalog::{CatalogTable, Kind};
use crate::mapped::Mapped;
use crate::mark::Mark;
use crate::pgoutput::{Relation, RelationColumn};
use crate::publication::narrowed;
use crate::settings::MappedTable;
use crate::type_catalog::Types;

/// What is known of a relation beside its message.
pub(super) struct Described<'a> {
    pub(super) catalog: Option<&'a CatalogTable>,
    /// What was known of the table before this message.
    pub(super) before: Option<&'a Table>,
    /// The partitioned table that it is a partition of, as its own message described it. The server sends that one first.
    pub(super) root: Option<&'a Table>,
    /// The columns that the stream last said it has.
    pub(super) delivered: &'a Attributes,
    /// The columns that were generated when that was last looked at, and those of before that are gone.
    pub(super) generated: &'a Attributes,
    /// Those of them that are stored by now, and may not have been delivered since.
    pub(super) stored: &'a Attributes,
    /// Whether the publication is one that leaves no column out but generated ones.
    pub(super) is_whole: bool,
    /// The transaction whose rows follow.
    pub(super) writer: Option<u32>,
    /// Whether columns may be left out of rows that are read again.
    pub(super) leaves_out: bool,
}

impl Described<'_> {
    /// The relation as it is replicated. The types of its columns must have been looked up.
    pub(super) fn replicated(
        &self,
        relation: &Relation<'_>,
        columns: &[RelationColumn<'_>],
        mapping: &MappedTable,
        types: &Types,
    ) -> Result<Replicated, Failure> {
        let mut batch_columns = Vec::with_capacity(columns.len());
        let mut decoders = Vec::with_capacity(columns.len());
        let mut cells = Vec::with_capacity(columns.len());
        // A partition has numbers of its own.
        let own = self.catalog.filter(|catalog| catalog.oid == relation.oid);
        let known = own.map(|catalog| Known {
            catalog,
            before: self.before,
            delivered: self.delivered,
            generated: self.generated,
            stored: self.stored,
            excluded: &mapping.exclude,
            is_whole: self.is_whole,
            writer: self.writer,
        });
        let told = known.as_ref().map(|known| known.numbers(columns));
        let in_doubt = known.filter(|_| told == Some(None));
        let certain =
            in_doubt.map(|known| self.certain(&known, columns.len()).ok_or_else(|| unclear(mapping)));
        let certain = certain.transpose()?;
        let numbers = told.flatten();
        for (at, column) in columns.iter().enumerate() {
            // B098: excluded by name, in every version.
            if mapping.exclude.iter().any(|excluded| excluded == column.name) {
                cells.push(Cell::Excluded);
                continue;
            }
            if certain.as_ref().is_some_and(|certain| at >= certain.len()) {
                cells.push(Cell::Excluded);
                continue;
            }
            let column_type = types.get((column.type_oid, column.type_modifier));
            // The catalog may be ahead of a partition's message, but not of its table's.
            let of_root = || self.root?.columns.iter().find(|known| known.name == column.name);
            let number = match certain.as_ref().or(numbers.as_ref()) {
                Some(numbers) => Some(numbers[at]),
                None => of_root().map(|known| known.attribute).filter(|number| *number != 0),
            };
            let (attribute, nullable, key) = self.place(column, number, relation, batch_columns.len());
            batch_columns.push(Column {
                name: column.name.to_owned(),
                data_type: column_type.data_type.clone(),
                type_name: column_type.name.clone(),
                nullable,
                key,
                attribute,
            });
            decoders.push(column_type.decoder.clone());
            cells.push(Cell::Decoded { decoder: column_type.decoder.clone(), in_key: key != 0 });
        }
        if batch_columns.iter().all(|column| column.key == 0) {
            let message = "the table has no primary key or replica identity index any more";
            let sql = mapping.name.sql();
            // Another key does not help where the server is told to look for none, or for an index that is gone.
            let hint = match relation.identity {
                b'i' | b'n' => format!(
                    "ALTER TABLE {sql} REPLICA IDENTITY DEFAULT where it has a primary key, or REPLICA IDENTITY USING INDEX … \
                     with a unique index of NOT NULL columns; then resume the mirror"
                ),
                _ => format!("ALTER TABLE {sql} ADD PRIMARY KEY, then resume the mirror"),
            };
            return Err(Failure::permanent("key_missing", message)
                .with_hint(hint)
                .with_table(mapping.name.to_string()));
        }
        let id = self.catalog.map_or(relation.oid, |catalog| catalog.oid);
        let mapped = Mapped::new(id, mapping, batch_columns, decoders);
        let mut replicated = Replicated::new(relation.oid, mapped, cells, mapping);
        replicated.doubt = self.catalog.zip(certain).map(|(catalog, certain)| {
            let in_doubt = columns.iter().skip(certain.len()).map(|column| column.name.to_owned());
            Doubt::new(in_doubt.collect(), self.writer, catalog)
        });
        Ok(replicated)
    }

    /// The numbers of the first columns of a message where those of all are in doubt, if the key is among them and the other
    /// values are brought by reading the table again.
    fn certain(&self, known: &Known<'_>, columns: usize) -> Option<Vec<i32>> {
        let certain = known.certain();
        let mut key = known.catalog.columns.iter().filter(|column| column.key != 0);
        let has_key = key.all(|column| certain.contains(&column.attribute));
        let is_brought = self.leaves_out && known.catalog.kind == Kind::Ordinary;
        (is_brought && has_key && known.catalog.has_key() && certain.len() <= columns).then_some(certain)
    }

    /// A column that the stream had and the table still has may only be missing where the publication leaves
    /// it out. Nothing is said where the message is from a time whose names the catalog does not have any more.
    pub(super) fn require_columns(
        &self,
        replicated: &Replicated,
        mapping: &MappedTable,
        mark: &Mark,
        publication: &str,
    ) -> Result<(), Failure> {
        let (Some(catalog), Some(described)) = (self.catalog, replicated.attributes()) else { return Ok(()) };
        let left_out = catalog.columns.iter().filter(|column| {
            mark.delivered.contains(column.attribute)
                && !described.contains(column.attribute)
                // The mirror itself may leave it out by now.
                && !mapping.exclude.contains(&column.name)
        });
        let left_out: Vec<&str> = left_out.map(|column| column.name.as_str()).collect();
        if left_out.is_empty() {
            return Ok(());
        }
        Err(narrowed(publication, &replicated.name(), &left_out))
    }

    /// A column's attribute number, whether it may be NULL, and its place in the key. The message has
    /// none of these. The catalog has them as of now, which may be later than the message: a column it
    /// does not have any more keeps what was known of it.
    fn place(
        &self,
        column: &RelationColumn<'_>,
        number: Option<i32>,
        relation: &Relation<'_>,
        index: usize,
    ) -> (i32, bool, u16) {
        let same = |attribute: i32, name: &str| match number {
            Some(number) => attribute == number,
            None => name == column.name,
        };
        let found = |catalog: &&CatalogTable| catalog.columns.iter().position(|c| same(c.attribute, &c.name));
        if let Some((catalog, at)) = self.catalog.and_then(|catalog| Some((catalog, found(&catalog)?))) {
            let found = &catalog.columns[at];
            return (found.attribute, !found.not_null, found.key);
        }
        let mut before = self.before.into_iter().flat_map(|before| &before.columns);
        let known = |found: &&Column| number != Some(0) && same(found.attribute, &found.name);
        if let Some(found) = before.find(known) {
            return (found.attribute, found.nullable, found.key);
        }
        let in_key = column.in_key && relation.identity != b'f';
        let place = u16::try_from(index + 1).unwrap_or(u16::MAX);
        (number.unwrap_or(0), !in_key, if in_key { place } else { 0 })
    }
}

/// Nothing that the server sends, and nothing that it keeps, tells two columns apart.
fn unclear(mapping: &MappedTable) -> Failure {
    let message = "a column was dropped, and another one made in its place, while the stream was behind: to which of the \
                   two values belong cannot be told";
    Failure::permanent("columns_unclear", message)
        .with_hint("resync the mirror, or edit the table out of it and add it again")
        .with_table(mapping.name.to_string())
}
