//! The plugin over the driver, natively, against a real server.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tarn_batch::text::write_text;
use tarn_batch::{Batch, Cell, Op, Table, Type, Version};
use tarn_harness::Postgres;
use tarn_model::{PostgresConfig, Secret};
use tarn_plugin_postgres::{Peer, PostgresSource, Session, Spool};
use tarn_postgres::{Client, Connection};
use tarn_sdk::postgres::{Error, Row};
use tarn_sdk::{Failure, Limits, SourceConfig, SourceTable, spool};
use tokio::runtime::Runtime;

/// Nothing waits this long unless something is wrong.
pub const PATIENCE_MS: u32 = 20_000;

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new().expect("a runtime"))
}

/// Opens the plugin's sessions through the driver.
#[derive(Clone, Debug)]
pub struct DriverPeer {
    client: Client,
    /// Every copy that a session was asked for.
    copies: Arc<Mutex<Vec<String>>>,
    /// How many statements its sessions were asked.
    asked: Arc<AtomicUsize>,
    aside: Aside,
    meanwhile: Meanwhile,
}

/// What somebody else does right before the next statement that contains a text.
pub type Meanwhile = Arc<Mutex<Option<(&'static str, String)>>>;

/// What is in the statement that comes before a partition is read.
pub const BEFORE_READING: &str = "SET TRANSACTION SNAPSHOT";

/// What is put aside, and how much may be.
#[derive(Clone, Debug)]
pub struct Aside {
    files: Arc<Mutex<HashMap<u64, Vec<u8>>>>,
    /// How many bytes were ever put aside.
    pub bytes: Arc<AtomicUsize>,
    pub bytes_max: usize,
}

impl Aside {
    pub fn of(bytes_max: usize) -> Self {
        Self { files: Arc::default(), bytes: Arc::default(), bytes_max }
    }

    /// How many files there are.
    pub fn files(&self) -> usize {
        self.files.lock().expect("no panic").len()
    }
}

impl Spool for Aside {
    fn append(&self, file: u64, bytes: &[u8]) -> Result<(), spool::Error> {
        let mut files = self.files.lock().expect("no panic");
        if files.values().map(Vec::len).sum::<usize>() + bytes.len() > self.bytes_max {
            return Err(spool::Error { full: true, message: "no room".to_owned() });
        }
        files.entry(file).or_default().extend_from_slice(bytes);
        self.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        Ok(())
    }

    fn read(&self, file: u64, offset: u64, bytes_max: u32) -> Result<Vec<u8>, spool::Error> {
        let files = self.files.lock().expect("no panic");
        let rest = files.get(&file).map_or(&[][..], |bytes| &bytes[offset as usize..]);
        // Whatever is asked for, a message may come in parts.
        Ok(rest[..rest.len().min(bytes_max as usize).min(10_007)].to_vec())
    }

    fn remove(&self, file: u64) {
        self.files.lock().expect("no panic").remove(&file);
    }

    fn clear(&self) {
        self.files.lock().expect("no panic").clear();
    }
}

/// A session of the driver, called as a plugin calls it.
#[derive(Debug)]
pub struct DriverSession {
    connection: Option<Connection>,
    peer: DriverPeer,
}

impl DriverPeer {
    pub fn new(server: &Postgres) -> Self {
        Self::of_role(server, server.user(), server.password())
    }

    pub fn of_role(server: &Postgres, user: &str, password: &str) -> Self {
        let client = Client::new(PostgresConfig {
            host: server.host().to_owned(),
            port: server.port(),
            user: user.to_owned(),
            password: Secret::new(password),
            database: server.database().to_owned(),
            ..PostgresConfig::default()
        });
        Self {
            client,
            copies: Arc::default(),
            asked: Arc::default(),
            aside: Aside::of(1 << 30),
            meanwhile: Meanwhile::default(),
        }
    }

    fn session(&self, opened: Result<Connection, tarn_postgres::Error>) -> Result<DriverSession, Error> {
        let connection = opened.map_err(|error| told(&error))?;
        Ok(DriverSession { connection: Some(connection), peer: self.clone() })
    }
}

impl Peer for DriverPeer {
    type Session = DriverSession;

    fn open(&self) -> Result<DriverSession, Error> {
        self.session(runtime().block_on(self.client.open()))
    }

    fn open_replication(&self) -> Result<DriverSession, Error> {
        self.session(runtime().block_on(self.client.open_replication()))
    }

    fn spool(&self) -> &impl Spool {
        &self.aside
    }
}

impl DriverSession {
    fn connection(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("it is closed only when it is dropped")
    }
}

impl Session for DriverSession {
    fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        let is_next = |(before, _): &mut (&str, String)| sql.contains(*before);
        let meanwhile = self.peer.meanwhile.lock().expect("no panic").take_if(is_next);
        if let Some((_, meanwhile)) = meanwhile {
            self.peer.open()?.query(&meanwhile)?;
        }
        self.peer.asked.fetch_add(1, Ordering::Relaxed);
        runtime().block_on(self.connection().query(sql)).map_err(|error| told(&error))
    }

    fn copy_out(&mut self, sql: &str) -> Result<(), Error> {
        self.peer.copies.lock().expect("no panic").push(sql.to_owned());
        runtime().block_on(self.connection().copy_out(sql)).map_err(|error| told(&error))
    }

    fn copy_read(&mut self, bytes_max: u32) -> Result<Vec<u8>, Error> {
        runtime().block_on(self.connection().copy_read(bytes_max as usize)).map_err(|error| told(&error))
    }

    fn stream(&mut self, command: &str) -> Result<(), Error> {
        runtime().block_on(self.connection().stream(command)).map_err(|error| told(&error))
    }

    fn stream_read(&mut self, bytes_max: u32, wait_ms: u32) -> Result<Vec<u8>, Error> {
        let wait = Duration::from_millis(wait_ms.into());
        let read = runtime().block_on(self.connection().stream_read(bytes_max as usize, wait));
        read.map_err(|error| told(&error))
    }

    fn stream_confirm(&mut self, written: u64, flushed: u64, applied: u64) -> Result<(), Error> {
        let confirmed = runtime().block_on(self.connection().stream_confirm(written, flushed, applied));
        confirmed.map_err(|error| told(&error))
    }
}

impl Drop for DriverSession {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            runtime().block_on(connection.close());
        }
    }
}

fn told(error: &tarn_postgres::Error) -> Error {
    Error { sqlstate: error.sqlstate().to_owned(), message: error.chain(), detail: error.detail() }
}

pub type Source = PostgresSource<DriverPeer>;

/// Settings of a mirror of its own publication.
pub fn config(mirror: &str, tables: &[&str]) -> SourceConfig {
    SourceConfig {
        mirror: mirror.to_owned(),
        slot: format!("tarn_slot_{mirror}"),
        publication: format!("tarn_pub_{mirror}"),
        publication_managed: true,
        tables: tables
            .iter()
            .map(|table| SourceTable { source: (*table).to_owned(), ..SourceTable::default() })
            .collect(),
        loading: Vec::new(),
        messages: false,
        in_progress: false,
        relations: tarn_sdk::Relations::None,
        rereads: tarn_sdk::Rereads::All,
        whole_rows: false,
        load_start: Vec::new(),
        load_workers: 0,
    }
}

pub fn source(server: &Postgres, config: SourceConfig) -> Source {
    PostgresSource::new(DriverPeer::new(server), config)
}

/// The same, and what is to happen in between.
pub fn interrupted_source(server: &Postgres, config: SourceConfig) -> (Source, Meanwhile) {
    let peer = DriverPeer::new(server);
    let meanwhile = Arc::clone(&peer.meanwhile);
    (PostgresSource::new(peer, config), meanwhile)
}

/// The same with a place to put things aside.
pub fn spooling_source(server: &Postgres, config: SourceConfig, aside: &Aside) -> Source {
    counted_source(server, config, aside).0
}

/// The same, and how many statements its sessions were asked.
pub fn counted_source(server: &Postgres, config: SourceConfig, aside: &Aside) -> (Source, Arc<AtomicUsize>) {
    let peer = DriverPeer { aside: aside.clone(), ..DriverPeer::new(server) };
    let asked = Arc::clone(&peer.asked);
    (PostgresSource::new(peer, SourceConfig { in_progress: true, ..config }), asked)
}

/// The same, and the copies that it will ask for.
pub fn watched_source(server: &Postgres, config: SourceConfig) -> (Source, Arc<Mutex<Vec<String>>>) {
    let peer = DriverPeer::new(server);
    let copies = Arc::clone(&peer.copies);
    (PostgresSource::new(peer, config), copies)
}

/// A row of a batch, its values as the server's text; of a message of the log, its prefix and content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub op: Op,
    pub table: String,
    pub version: Version,
    pub after: Vec<String>,
    pub before: Vec<String>,
}

/// The rows of a batch; none of empty bytes. `NULL` and `<unchanged>` stand for what they say.
pub fn rows(bytes: &[u8]) -> Vec<Seen> {
    if bytes.is_empty() {
        return Vec::new();
    }
    let batch = Batch::parse(bytes).expect("a batch");
    let seen = batch.rows().map(|row| {
        let row = row.expect("a row");
        let table = batch.table(&row);
        let header = row.header();
        let after = match row.log_message().expect("a message") {
            Some(message) => {
                vec![message.prefix.to_owned(), String::from_utf8_lossy(message.content).into_owned()]
            }
            None if header.op == Op::Delete => Vec::new(),
            None => texts(table, row.after()),
        };
        let before = row.before().map_or_else(Vec::new, |(_, cells)| texts(table, cells));
        Seen { op: header.op, table: table.qualified_name(), version: header.version, after, before }
    });
    seen.collect()
}

fn texts<'a>(
    table: &Table,
    cells: impl Iterator<Item = Result<Cell<'a>, tarn_batch::DecodeError>>,
) -> Vec<String> {
    let texts = cells.zip(&table.columns).map(|(cell, column)| match cell.expect("a cell") {
        Cell::Null => "NULL".to_owned(),
        Cell::Unchanged => "<unchanged>".to_owned(),
        Cell::Value(value) => text(&column.data_type, value),
    });
    texts.collect()
}

fn text(data_type: &Type, value: &[u8]) -> String {
    let mut text = String::new();
    write_text(data_type, value, &mut text).expect("a value in the form of its type");
    text
}

/// The same settings with a publication of somebody else.
pub fn published_by(publication: &str, config: SourceConfig) -> SourceConfig {
    SourceConfig { publication: publication.to_owned(), publication_managed: false, ..config }
}

pub fn limits(rows_max: u32) -> Limits {
    Limits { rows_max, bytes_max: 1 << 20, wait_ms: PATIENCE_MS }
}

/// Everything a stream delivers until `count` rows came, and the position after each read.
pub fn stream(
    source: &mut Source,
    count: usize,
    rows_max: u32,
) -> Result<(Vec<Seen>, Vec<Vec<u8>>), Failure> {
    let mut seen = Vec::new();
    let mut positions = Vec::new();
    while seen.len() < count {
        let changes = source.read(limits(rows_max))?;
        assert!(changes.rows > 0, "only {} of {count} rows came", seen.len());
        seen.extend(rows(&changes.batch));
        positions.push(changes.position);
    }
    Ok((seen, positions))
}

/// The rows of a table's snapshot, read partition by partition at a point of its own.
pub fn snapshot(source: &mut Source, table: &str, start: &[u8], rows_per_partition: u64) -> Vec<Seen> {
    let held = source.hold_snapshot().expect("a point");
    let partitions = source.plan_snapshot(table, rows_per_partition, 1).expect("partitions");
    partitions.iter().flat_map(|partition| read(source, &held.token, partition, start, 0)).collect()
}

/// The rows of a partition.
pub fn read(source: &mut Source, token: &str, partition: &str, start: &[u8], generation: u32) -> Vec<Seen> {
    source.open_snapshot(token, partition, start, generation).expect("the partition opens");
    let mut seen = Vec::new();
    loop {
        let batch = source.read_snapshot(limits(1000)).expect("rows");
        if batch.is_empty() {
            return seen;
        }
        seen.extend(rows(&batch));
    }
}
