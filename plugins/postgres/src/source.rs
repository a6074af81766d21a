//! The plugin's functions, each told in the terms of the other modules.

mod loads;

use std::collections::{BTreeMap, HashMap};

use tarn_batch::Table;
use tarn_sdk::inspection::{Answer, Question};
use tarn_sdk::{
    Changes, Description, Failure, Inspect, Limits, Lookup, Problem, Rereads, Snapshot, Source, SourceConfig,
    log, spool,
};

use crate::added;
use crate::attributes::Attributes;
use crate::catalog::{self, CatalogColumn, CatalogTable, Kind};
use crate::cluster::Cluster;
use crate::connections;
use crate::excluded;
use crate::fill;
use crate::inspection::inspect;
use crate::lsn::Lsn;
use crate::mapped::{self, Mapped, wanted_types};
use crate::mark::Marks;
use crate::partitions::{self, PartitionNames};
use crate::peer::{HostPeer, Peer, Reads, Session, Spool};
use crate::position::{Place, Position};
use crate::publication::{self, PublishedTable};
use crate::rewrite;
use crate::server::{Server, log_end};
use crate::settings::{MappedTable, Publication, Settings};
use crate::side::Side;
use crate::slot;
use crate::snapshot::held::Held;
use crate::snapshot::lookup::{self, Readable};
use crate::snapshot::partition::Partition;
use crate::snapshot::plan;
use crate::snapshot::reader::{self, Reader};
use crate::stream::{Relations, Stream};
use crate::surroundings::{self, Surroundings, renamed, replaced};
use crate::table_name::TableName;
use crate::teardown;
use crate::type_catalog::Types;
use crate::validate;

/// PostgreSQL as a source, over any way to reach the server.
#[derive(Debug)]
pub struct PostgresSource<P: Peer = HostPeer> {
    settings: Settings,
    side: Side<P>,
    server: Option<Server>,
    held: Option<Held<P::Session>>,
    reader: Option<Reader<P::Session>>,
    stream: Option<Stream<P::Session>>,
    /// The columns that [`PostgresSource::schema`] told the host.
    schema: Vec<Table>,
}

impl<P: Peer> PostgresSource<P> {
    /// A source of the tables that the settings name. Opens nothing.
    pub fn new(peer: P, config: SourceConfig) -> Self {
        Self {
            settings: Settings::new(config),
            side: Side::new(peer),
            server: None,
            held: None,
            reader: None,
            stream: None,
            schema: Vec::new(),
        }
    }

    fn server(&mut self) -> Result<Server, Failure> {
        match &self.server {
            Some(server) => Ok(server.clone()),
            None => Ok(self.server.insert(Server::read(&mut self.side)?).clone()),
        }
    }

    /// What a publication of somebody else says of its tables.
    fn published(&mut self) -> Result<HashMap<TableName, PublishedTable>, Failure> {
        let server = self.server()?;
        match &self.settings.publication {
            Publication::Managed(_) => Ok(HashMap::new()),
            Publication::Given(name) => publication::tables(&mut self.side, &server, name),
        }
    }

    fn open_replication(&mut self) -> Result<P::Session, Failure> {
        let mut session = self.side.peer().open_replication()?;
        let name = tarn_sdk::sql::postgres::literal(&self.settings.application_name());
        session.query(&format!("SET application_name = {name}"))?;
        Ok(session)
    }
}

/// A mapped table that does not exist.
fn missing(mapping: &MappedTable) -> Failure {
    Failure::permanent("table_missing", "the table does not exist")
        .with_hint("create it, or take it out of the mirror")
        .with_table(mapping.name.to_string())
}

/// Says which columns the stream does not have.
fn log_generated(table: &CatalogTable, mapped: &Mapped) {
    let absent = |name: &str| !mapped.table.columns.iter().any(|column| column.name == name);
    let left_out: Vec<&str> = table
        .columns
        .iter()
        .filter(|column| column.generated && absent(&column.name))
        .map(|column| column.name.as_str())
        .collect();
    if !left_out.is_empty() {
        log::warn(&format!(
            "generated columns of {} are left out, because the publication does not publish them: {}. The \
             destination can compute them, or, from PostgreSQL 18 on, a publication of yours publish them \
             (publish_generated_columns = stored)",
            table.name,
            left_out.join(", ")
        ));
    }
}

impl<P: Peer> PostgresSource<P> {
    /// The server's version text.
    ///
    /// # Errors
    /// Whatever keeps the server from answering.
    pub fn version(&mut self) -> Result<String, Failure> {
        Ok(self.server()?.version)
    }

    /// Everything that would keep the mirror from running.
    ///
    /// # Errors
    /// Whatever keeps the server from answering.
    pub fn validate(&mut self) -> Result<Vec<Problem>, Failure> {
        let server = self.server()?;
        validate::validate(&mut self.side, &server, &self.settings)
    }

    /// The mapped tables, as they are at the point that is held if one is. A column that is there since shows in rows from
    /// before what the stream tells of it in its place; at a destination that had it from the beginning nothing would.
    ///
    /// # Errors
    /// `table_missing`, `excluded_column_gone`.
    pub fn schema(&mut self) -> Result<Vec<Description>, Failure> {
        let published = self.published()?;
        let names = self.settings.tables.iter().map(|table| &table.name);
        let found = match &mut self.held {
            Some(held) => catalog::tables_named(held, names)?,
            None => catalog::tables_named(&mut self.side, names)?,
        };
        let mut types = Types::default();
        let mut wanted = Vec::new();
        for mapping in &self.settings.tables {
            let table = found.get(&mapping.name).ok_or_else(|| missing(mapping))?;
            wanted.extend(wanted_types(table, mapping, published.get(&mapping.name)));
        }
        types.look_up(&mut self.side, wanted)?;
        let mut described = Vec::with_capacity(self.settings.tables.len());
        for mapping in &self.settings.tables {
            let table = &found[&mapping.name];
            let mapped = Mapped::from_catalog(table, mapping, published.get(&mapping.name), &types);
            if mapping.loading {
                let (side, planned) = (&mut self.side, BTreeMap::new());
                loads::require_excluded(side, &self.settings, mapping, table, &mapped.table, &planned)?;
            }
            log_generated(table, &mapped);
            let fills = fill::fills(&mapped.table, &mapped.decoders, table, &Attributes::default());
            described.push(Description { fills, ..mapped.table.into() });
        }
        self.schema = described.iter().map(|description| description.table.clone()).collect();
        Ok(described)
    }

    /// Makes publication and slot anew and returns where the slot begins.
    ///
    /// # Errors
    /// `excluded_column_gone`, `slot_taken`, `slot_in_use`, `publication_missing`, and what the server refuses.
    pub fn setup(&mut self) -> Result<Vec<u8>, Failure> {
        let server = self.server()?;
        self.held = None;
        self.require_excluded_known(|_| true)?;
        connections::tell(&mut self.side, &self.settings)?;
        slot::remove(&mut self.side, &self.settings)?;
        publication::set_up(&mut self.side, &self.settings)?;
        let mut replication = self.open_replication()?;
        let cluster = Cluster::of(&mut replication)?;
        let is_standby = log_end(&mut self.side)?.is_standby;
        log::info(&format!(
            "making replication slot {:?}: this waits for {}",
            self.settings.slot,
            if is_standby {
                "the primary to tell of the transactions that run, which pg_log_standby_snapshot() there does at once"
            } else {
                "the transactions that run now"
            }
        ));
        let created = slot::create(&mut replication, &server, is_standby, &self.settings.slot)?;
        // The snapshot lives until `replication` is used or dropped: by then another session holds it.
        let mut held = Held::new(self.side.peer().open()?, Some(&created.snapshot))?;
        let marks = self.marks_at(&mut held)?;
        self.held = Some(held);
        let start = Position { marks, ..Position::between(cluster, created.consistent_point) }.to_bytes();
        self.settings.begin_load(&start);
        Ok(start)
    }

    /// The mapped tables as they are at a point.
    fn marks_at(&mut self, point: &mut impl Reads) -> Result<Marks, Failure> {
        let server = self.server()?;
        let published = match &self.settings.publication {
            Publication::Managed(_) => HashMap::new(),
            Publication::Given(name) => publication::tables(point, &server, name)?,
        };
        let mut marks = Marks::new(surroundings::horizon(point)?);
        let names = self.settings.tables.iter().map(|table| &table.name);
        let tables = catalog::tables_named(point, names)?;
        for mapping in &self.settings.tables {
            if let Some(table) = tables.get(&mapping.name) {
                excluded::require_known(mapping, table)?;
                let delivered = mapped::attributes(table, mapping, published.get(&mapping.name));
                let columns = table.columns.iter().filter(|column| delivered.contains(column.attribute));
                let names = columns.map(|column| (column.attribute, column.name.as_str())).collect();
                marks.add(&mapping.name, table.oid, table.file, delivered);
                let mark = marks.get_mut(&mapping.name).expect("it was added");
                mark.columns.names = names;
                mark.columns.exclude(mapping, table);
                mark.see(table);
                mark.filtered_by =
                    Some(published.get(&mapping.name).map_or(0, |published| published.filtered_by));
            }
        }
        marks.shapes.look(point, surroundings::types_of(&self.settings, &tables))?;
        marks.leaves = partitions::kept(point, &server, &tables)?;
        Ok(marks)
    }

    /// Holds a point to read the snapshot at.
    ///
    /// # Errors
    /// Whatever keeps the server from answering.
    pub fn hold_snapshot(&mut self) -> Result<Snapshot, Failure> {
        let held = match self.held.take() {
            Some(held) => held,
            None => Held::new(self.side.peer().open()?, None)?,
        };
        Ok(self.held.insert(held).snapshot())
    }

    /// Cuts a table into partitions.
    ///
    /// # Errors
    /// `table_not_mapped`, and what the server refuses.
    pub fn plan_snapshot(&mut self, table: &str, rows: u64, parallel: u32) -> Result<Vec<String>, Failure> {
        let server = self.server()?;
        let mapping = self.settings.table_named(table)?;
        // Rows are read with the columns of now. One that is added later comes by the stream, which tells the
        // destination of it in its place, with what rows from before it hold; later rows it brings itself.
        let described = catalog::tables_named(&mut self.side, [&mapping.name])?;
        let described = described.get(&mapping.name);
        let (root, columns) =
            (described.map(|table| table.oid), described.map_or(&[][..], |table| &table.columns));
        let mut key: Vec<&CatalogColumn> = columns.iter().filter(|column| column.key != 0).collect();
        key.sort_by_key(|column| column.key);
        let key: Vec<String> = key.into_iter().map(|column| column.name.clone()).collect();
        let request = plan::Request { table, rows, parallel };
        let partitions = plan::plan(&mut self.side, &server, mapping, &key, &request)?;
        let start = self.settings.load_place()?.map(|place| place.end);
        let partitions = partitions.into_iter();
        let of_load =
            |partition: Partition| partition.of_columns(root, columns, &mapping.exclude).of_load(start);
        Ok(partitions.map(|partition| of_load(partition).to_text()).collect())
    }

    /// The partition that brings one that was read at `horizon` up to a later point.
    ///
    /// # Errors
    /// `partition_unreadable`, `horizon_unreadable`.
    pub fn plan_catch_up(&mut self, partition: &str, horizon: &str) -> Result<String, Failure> {
        Ok(Partition::from_text(partition)?.catch_up(horizon)?.to_text())
    }

    /// Starts to read a partition at a held point.
    ///
    /// # Errors
    /// `snapshot_lost` and `table_rewritten`, after which a new point helps; `table_renamed` and `table_replaced`; `excluded_column_gone`; what the server refuses.
    pub fn open_snapshot(
        &mut self,
        token: &str,
        partition: &str,
        start: &[u8],
        generation: u32,
    ) -> Result<(), Failure> {
        let partition = Partition::from_text(partition)?;
        let start = match partition.start {
            Some(start) => Lsn(start),
            None => Place::from_bytes(start)?.end,
        };
        let version = reader::version(start, generation);
        let Readable { mapped, row_filter, kind } =
            self.readable(&partition.table, partition.columns.as_deref(), &partition.excluded)?;
        let root = partition.root.or_else(|| (kind != Kind::Partitioned).then_some(partition.leaf));
        if let Some(root) = root.filter(|root| *root != mapped.table.id) {
            let elsewhere = catalog::table_numbered(&mut self.side, root)?;
            let failure = elsewhere.map_or_else(replaced, |elsewhere| renamed(&elsewhere.name));
            return Err(failure.with_table(partition.table));
        }
        let row_filter = row_filter.as_deref();
        self.reader()?.open(token, &partition, mapped, row_filter, version)
    }

    /// Starts to read the rows that have one of the keys.
    ///
    /// # Errors
    /// `snapshot_lost`, after which a new point helps; `key_invalid`; `excluded_column_gone`; what the server refuses.
    pub fn open_lookup(
        &mut self,
        token: &str,
        table: &str,
        keys: &[Vec<String>],
        start: &[u8],
        generation: u32,
    ) -> Result<(), Failure> {
        let version = reader::version(Place::from_bytes(start)?.end, generation);
        let readable = self.readable(table, None, &BTreeMap::new())?;
        let sql = lookup::copy_sql(&readable, keys)?;
        self.reader()?.open_copy(token, &sql, readable.mapped, version)
    }

    /// A mapped table as it is now, with those of its columns that have these numbers, and none that are left out.
    fn readable(
        &mut self,
        table: &str,
        columns: Option<&[i32]>,
        excluded: &BTreeMap<String, i32>,
    ) -> Result<Readable, Failure> {
        let published = self.published()?;
        let mapping = self.settings.table_named(table)?;
        let published = published.get(&mapping.name);
        let found = catalog::tables_named(&mut self.side, [&mapping.name])?
            .remove(&mapping.name)
            .ok_or_else(|| missing(mapping))?;
        let mut table = found.clone();
        if let Some(columns) = columns {
            table.columns.retain(|column| columns.contains(&column.attribute));
        }
        let mut types = Types::default();
        types.look_up(&mut self.side, wanted_types(&table, mapping, published))?;
        let mapped = Mapped::from_catalog(&table, mapping, published, &types);
        let side = &mut self.side;
        loads::require_excluded(side, &self.settings, mapping, &found, &mapped.table, excluded)?;
        let name = self.settings.publication.name();
        let row_filter = publication::row_filter(&mut self.side, name, table.oid, published)?;
        Ok(Readable { mapped, row_filter, kind: table.kind })
    }

    fn reader(&mut self) -> Result<&mut Reader<P::Session>, Failure> {
        Ok(match &mut self.reader {
            Some(reader) => reader,
            none => none.insert(Reader::new(self.side.peer().open()?)),
        })
    }

    /// The next rows of the open partition; empty at its end.
    ///
    /// # Errors
    /// `value_unreadable` for a record; what the server refuses.
    pub fn read_snapshot(&mut self, limits: Limits) -> Result<Vec<u8>, Failure> {
        self.reader.as_mut().map_or_else(|| Ok(Vec::new()), |reader| reader.read(limits))
    }

    /// Starts the stream at a position.
    ///
    /// # Errors
    /// Class position-lost where the slot cannot serve the position, or, later, has another history; `slot_in_use`;
    /// `table_replaced`, `table_renamed` and `table_unlogged`; `partition_identity`; `excluded_column_gone`; `publication_missing`, `publication_lacks_table` and `publication_narrowed`.
    pub fn open(&mut self, start: &[u8]) -> Result<(), Failure> {
        let position = Position::from_bytes(start)?;
        self.stream = None;
        if self.settings.in_progress {
            // What an earlier stream put aside comes again.
            self.side.peer().spool().clear();
        }
        let mut replication = self.open_replication()?;
        let cluster = Cluster::of(&mut replication)?;
        cluster.require(&mut replication, &position.place)?;
        let server = self.server()?;
        let mut marks = position.marks.clone();
        let has_point = self.held.is_some();
        let is_loaded = |table: &&MappedTable| !table.loading || has_point;
        marks.keep(self.settings.tables.iter().map(|table| &table.name));
        self.mark_loaded(&mut marks)?;
        let mut partition_names = PartitionNames::default();
        let tables =
            surroundings::look(&mut self.side, &server, &self.settings, &mut marks, &mut partition_names)?;
        if Position::is_of_earlier_version(start) {
            loads::require_excluded_since(&mut self.side, &self.settings, &position.marks, &tables)?;
        }
        self.note_entries(&position.marks, &mut marks)?;
        let mut relations = Relations::new(server.clone(), marks);
        relations.name(tables.values());
        relations.deliver(&self.schema);
        if self.settings.rereads == Rereads::All {
            relations.tell_due(tables.keys());
        }
        // The point of the slot itself needs nothing: the stream starts right at it.
        if let Some(held) = self.held.take().filter(|held| held.sequence() > 0) {
            self.side.hold_moment(held);
        }
        let mut place = position.place;
        // Whether a server that was promoted has what was replicated, its timeline's history told.
        place.past.last = place.past.last.filter(|_| cluster == place.cluster);
        let begins = slot::start(&mut self.side, &mut replication, &server, &self.settings, &place)?;
        let name = self.settings.publication.name();
        // Before the next: what changes between the two, one of them tells.
        let oids = tables.values().map(|table| table.oid);
        let published = publication::state(&mut self.side, &server, name, oids)?;
        // Of tables that an edit took in it is new.
        let known = tables.values().filter(|table| position.marks.get(&table.name).is_some());
        let known = known.filter(|table| self.settings.table(&table.name).as_ref().is_some_and(is_loaded));
        let state = publication::state(&mut self.side, &server, name, known.map(|table| table.oid))?;
        let horizon = position.marks.horizon;
        let next = surroundings::next_transaction(&mut self.side)?;
        if horizon > 0 && state.iter().any(|(_, made_by)| rewrite::is_between(*made_by, horizon, next)) {
            publication::tell_changed(name, "while the mirror did not look");
        }
        let surroundings = Surroundings::new(server, &tables, partition_names, published);
        self.stream = Some(Stream::new(replication, cluster, place, begins, relations, surroundings));
        if Position::is_of_earlier_version(start) {
            log::warn(
                "the mirror goes on where an earlier version of Tarn ended, which did not note all that this one compares. \
                 Of what was changed between that end and this start, nothing is told of partitions that were detached or \
                 dropped, of types of columns that became others which write the same bytes, and of the primary key of a table \
                 with REPLICA IDENTITY FULL. Where tables of the source were changed then, compare the two by `tarn mirror \
                 verify`, and resync the mirror where they differ",
            );
        }
        Ok(())
    }

    /// The next changes.
    ///
    /// # Errors
    /// `value_unreadable` for a record; what ended the stream.
    pub fn read(&mut self, limits: Limits) -> Result<Changes, Failure> {
        let stream = self.stream.as_mut().ok_or_else(not_open)?;
        match stream.read(&mut self.side, &self.settings, limits) {
            Err(failure) if failure.code == spool::Error::FULL => {
                log::warn(&format!(
                    "{}: large transactions come once they have committed, until the mirror starts again",
                    failure.message
                ));
                let position = stream.position();
                self.side.peer().spool().clear();
                self.settings.in_progress = false;
                self.open(&position)?;
                let stream = self.stream.as_mut().ok_or_else(not_open)?;
                stream.read(&mut self.side, &self.settings, limits)
            }
            outcome => outcome,
        }
    }

    /// Lets the server forget everything before a position.
    ///
    /// # Errors
    /// What ended the stream.
    pub fn confirm(&mut self, position: &[u8]) -> Result<(), Failure> {
        let position = Position::from_bytes(position)?;
        self.stream.as_mut().ok_or_else(not_open)?.confirm(&position)
    }

    /// Takes changed settings and returns a position from which added tables are complete.
    ///
    /// # Errors
    /// `excluded_column_gone`, `publication_lacks_table`, `transactions_running`, and what the server refuses.
    pub fn alter(&mut self, config: SourceConfig) -> Result<Vec<u8>, Failure> {
        let server = self.server()?;
        self.settings = Settings::new(config);
        self.require_excluded_known(|table| table.loading)?;
        publication::alter(&mut self.side, &server, &self.settings)?;
        // What is written anew behind the position is so behind this.
        let loading = self.settings.tables.iter().filter(|table| table.loading).map(|table| &table.name);
        let tables = catalog::tables_named(&mut self.side, loading)?;
        // First the position, then the wait: what commits before the position has ended after the wait, so
        // that the load sees it. A commit is in the log before others see it.
        let start = log_end(&mut self.side)?.lsn;
        added::wait_for_older_transactions(&mut self.side)?;
        let cluster = Cluster::of(&mut self.open_replication()?)?;
        let marks = self.entry_marks(&tables)?;
        let start = Position { marks, ..Position::between(cluster, start) }.to_bytes();
        self.settings.begin_load(&start);
        Ok(start)
    }

    /// Removes slot and publication; names what it could not remove.
    ///
    /// # Errors
    /// None: what fails is in the answer.
    pub fn teardown(&mut self) -> Result<Vec<Problem>, Failure> {
        self.stream = None;
        self.reader = None;
        self.held = None;
        Ok(teardown::teardown(&mut self.side, &self.settings))
    }
}

fn not_open() -> Failure {
    Failure::permanent("stream_not_open", "the stream was read before it was opened")
}

/// The functions of the interface, on the server that the host has bound the plugin to.
impl Source for PostgresSource<HostPeer> {
    fn configure(config: SourceConfig) -> Result<Self, Failure> {
        Ok(Self::new(HostPeer, config))
    }

    fn version(&mut self) -> Result<String, Failure> {
        Self::version(self)
    }

    fn validate(&mut self) -> Result<Vec<Problem>, Failure> {
        Self::validate(self)
    }

    fn schema(&mut self) -> Result<Vec<Description>, Failure> {
        Self::schema(self)
    }

    fn setup(&mut self) -> Result<Vec<u8>, Failure> {
        Self::setup(self)
    }

    fn hold_snapshot(&mut self) -> Result<Snapshot, Failure> {
        Self::hold_snapshot(self)
    }

    fn plan_snapshot(&mut self, table: &str, rows: u64, parallel: u32) -> Result<Vec<String>, Failure> {
        Self::plan_snapshot(self, table, rows, parallel)
    }

    fn plan_catch_up(&mut self, partition: &str, horizon: &str) -> Result<String, Failure> {
        Self::plan_catch_up(self, partition, horizon)
    }

    fn open_snapshot(
        &mut self,
        token: &str,
        partition: &str,
        start: &[u8],
        generation: u32,
    ) -> Result<(), Failure> {
        Self::open_snapshot(self, token, partition, start, generation)
    }

    fn read_snapshot(&mut self, limits: Limits) -> Result<Vec<u8>, Failure> {
        Self::read_snapshot(self, limits)
    }

    fn open(&mut self, start: &[u8]) -> Result<(), Failure> {
        Self::open(self, start)
    }

    fn read(&mut self, limits: Limits) -> Result<Changes, Failure> {
        Self::read(self, limits)
    }

    fn confirm(&mut self, position: &[u8]) -> Result<(), Failure> {
        Self::confirm(self, position)
    }

    fn alter(&mut self, config: SourceConfig) -> Result<Vec<u8>, Failure> {
        Self::alter(self, config)
    }

    fn teardown(&mut self) -> Result<Vec<Problem>, Failure> {
        Self::teardown(self)
    }
}

impl Lookup for PostgresSource<HostPeer> {
    fn open_lookup(
        &mut self,
        token: &str,
        table: &str,
        keys: &[Vec<String>],
        start: &[u8],
        generation: u32,
    ) -> Result<(), Failure> {
        Self::open_lookup(self, token, table, keys, start, generation)
    }
}

impl Inspect for PostgresSource<HostPeer> {
    fn inspect(question: Question) -> Result<Answer, Failure> {
        inspect(HostPeer, &question)
    }
}
