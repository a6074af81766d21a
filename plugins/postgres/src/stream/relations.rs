//! The relations that the stream talks about, by their numbers.

use std::collections::{HashMap, HashSet};

use tarn_batch::{Table, TableIndex};
use tarn_sdk::{Description, Failure, Fill, Rereads, log};

use super::asked::Asked;
use super::described::Described;
use super::excluded;
use super::joined::joined;
use super::visibility::Unseen;
use super::{Outgoing, Turn};
use crate::attributes::Attributes;
use crate::catalog::{self, CatalogTable};
use crate::entry::Entry;
use crate::fill;
use crate::lsn::Lsn;
use crate::mapped::Mapped;
use crate::mark::kept::KeptMarks;
use crate::mark::{Again, Mark, Marks};
use crate::peer::Peer;
use crate::pgoutput::{Relation, RelationColumn};
use crate::publication;
use crate::restated;
use crate::server::Server;
use crate::settings::{MappedTable, Publication, Settings};
use crate::side::Side;
use crate::surroundings::{self, renamed};
use crate::table_name::TableName;
use crate::type_catalog::Types;
use crate::value::Decoder;

/// What is known of the relations.
#[derive(Debug)]
pub(crate) struct Relations {
    server: Server,
    entries: Vec<Known>,
    places: HashMap<u32, usize>,
    /// Rows of one table come in runs: the relation that was asked for last, and its place.
    last: Option<(u32, usize)>,
    generation: u64,
    /// The columns that the host knows, by table and version.
    delivered: HashMap<u32, u32>,
    /// Tables that are mapped, by number: one that changes its name is noticed (B112).
    names: HashMap<u32, TableName>,
    /// What the mapped tables are like as of the stream.
    marks: KeptMarks,
    /// Whether a description has changed which tables are read again, and the entries do not know.
    is_behind_marks: bool,
    /// Tables that were emptied since that was last asked for.
    emptied: Vec<TableName>,
    unseen: Unseen,
    /// What the server said of relations that are learned together, while they are.
    asked: Asked,
    /// Relations that were learned ahead of their descriptions, which are still to come.
    ahead: HashSet<u32>,
}

#[derive(Debug)]
enum Known {
    Mapped(Box<Replicated>),
    /// Not the mirror's.
    Ignored,
}

/// A relation whose rows are replicated.
#[derive(Debug)]
pub(crate) struct Replicated {
    oid: u32,
    pub(super) mapped: Mapped,
    /// What becomes of each column of its tuples.
    pub(super) cells: Vec<Cell>,
    loading: bool,
    lacks_rows: bool,
    /// When it came into the publication, where the stream is behind that.
    entry: Option<Entry>,
    /// Whether its rows are read again.
    again: Again,
    /// What rows hold in columns that were added after them.
    fills: Vec<Fill>,
    /// Places of columns that the stream had before.
    delivered: Vec<usize>,
    /// Whether its columns are what the stream had before.
    novelty: Novelty,
    /// The names of columns that are left out, because it cannot be told which ones of the table they are.
    pub(super) in_doubt: Option<Vec<String>>,
    /// Its place in the batch of a generation.
    index: Option<(u64, TableIndex)>,
}

/// What a description says that the stream did not say before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Novelty {
    /// Nothing.
    None,
    /// It is the first one of this instance, with the columns that the stream had.
    First,
    /// Other columns than the stream had.
    Changed,
}

/// What becomes of a column of a tuple.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    Excluded,
    Decoded { decoder: Decoder, in_key: bool },
}

/// What a relation message said.
#[derive(Debug)]
pub(super) enum Learned {
    /// Nothing that the host does not know.
    Known,
    /// Columns that the host must know before the next row: to be [kept](Relations::keep) then.
    Changed(Box<Replicated>),
}

impl Replicated {
    pub(super) fn new(oid: u32, mapped: Mapped, cells: Vec<Cell>, mapping: &MappedTable) -> Self {
        Self {
            oid,
            mapped,
            cells,
            loading: mapping.loading,
            lacks_rows: mapping.lacks_rows,
            entry: None,
            again: Again::No,
            fills: Vec::new(),
            delivered: Vec::new(),
            novelty: Novelty::None,
            in_doubt: None,
            index: None,
        }
    }

    pub(super) fn table(&self) -> &Table {
        &self.mapped.table
    }

    pub(super) fn is_loading(&self) -> bool {
        self.loading
    }

    /// Whether a transaction's changes of it are in its load.
    #[inline]
    pub(super) fn is_loaded_with(&self, transaction: u32, commit: Lsn) -> bool {
        self.entry.is_some_and(|entry| entry.is_after(transaction, commit))
    }

    /// Whether the destination may lack the row that a change of this commit leaves values out of: its load has not
    /// brought it yet, or saw it gone.
    #[inline]
    pub(super) fn may_lack(&self, commit: Lsn) -> bool {
        self.loading || self.entry.is_some_and(|entry| commit < entry.until)
    }

    /// Whether the destination may lack what a change of this commit leaves out, and nothing says when it will not: the rows
    /// were written anew, or it never got them.
    #[inline]
    pub(super) fn lacks(&self, commit: Lsn) -> bool {
        self.lacks_rows || self.again.may_lack(commit)
    }

    /// The table as the host is told of it.
    pub(super) fn description(&self) -> Description {
        Description {
            table: self.mapped.table.clone(),
            fills: self.fills.clone(),
            delivered: self.delivered.clone(),
        }
    }

    pub(super) fn name(&self) -> TableName {
        TableName::new(self.mapped.table.schema.clone(), self.mapped.table.name.clone())
    }

    /// The numbers of its columns, where each is known.
    pub(super) fn attributes(&self) -> Option<Attributes> {
        let columns = &self.mapped.table.columns;
        let known = self.in_doubt.is_none() && columns.iter().all(|column| column.attribute != 0);
        known.then(|| columns.iter().map(|column| column.attribute).collect())
    }

    /// The places of its columns that were delivered before and are there still. One that is gone by now may have been
    /// dropped while the mirror was set up, and then no target has it.
    fn places_of(&self, delivered: &Attributes, catalog: &CatalogTable) -> Vec<usize> {
        let is_there = |number: i32| catalog.columns.iter().any(|column| column.attribute == number);
        let columns = self.mapped.table.columns.iter().enumerate();
        columns
            .filter(|(_, column)| delivered.contains(column.attribute) && is_there(column.attribute))
            .map(|(at, _)| at)
            .collect()
    }

    /// Its place in the batch, where it is put if need be.
    #[inline]
    pub(super) fn index_in(&mut self, out: &mut Outgoing) -> TableIndex {
        match self.index {
            Some((generation, index)) if generation == out.generation => index,
            _ => {
                let index = out.writer.add_table(&self.mapped.table);
                self.index = Some((out.generation, index));
                index
            }
        }
    }

    /// A partition that stands for its table cannot say that the table was emptied.
    pub(super) fn refuse_partial_truncate(&self) -> Result<(), Failure> {
        if self.oid == self.mapped.table.id {
            return Ok(());
        }
        let message =
            "a partition was truncated, and the publication does not publish by the partitioned table";
        Err(Failure::permanent("partition_truncated", message)
            .with_hint("set publish_via_partition_root on the publication and resync the mirror")
            .with_table(self.mapped.table.qualified_name()))
    }
}

impl Relations {
    /// The mapped tables as they were where the stream begins.
    pub(crate) fn new(server: Server, marks: Marks) -> Self {
        Self {
            server,
            entries: Vec::new(),
            places: HashMap::new(),
            last: None,
            generation: 0,
            delivered: HashMap::new(),
            names: HashMap::new(),
            marks: KeptMarks::new(marks),
            is_behind_marks: false,
            emptied: Vec::new(),
            unseen: Unseen::default(),
            asked: Asked::default(),
            ahead: HashSet::new(),
        }
    }

    pub(super) fn marks(&self) -> &KeptMarks {
        &self.marks
    }

    pub(super) fn marks_mut(&mut self) -> &mut KeptMarks {
        &mut self.marks
    }

    /// Whether the host knows these columns as those of a table.
    pub(super) fn knows(&self, id: u32, columns: u32) -> bool {
        self.delivered.get(&id) == Some(&columns)
    }

    /// Whether nothing was said of a table's columns yet, and the stream had these last.
    pub(super) fn knew(&self, name: &TableName, id: u32, columns: &Attributes) -> bool {
        !self.delivered.contains_key(&id)
            && self.marks.get(name).is_some_and(|mark| !columns.is_empty() && mark.delivered == *columns)
    }

    /// Says which tables an earlier stream left to be read again.
    pub(crate) fn tell_due<'a>(&self, names: impl IntoIterator<Item = &'a TableName>) {
        for name in names {
            if self.marks.get(name).is_some_and(|mark| mark.again == Again::Due) {
                log::info(&format!("the rows of {name} are to be read again"));
            }
        }
    }

    /// Marks a table as read again, as it was before a place.
    pub(super) fn mark_read(&mut self, name: &TableName, until: Lsn) {
        if let Some(mark) = self.marks.change().get_mut(name) {
            mark.read_until(until);
        }
        self.follow_marks();
    }

    /// Takes over which tables are read again, after their marks have changed.
    pub(super) fn follow_marks(&mut self) {
        for entry in &mut self.entries {
            if let Known::Mapped(replicated) = entry {
                replicated.again = self.marks.get(&replicated.name()).map_or(Again::No, |mark| mark.again);
            }
        }
    }

    /// The same, unless nothing has changed: of thousands of tables that are described, each would look at all.
    fn catch_up_with_marks(&mut self) {
        if std::mem::take(&mut self.is_behind_marks) {
            self.follow_marks();
        }
    }

    /// Notes that a table was emptied, for who reads it again.
    pub(super) fn note_emptied(&mut self, name: TableName) {
        if self.marks.is_any_due() && !self.emptied.contains(&name) {
            self.emptied.push(name);
        }
    }

    /// The tables that were emptied since this was last asked.
    pub(super) fn take_emptied(&mut self) -> Vec<TableName> {
        std::mem::take(&mut self.emptied)
    }

    /// Notes what the host was told of the mapped tables.
    pub(crate) fn deliver<'a>(&mut self, tables: impl IntoIterator<Item = &'a Table>) {
        for table in tables {
            self.delivered.insert(table.id, table.version);
        }
    }

    /// Notes the numbers of the mapped tables.
    pub(crate) fn name<'a>(&mut self, tables: impl IntoIterator<Item = &'a CatalogTable>) {
        self.names.extend(tables.into_iter().map(|table| (table.oid, table.name.clone())));
    }

    pub(super) fn next_generation(&mut self) -> u64 {
        self.generation += 1;
        self.generation
    }

    /// Whether this instance was told of a relation.
    pub(super) fn is_described(&self, oid: u32) -> bool {
        self.places.contains_key(&oid)
    }

    /// Whether it cannot be told which ones of the table the columns of a relation are that was learned.
    pub(super) fn is_in_doubt(&self, learned: &Learned, oid: u32) -> bool {
        let known = || self.places.get(&oid).map(|place| &self.entries[*place]);
        match learned {
            Learned::Changed(changed) => changed.in_doubt.is_some(),
            Learned::Known => {
                matches!(known(), Some(Known::Mapped(known)) if known.in_doubt.is_some())
            }
        }
    }

    /// A relation, unless it is none of the mirror's.
    #[inline]
    pub(super) fn get(&mut self, oid: u32) -> Result<Option<&mut Replicated>, Failure> {
        let place = match self.last {
            Some((last, place)) if last == oid => place,
            _ => {
                let place = *self.places.get(&oid).ok_or_else(|| {
                    let message =
                        format!("the stream has a row of relation {oid}, which it did not describe");
                    Failure::permanent("stream_unreadable", message)
                })?;
                self.last = Some((oid, place));
                place
            }
        };
        Ok(match &mut self.entries[place] {
            Known::Mapped(replicated) => Some(replicated),
            Known::Ignored => None,
        })
    }

    /// Asks the server at once for what it takes to learn relations of a transaction.
    pub(super) fn ask<P: Peer>(
        &mut self,
        relations: &[Relation<'_>],
        writer: u32,
        side: &mut Side<P>,
        settings: &Settings,
    ) -> Result<(), Failure> {
        self.asked = Asked::of(relations, writer, &mut self.unseen, &self.server, side, settings)?;
        Ok(())
    }

    /// Forgets what the server said of those that were not learned.
    pub(super) fn forget_asked(&mut self) {
        self.asked = Asked::default();
    }

    /// Notes that a relation was learned ahead of its description.
    pub(super) fn note_ahead(&mut self, oid: u32) {
        self.ahead.insert(oid);
    }

    /// Takes a description that the stream gives before a relation's first row, and again after every
    /// change. One that comes again was looked at the first time; the marks are of a later place.
    pub(super) fn learn<P: Peer>(
        &mut self,
        relation: Relation<'_>,
        turn: Turn,
        writer: Option<u32>,
        side: &mut Side<P>,
        settings: &Settings,
        types: &mut Types,
    ) -> Result<Learned, Failure> {
        if self.ahead.remove(&relation.oid) {
            return Ok(Learned::Known);
        }
        let name = TableName::new(relation.schema, relation.name);
        if let Some(writer) = writer
            && turn == Turn::First
        {
            self.unseen.await_seen(side, writer, relation.oid, &name)?;
        }
        let Some((mapping, described)) = self.find(relation.oid, &name, side, settings)? else {
            self.put(relation.oid, Known::Ignored, turn);
            return Ok(Learned::Known);
        };
        let columns: Vec<RelationColumn<'_>> = relation.columns().collect::<Result<_, _>>()?;
        types.look_up(side, columns.iter().map(|column| (column.type_oid, column.type_modifier)))?;
        let mapped_of = |oid: u32| match &self.entries[*self.places.get(&oid)?] {
            Known::Mapped(replicated) => Some(&replicated.mapped),
            Known::Ignored => None,
        };
        let before = mapped_of(relation.oid);
        let root = described.as_ref().map(|catalog| catalog.oid).filter(|oid| *oid != relation.oid);
        let (delivered, generated, stored) = self
            .marks
            .get(&mapping.name)
            .map(|mark| (mark.delivered.clone(), mark.generated.clone(), mark.stored.clone()))
            .unwrap_or_default();
        let is_whole = match (&settings.publication, writer) {
            (Publication::Managed(_), _) => true,
            (Publication::Given(given), Some(writer)) => match self.asked.is_whole(relation.oid) {
                Some(is_whole) => is_whole,
                None => publication::having_all_columns(side, &self.server, given, &[relation.oid], writer)?
                    .contains(&relation.oid),
            },
            (Publication::Given(_), None) => false,
        };
        let described = Described {
            catalog: described.as_ref(),
            before: before.map(|mapped| &mapped.table),
            root: root.and_then(mapped_of).map(|mapped| &mapped.table),
            delivered: &delivered,
            generated: &generated,
            stored: &stored,
            is_whole,
            writer,
            leaves_out: settings.rereads == Rereads::All && !settings.whole_rows,
        };
        let mut replicated = described.replicated(&relation, &columns, mapping, types)?;
        if let Some(catalog) = described.catalog {
            excluded::require_there(mapping, catalog, &delivered, replicated.table())?;
            replicated.delivered = replicated.places_of(&delivered, catalog);
            let joined = match self.marks.get(&mapping.name) {
                Some(mark) if turn == Turn::First => {
                    described.require_columns(&replicated, mapping, mark, settings.publication.name())?;
                    joined(&replicated, catalog, mark, &self.server, side, settings)?
                }
                _ => Attributes::default(),
            };
            let mapped = &replicated.mapped;
            replicated.fills = fill::fills(&mapped.table, &mapped.decoders, catalog, &joined);
            let is_as_marked =
                |mark: &Mark| mark.file == catalog.file && restated::causes(catalog, mark).is_empty();
            if !self.marks.get(&mapping.name).is_none_or(is_as_marked) {
                surroundings::note_rows(self.marks.change(), &mapping.name, catalog, settings.rereads);
                self.is_behind_marks = true;
            }
        }
        if let Some(columns) = &replicated.in_doubt {
            read_for_doubt(self.marks.change(), &mapping.name, columns);
            self.is_behind_marks = true;
        }
        if before == Some(&replicated.mapped) {
            match self.places.get(&relation.oid).map(|place| &mut self.entries[*place]) {
                // Its tuples may have other columns all the same, which are left out.
                Some(Known::Mapped(known)) => {
                    (known.cells, known.in_doubt) = (replicated.cells, replicated.in_doubt);
                }
                Some(Known::Ignored) | None => {}
            }
            self.catch_up_with_marks();
            return Ok(Learned::Known);
        }
        let other_columns = !delivered.is_empty()
            && replicated.attributes().is_some_and(|attributes| attributes != delivered);
        replicated.novelty = match before {
            Some(_) => Novelty::Changed,
            None if other_columns => Novelty::Changed,
            None => Novelty::First,
        };
        if let Some(before) = before {
            log_change(&before.table, replicated.table());
        }
        let table = replicated.table();
        if self.delivered.get(&table.id) == Some(&table.version) {
            self.put(relation.oid, Known::Mapped(Box::new(replicated)), turn);
            return Ok(Learned::Known);
        }
        Ok(Learned::Changed(Box::new(replicated)))
    }

    /// What the last description of a relation said that was new; asked for once.
    pub(super) fn take_novelty(&mut self, oid: u32) -> Novelty {
        match self.places.get(&oid).map(|place| &mut self.entries[*place]) {
            Some(Known::Mapped(replicated)) => std::mem::replace(&mut replicated.novelty, Novelty::None),
            Some(Known::Ignored) | None => Novelty::None,
        }
    }

    /// Takes what was learned, now that it reaches the host before the next row.
    pub(super) fn keep(&mut self, changed: Box<Replicated>, turn: Turn) {
        self.deliver([changed.table()]);
        self.put(changed.oid, Known::Mapped(changed), turn);
    }

    fn put(&mut self, oid: u32, mut known: Known, turn: Turn) {
        if let Known::Mapped(replicated) = &mut known {
            let name = replicated.name();
            if let Some(mark) = self.marks.get(&name) {
                replicated.entry = mark.entry;
                replicated.again = mark.again;
                let said = replicated.attributes().filter(|_| turn == Turn::First);
                if let Some(said) = said.filter(|said| *said != mark.delivered)
                    && let Some(mark) = self.marks.change().get_mut(&name)
                {
                    mark.delivered = said;
                }
            }
        }
        match self.places.get(&oid) {
            Some(place) => self.entries[*place] = known,
            None => {
                self.places.insert(oid, self.entries.len());
                self.entries.push(known);
            }
        }
        self.catch_up_with_marks();
    }

    /// The mapping of a relation and what the catalog has of the mapped table: itself, or the partitioned
    /// table it is a part of (B121, B122, B124).
    fn find<'a, P: Peer>(
        &mut self,
        oid: u32,
        name: &TableName,
        side: &mut Side<P>,
        settings: &'a Settings,
    ) -> Result<Option<(&'a MappedTable, Option<CatalogTable>)>, Failure> {
        if let Some(mapping) = settings.table(name) {
            self.names.insert(oid, name.clone());
            let table = match self.asked.take(oid) {
                Some(table) => Some(table),
                None => catalog::table_numbered(side, oid)?,
            };
            return Ok(Some((mapping, table)));
        }
        if let Some(known) = self.names.get(&oid) {
            return Err(renamed(name).with_table(known.to_string()));
        }
        for ancestor in catalog::ancestors(side, oid)? {
            if let Some(mapping) = settings.table(&ancestor) {
                let root = catalog::tables_named(side, [&ancestor])?.remove(&ancestor);
                return Ok(Some((mapping, root)));
            }
        }
        Ok(None)
    }
}

/// Has a table read again of which columns are left out.
fn read_for_doubt(marks: &mut Marks, name: &TableName, columns: &[String]) {
    let Some(mark) = marks.get_mut(name) else { return };
    if mark.again != Again::Due {
        log::warn(&format!(
            "a column of {name} was dropped, and another one made in its place, while the stream was behind: to which of the two \
             values belong cannot be told. Values of {} are left out until the rows are read again, beside the stream",
            columns.join(", ")
        ));
    }
    // The stream may be past the place that it was noticed at before.
    mark.read_again(None);
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
