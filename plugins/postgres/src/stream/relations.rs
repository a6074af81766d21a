//! The relations that the stream talks about, by their numbers.

mod learning;

use std::collections::{HashMap, HashSet};

use tarn_batch::Table;
use tarn_sdk::{Failure, log};

use super::Turn;
use super::asked::Asked;
use super::doubt::Doubt;
use super::replicated::{Novelty, Replicated};
use super::visibility::Unseen;
use crate::attributes::Attributes;
use crate::catalog::CatalogTable;
use crate::lsn::Lsn;
use crate::mark::kept::KeptMarks;
use crate::mark::{Again, Mark, Marks};
use crate::peer::Peer;
use crate::pgoutput::Relation;
use crate::server::Server;
use crate::settings::Settings;
use crate::side::Side;
use crate::table_name::TableName;

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
    /// Tables that are mapped, by number: one that changes its name is noticed (B112), and another one under it is none of them.
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

/// What a relation message said.
#[derive(Debug)]
pub(super) enum Learned {
    /// Nothing that the host does not know.
    Known,
    /// Columns that the host must know before the next row: to be [kept](Relations::keep) then.
    Changed(Box<Replicated>),
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
        let had_these = |mark: &Mark| !columns.is_empty() && mark.columns.delivered == *columns;
        !self.delivered.contains_key(&id) && self.marks.get(name).is_some_and(had_these)
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

    /// Notes that a table's reading has begun, and the columns that the host was told of for that.
    pub(super) fn begin_reading(&mut self, id: u32, told: Option<&Table>) {
        self.deliver(told);
        for entry in &mut self.entries {
            if let Known::Mapped(replicated) = entry
                && replicated.table().id == id
                && let Some(doubt) = &mut replicated.doubt
            {
                doubt.is_read = true;
            }
        }
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

    /// A relation that was described.
    fn mapped(&self, oid: u32) -> Option<&Replicated> {
        match &self.entries[*self.places.get(&oid)?] {
            Known::Mapped(replicated) => Some(replicated),
            Known::Ignored => None,
        }
    }

    /// Whether later transactions may tell which ones of the table the columns of a relation are that was learned.
    pub(super) fn is_in_doubt(&self, learned: &Learned, oid: u32) -> bool {
        let replicated = match learned {
            Learned::Changed(changed) => Some(changed.as_ref()),
            Learned::Known => self.mapped(oid),
        };
        replicated.and_then(|replicated| replicated.doubt.as_ref()).is_some_and(Doubt::may_end)
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
        let is_mapped = |oid| self.names.contains_key(&oid);
        self.asked = Asked::of(relations, is_mapped, writer, &mut self.unseen, &self.server, side, settings)?;
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
                if turn == Turn::First
                    && !replicated.is_marked(mark)
                    && let Some(mark) = self.marks.change().get_mut(&name)
                {
                    replicated.mark(mark);
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
}
