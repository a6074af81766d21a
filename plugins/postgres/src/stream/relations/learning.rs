//! What a description says, beside what the catalog does.

use tarn_batch::Table;
use tarn_sdk::{Failure, Rereads, log};

use super::{Known, Learned, Relations};
use crate::attributes::Attributes;
use crate::catalog::{self, CatalogColumn, CatalogTable, Kind};
use crate::excluded::require_there;
use crate::fill;
use crate::lsn::Lsn;
use crate::mapped::Mapped;
use crate::mark::columns::MarkedColumns;
use crate::mark::{Again, Mark};
use crate::peer::Peer;
use crate::pgoutput::{Relation, RelationColumn};
use crate::publication;
use crate::restated;
use crate::server::log_end;
use crate::settings::{MappedTable, Publication, Settings};
use crate::side::Side;
use crate::stream::described::Described;
use crate::stream::joined::joined;
use crate::stream::leaf::{Leaf, Root};
use crate::stream::replicated::{Novelty, Replicated};
use crate::stream::{Transaction, Turn};
use crate::surroundings::{self, changed, renamed};
use crate::table_name::TableName;
use crate::type_catalog::Types;

/// A description as it came.
struct Said<'a> {
    relation: Relation<'a>,
    columns: Vec<RelationColumn<'a>>,
    turn: Turn,
    /// The transaction whose rows follow.
    transaction: Option<Transaction>,
}

impl Said<'_> {
    fn writer(&self) -> Option<u32> {
        self.transaction.map(|transaction| transaction.number)
    }
}

impl Relations {
    /// Takes a description that the stream gives before a relation's first row, and again after every
    /// change. One that comes again was looked at the first time; the marks are of a later place.
    pub(in crate::stream) fn learn<P: Peer>(
        &mut self,
        relation: Relation<'_>,
        turn: Turn,
        transaction: Option<Transaction>,
        side: &mut Side<P>,
        settings: &Settings,
        types: &mut Types,
    ) -> Result<Learned, Failure> {
        if self.ahead.remove(&relation.oid) {
            return Ok(Learned::Known);
        }
        let name = TableName::new(relation.schema, relation.name);
        if let Some(Transaction { number, .. }) = transaction
            && turn == Turn::First
        {
            self.unseen.await_seen(side, number, relation.oid, &name)?;
        }
        let Some((mapping, catalog)) = self.find(relation.oid, side, settings)? else {
            self.put(relation.oid, Known::Ignored, turn);
            return Ok(Learned::Known);
        };
        let columns: Vec<RelationColumn<'_>> = relation.columns().collect::<Result<_, _>>()?;
        types.look_up(side, columns.iter().map(|column| (column.type_oid, column.type_modifier)))?;
        let said = Said { relation, columns, turn, transaction };
        let replicated = self.understand(&said, mapping, catalog.as_ref(), side, settings, types)?;
        self.note_rows(&replicated, mapping, catalog.as_ref(), settings.rereads);
        self.note_key(&said, mapping, catalog.as_ref(), side, settings.rereads)?;
        Ok(self.compare(replicated, turn))
    }

    /// The mapping of a relation and what the catalog has of the mapped table: itself, or the partitioned
    /// table it is a part of (B121, B122, B124). The table's number tells: names may have been exchanged when the message was
    /// written, and be back since. Another table under a mapped one's name is not the mirror's, nor are its partitions; where
    /// it stays, the next look tells.
    fn find<'a, P: Peer>(
        &mut self,
        oid: u32,
        side: &mut Side<P>,
        settings: &'a Settings,
    ) -> Result<Option<(&'a MappedTable, Option<CatalogTable>)>, Failure> {
        let asked = self.asked.take(oid);
        if let Some((known, mapping)) = self.mapping(oid, settings) {
            let table = match asked {
                Some(table) => Some(table),
                None => catalog::table_numbered(side, oid)?,
            };
            if let Some(table) = &table {
                require_name(table, known)?;
            }
            return Ok(Some((mapping, table)));
        }
        for (root, _) in catalog::ancestors(side, oid)? {
            if let Some((known, mapping)) = self.mapping(root, settings) {
                let gone = || changed("it is gone").with_table(known.to_string());
                let table = catalog::table_numbered(side, root)?.ok_or_else(gone)?;
                require_name(&table, known)?;
                return Ok(Some((mapping, Some(table))));
            }
        }
        Ok(None)
    }

    /// The name of a mapped table as of the stream's opening, by its number, and its mapping.
    fn mapping<'a>(&self, oid: u32, settings: &'a Settings) -> Option<(&TableName, &'a MappedTable)> {
        let known = self.names.get(&oid)?;
        Some((known, settings.table(known)?))
    }

    /// The relation as it is replicated.
    fn understand<P: Peer>(
        &self,
        said: &Said<'_>,
        mapping: &MappedTable,
        catalog: Option<&CatalogTable>,
        side: &mut Side<P>,
        settings: &Settings,
        types: &Types,
    ) -> Result<Replicated, Failure> {
        let oid = said.relation.oid;
        let mark = self.marks.get(&mapping.name);
        let unknown = MarkedColumns::default();
        let marked = mark.map_or(&unknown, |mark| &mark.columns);
        let before = self.mapped(oid).map(Replicated::table);
        let root = catalog.filter(|catalog| catalog.oid != oid);
        let leaf = match root.map(|catalog| Root { catalog, marked, before }) {
            Some(root) if self.mapped(root.catalog.oid).is_none() => look_at_leaf(said, root, side)?,
            _ => None,
        };
        let described = Described {
            catalog,
            before,
            root: root.and_then(|root| self.mapped(root.oid)),
            leaf: leaf.as_ref(),
            marked,
            is_whole: self.is_whole(oid, said.writer(), side, settings)?,
            writer: said.writer(),
            leaves_out: settings.rereads == Rereads::All && !settings.whole_rows,
        };
        let mut replicated = described.replicated(&said.relation, &said.columns, mapping, types)?;
        let Some(catalog) = catalog else { return Ok(replicated) };
        require_there(mapping, catalog, marked, replicated.table())?;
        replicated.delivered = replicated.places_of(&marked.delivered, catalog);
        let joined = match mark {
            Some(mark) if said.turn == Turn::First => {
                described.require_columns(&replicated, mapping, settings.publication.name())?;
                joined(&replicated, catalog, mark, &self.server, side, settings)?
            }
            _ => Attributes::default(),
        };
        let Mapped { table, decoders, .. } = &replicated.mapped;
        replicated.fills = fill::fills(table, decoders, catalog, &joined);
        Ok(replicated)
    }

    /// Whether the publication had all columns of a relation that are not generated.
    fn is_whole<P: Peer>(
        &self,
        oid: u32,
        writer: Option<u32>,
        side: &mut Side<P>,
        settings: &Settings,
    ) -> Result<bool, Failure> {
        match (&settings.publication, writer) {
            (Publication::Managed(_), _) => Ok(true),
            (Publication::Given(given), Some(writer)) => match self.asked.is_whole(oid) {
                Some(is_whole) => Ok(is_whole),
                None => {
                    let having = publication::having_all_columns(side, &self.server, given, &[oid], writer)?;
                    Ok(having.contains(&oid))
                }
            },
            (Publication::Given(_), None) => Ok(false),
        }
    }

    /// Notes what a description and the catalog say of the table's rows: that they are to be read again.
    fn note_rows(
        &mut self,
        replicated: &Replicated,
        mapping: &MappedTable,
        catalog: Option<&CatalogTable>,
        rereads: Rereads,
    ) {
        if let Some(catalog) = catalog {
            let is_as_marked = |mark: &Mark| {
                mark.file == catalog.file
                    && restated::causes(catalog, mark).is_empty()
                    && restated::written_otherwise(catalog, mark).next().is_none()
            };
            if !self.marks.get(&mapping.name).is_none_or(is_as_marked) {
                let said = &replicated.mapped.table.columns;
                let is_said =
                    |now: &CatalogColumn| said.iter().any(|column| column.attribute == now.attribute);
                surroundings::note_rows(self.marks.change(), &mapping.name, catalog, rereads, is_said);
                self.is_behind_marks = true;
            }
        }
        if let Some(doubt) = &replicated.doubt
            && !self.mapped(replicated.oid).is_some_and(|before| self.awaits_reading(before))
        {
            doubt.have_read(self.marks.change(), &mapping.name);
            self.is_behind_marks = true;
        }
    }

    /// Notes where rows that follow a description may have been told apart by another key than that of now, and it does not say
    /// by which, for the whole row tells them apart.
    fn note_key<P: Peer>(
        &mut self,
        said: &Said<'_>,
        mapping: &MappedTable,
        catalog: Option<&CatalogTable>,
        side: &mut Side<P>,
        rereads: Rereads,
    ) -> Result<(), Failure> {
        let Relation { oid, identity, .. } = said.relation;
        let Some(catalog) = catalog.filter(|_| identity == b'f') else { return Ok(()) };
        let is_known = |mark: &Mark| mark.primary_key.is_still(catalog.primary_key);
        if self.marks.get(&mapping.name).is_none_or(is_known) {
            return Ok(());
        }
        if let Some(mark) = self.marks.change().get_mut(&mapping.name) {
            mark.primary_key.see(catalog.primary_key, || Ok(log_end(side)?.lsn))?;
            let commit = said.transaction.map_or(Lsn(0), |transaction| transaction.commit);
            if mark.primary_key.was_another(commit) {
                // What is logged of rows of partitions depends on the identities of these.
                let is_whole = catalog.kind != Kind::Partitioned || catalog.oid != oid;
                surroundings::note_other_key(mark, &mapping.name, rereads, is_whole);
                self.is_behind_marks = true;
            }
        }
        Ok(())
    }

    /// What is to be done about a description.
    fn compare(&mut self, mut replicated: Replicated, turn: Turn) -> Learned {
        let is_known = self.knows(replicated.table().id, replicated.table().version);
        let before = self.mapped(replicated.oid);
        let is_same = before.is_some_and(|before| before.mapped == replicated.mapped);
        // Who reads the table again has told the host of all columns.
        let is_told_otherwise = !is_known
            && replicated.doubt.is_some()
            && before.and_then(|before| before.doubt.as_ref()).is_some_and(|doubt| doubt.is_read);
        if is_same && !is_told_otherwise {
            match self.places.get(&replicated.oid).map(|place| &mut self.entries[*place]) {
                // Its tuples may have other columns all the same, which are left out.
                Some(Known::Mapped(known)) => {
                    (known.cells, known.doubt) = (replicated.cells, replicated.doubt);
                }
                Some(Known::Ignored) | None => {}
            }
            self.catch_up_with_marks();
            return Learned::Known;
        }
        let has_other_columns = |mark: &Mark| {
            !mark.columns.delivered.is_empty()
                && replicated.attributes().is_some_and(|attributes| attributes != mark.columns.delivered)
        };
        let novelty = match before {
            Some(_) if is_same => Novelty::None,
            Some(_) => Novelty::Changed,
            None if self.marks.get(&replicated.name()).is_some_and(has_other_columns) => Novelty::Changed,
            None => Novelty::First,
        };
        if let Some(before) = before.filter(|_| !is_same) {
            log_change(before.table(), replicated.table());
        }
        replicated.novelty = novelty;
        if is_known {
            self.put(replicated.oid, Known::Mapped(Box::new(replicated)), turn);
            return Learned::Known;
        }
        Learned::Changed(Box::new(replicated))
    }

    /// Whether a relation is in doubt, and a transaction's number tells no more than that of an earlier one.
    pub(in crate::stream) fn remains_in_doubt(&self, oid: u32, writer: u32) -> bool {
        self.mapped(oid).is_some_and(|replicated| {
            let holds = replicated.doubt.as_ref().is_some_and(|doubt| doubt.holds_for(writer));
            holds && self.awaits_reading(replicated)
        })
    }

    /// Whether a table in doubt is to be read as a whole, and that has not begun.
    fn awaits_reading(&self, replicated: &Replicated) -> bool {
        let is_due = |mark: &Mark| mark.again == Again::Due && mark.partitions.is_empty();
        replicated.doubt.as_ref().is_some_and(|doubt| !doubt.is_read)
            && self.marks.get(&replicated.name()).is_some_and(is_due)
    }
}

/// Looks that a mapped table is called as it was.
fn require_name(table: &CatalogTable, known: &TableName) -> Result<(), Failure> {
    if table.name == *known { Ok(()) } else { Err(renamed(&table.name).with_table(known.to_string())) }
}

/// What the catalog has of a partition itself, where it may be ahead of the partition's message.
fn look_at_leaf<P: Peer>(
    said: &Said<'_>,
    root: Root<'_>,
    side: &mut Side<P>,
) -> Result<Option<Leaf>, Failure> {
    if !said.writer().is_some_and(|writer| root.is_ahead_of(writer)) {
        return Ok(None);
    }
    let differs = || changed("its columns have changed while it was looked at");
    let leaf = catalog::table_numbered(side, said.relation.oid)?.and_then(|leaf| Leaf::new(&leaf, root));
    leaf.map(Some).ok_or_else(|| differs().with_table(root.catalog.name.to_string()))
}

fn log_change(before: &Table, after: &Table) {
    let missing_in = |other: &Table, table: &Table| {
        let names = table.columns.iter().map(|column| column.name.as_str());
        let missing: Vec<&str> =
            names.filter(|name| !other.columns.iter().any(|column| column.name == *name)).collect();
        missing.join(", ")
    };
    let changed: Vec<&str> = after
        .columns
        .iter()
        .filter(|column| before.columns.iter().any(|old| old.name == column.name && old != *column))
        .map(|column| column.name.as_str())
        .collect();
    log::info(&format!(
        "columns of {} changed: added [{}], dropped [{}], changed [{}]",
        after.qualified_name(),
        missing_in(before, after),
        missing_in(after, before),
        changed.join(", ")
    ));
}
