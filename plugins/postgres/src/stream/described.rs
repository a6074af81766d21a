//! A relation as its message and the catalog say of it together.

use tarn_batch::{Column, Table};
use tarn_sdk::Failure;

use super::doubt::Doubt;
use super::leaf::Leaf;
use super::numbers::Known;
use super::replicated::{Cell, Replicated};
use crate::catalog::{CatalogColumn, CatalogTable, Kind};
use crate::mapped::Mapped;
use crate::mark::columns::MarkedColumns;
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
    pub(super) root: Option<&'a Replicated>,
    /// The partition itself, where that message did not come and the catalog may be ahead of the partition's.
    pub(super) leaf: Option<&'a Leaf>,
    /// What is marked of the table's columns.
    pub(super) marked: &'a MarkedColumns,
    /// Whether the publication is one that leaves no column out but generated ones.
    pub(super) is_whole: bool,
    /// The transaction whose rows follow.
    pub(super) writer: Option<u32>,
    /// Whether columns may be left out of rows that are read again.
    pub(super) leaves_out: bool,
}

/// Which column of the table a column of a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    /// That of the number; 0 where it cannot be told.
    Number(i32),
    /// That of the name.
    Name,
    /// One of several, of which another one may be there.
    Unclear,
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
        let mut in_doubt = Vec::new();
        let mut excluded = Vec::new();
        let which = self.which(relation, columns, mapping)?;
        let had_other_key = self.had_other_key(relation, columns, &which);
        for (column, which) in columns.iter().zip(which) {
            // B098: excluded by name, in every version.
            if mapping.exclude.iter().any(|excluded| excluded == column.name) {
                cells.push(Cell::Excluded);
                if let Which::Number(number) = which {
                    excluded.push((number, column.name));
                }
                continue;
            }
            let number = match which {
                Which::Number(number) => Some(number),
                Which::Name => None,
                Which::Unclear => {
                    in_doubt.push(column.name.to_owned());
                    cells.push(Cell::Excluded);
                    continue;
                }
            };
            let column_type = types.get((column.type_oid, column.type_modifier));
            let (attribute, nullable, key) = self.place(column, number, relation, batch_columns.len());
            let key = if had_other_key { place_in_key(column, batch_columns.len()) } else { key };
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
            return Err(keyless(relation, mapping));
        }
        let id = self.catalog.map_or(relation.oid, |catalog| catalog.oid);
        let mapped = Mapped::new(id, mapping, batch_columns, decoders);
        let mut replicated = Replicated::new(relation.oid, mapped, cells, mapping);
        replicated.excluded = excluded.into_iter().collect();
        let catalog = self.leaf.map(|leaf| &leaf.catalog).or(self.catalog);
        if let Some(catalog) = catalog.filter(|_| !in_doubt.is_empty()) {
            // One of a partition ends with that of its table.
            let writer = self.writer.filter(|_| self.root.is_none());
            replicated.doubt = Some(Doubt::new(in_doubt, writer, catalog));
        }
        Ok(replicated)
    }

    /// Which column of the table each column of a message is.
    fn which(
        &self,
        relation: &Relation<'_>,
        columns: &[RelationColumn<'_>],
        mapping: &MappedTable,
    ) -> Result<Vec<Which>, Failure> {
        let own = self.catalog.filter(|catalog| catalog.oid == relation.oid);
        let known = match (own, self.leaf) {
            (Some(catalog), _) => self.known(catalog, mapping),
            (None, Some(leaf)) => Known {
                before: leaf.before.as_ref(),
                marked: &leaf.marked,
                ..self.known(&leaf.catalog, mapping)
            },
            (None, None) => return Ok(columns.iter().map(|column| self.which_of_root(column)).collect()),
        };
        // A partition has numbers of its own.
        let leaf = self.leaf.filter(|_| own.is_none());
        let of_table = |numbers: Vec<i32>| match leaf {
            Some(leaf) => leaf.of_root(&numbers, columns, self.before),
            None => Some(numbers),
        };
        let is_unclear = leaf.is_some_and(|leaf| leaf.is_unclear(self.writer));
        let told = |known: Known<'_>| known.numbers(columns).filter(|_| !is_unclear).and_then(of_table);
        let all = |numbers: Vec<i32>| numbers.into_iter().map(Which::Number).collect();
        if let Some(numbers) = told(known) {
            return Ok(all(numbers));
        }
        let Some(certain) = self.certain(&known, columns).and_then(of_table) else {
            return told(Known { believes: true, ..known }).map(all).ok_or_else(|| unclear(mapping));
        };
        let certain = certain.into_iter().map(Which::Number);
        Ok(certain.chain(std::iter::repeat(Which::Unclear)).take(columns.len()).collect())
    }

    fn known<'k>(&'k self, catalog: &'k CatalogTable, mapping: &'k MappedTable) -> Known<'k> {
        Known {
            catalog,
            before: self.before,
            marked: self.marked,
            excluded_names: &mapping.exclude,
            is_whole: self.is_whole,
            writer: self.writer,
            believes: false,
        }
    }

    /// The same of a column of a partition. The catalog may be ahead of its message, but not of its table's.
    fn which_of_root(&self, column: &RelationColumn<'_>) -> Which {
        let Some(root) = self.root else { return Which::Name };
        match root.table().columns.iter().find(|known| known.name == column.name) {
            Some(known) if known.attribute != 0 => Which::Number(known.attribute),
            None if root.doubt.is_some() => Which::Unclear,
            Some(_) | None => Which::Name,
        }
    }

    /// The numbers of the first columns of a message where those of all are in doubt, if the key is among them and the other
    /// values are brought by reading the table again.
    fn certain(&self, known: &Known<'_>, columns: &[RelationColumn<'_>]) -> Option<Vec<i32>> {
        let certain = known.certain(columns);
        let mut key = known.catalog.columns.iter().filter(|column| column.key != 0);
        let has_key = key.all(|column| certain.contains(&column.attribute));
        let is_brought = self.leaves_out && matches!(known.catalog.kind, Kind::Ordinary | Kind::Partitioned);
        (is_brought && has_key && known.catalog.has_key()).then_some(certain)
    }

    /// A column that the stream had and the table still has may only be missing where the publication leaves
    /// it out. Nothing is said where the message is from a time whose names the catalog does not have any more.
    pub(super) fn require_columns(
        &self,
        replicated: &Replicated,
        mapping: &MappedTable,
        publication: &str,
    ) -> Result<(), Failure> {
        let (Some(catalog), Some(described)) = (self.catalog, replicated.attributes()) else { return Ok(()) };
        let left_out = catalog.columns.iter().filter(|column| {
            self.marked.delivered.contains(column.attribute)
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

    /// Whether other columns told rows apart than do now. The message says which ones did, unless the whole row did, or nothing.
    fn had_other_key(
        &self,
        relation: &Relation<'_>,
        columns: &[RelationColumn<'_>],
        which: &[Which],
    ) -> bool {
        let is_whole_row = relation.identity == b'f';
        let Some(catalog) = self.catalog.filter(|_| !is_whole_row) else { return false };
        let now_of = |column: &RelationColumn<'_>, which: &Which| {
            catalog.columns.iter().find(|now| match which {
                Which::Number(number) if *number != 0 => now.attribute == *number,
                Which::Number(_) | Which::Name => now.name == column.name,
                Which::Unclear => false,
            })
        };
        let mut then = Vec::new();
        for (column, which) in columns.iter().zip(which).filter(|(column, _)| column.in_key) {
            match now_of(column, which).filter(|now| now.key != 0) {
                Some(now) => then.push(now.attribute),
                None if catalog.oid == relation.oid => return catalog.has_key(),
                // The identity of a partition is its own, and may have more than its table's key.
                None => {}
            }
        }
        // No message has a generated one, unless that is published.
        let is_missing =
            |now: &CatalogColumn| now.key != 0 && !now.generated && !then.contains(&now.attribute);
        columns.iter().any(|column| column.in_key) && catalog.columns.iter().any(is_missing)
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
        (number.unwrap_or(0), !in_key, if in_key { place_in_key(column, index) } else { 0 })
    }
}

/// The place in the key of a column that a message has at this place, from 1; 0 where it is not in the key.
fn place_in_key(column: &RelationColumn<'_>, index: usize) -> u16 {
    if column.in_key { u16::try_from(index + 1).unwrap_or(u16::MAX) } else { 0 }
}

/// Nothing tells rows apart.
fn keyless(relation: &Relation<'_>, mapping: &MappedTable) -> Failure {
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
    Failure::permanent("key_missing", message).with_hint(hint).with_table(mapping.name.to_string())
}

/// Nothing that the server sends, and nothing that it keeps, tells two columns apart.
fn unclear(mapping: &MappedTable) -> Failure {
    let message = "a column was dropped, and another one made in its place, while the stream was behind: to which of the \
                   two values belong cannot be told";
    Failure::permanent("columns_unclear", message)
        .with_hint("resync the mirror, or edit the table out of it and add it again")
        .with_table(mapping.name.to_string())
}
