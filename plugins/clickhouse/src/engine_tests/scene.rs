//! An engine, and a connector on it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use tarn_batch::{Column, Table, Type};
use tarn_harness::{ClickHouse, HttpAnswer, Row};
use tarn_sdk::{DestinationConfig, DestinationTable, Failure};

use crate::client::{Client, Error, Insert};
use crate::connector::Connector;

/// A client of the harness' engine, which can be told to fail.
pub(super) struct Dev {
    server: Arc<ClickHouse>,
    pub(super) trouble: Rc<Trouble>,
}

/// What goes wrong on purpose, and what was counted.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    /// Inserts that succeed and whose answer is lost.
    pub(super) lost_answers: Cell<u32>,
    /// Answers larger than this are refused; 0 for no limit.
    pub(super) answer_bytes_max: Cell<usize>,
    pub(super) inserts: Cell<u32>,
    /// Inserts that were ended before they were waited for.
    pub(super) ends: Cell<u32>,
    /// Inserts that were waited for.
    pub(super) finished: Cell<u32>,
    pub(super) queries: Cell<u32>,
    /// The database has no EXCHANGE.
    pub(super) refuses_exchange: Cell<bool>,
    /// After so many statements the process ends, at the next one; `None` for never.
    pub(super) dies_after: Cell<Option<Death>>,
    /// Settings of the user's profile.
    pub(super) profile: RefCell<Vec<(String, String)>>,
}

impl Trouble {
    /// Gives the connector's user a profile.
    pub(super) fn set_profile(&self, settings: &[(&str, &str)]) {
        let settings = settings.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        *self.profile.borrow_mut() = settings.collect();
    }
}

/// The end of the process at a statement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Death {
    pub(super) statements: u32,
    /// Whether the server carries out the last one.
    pub(super) carried_out: bool,
}

impl Dev {
    fn take(answer: std::io::Result<HttpAnswer>) -> Result<Vec<u8>, Error> {
        let answer = answer.map_err(|error| Error { code: 0, message: error.to_string() })?;
        match answer.header("x-clickhouse-exception-code") {
            Some(code) => Err(Error { code: code.parse().expect("a number"), message: answer.text() }),
            None => Ok(answer.body),
        }
    }
}

impl Client for Dev {
    type Insert = Sent;

    fn query(&mut self, sql: &str) -> Result<Vec<u8>, Error> {
        self.trouble.queries.set(self.trouble.queries.get() + 1);
        if self.trouble.refuses_exchange.get() && sql.starts_with("EXCHANGE") {
            return Err(Error { code: 48, message: "not implemented".to_owned() });
        }
        if let Some(death) = self.trouble.dies_after.get() {
            if death.statements == 0 {
                if death.carried_out {
                    Self::take(self.server.post(&self.trouble.profile.borrow(), sql.as_bytes()))?;
                }
                return Err(Error { code: 0, message: "killed".to_owned() });
            }
            let statements = death.statements - 1;
            self.trouble.dies_after.set(Some(Death { statements, ..death }));
        }
        let answer = Self::take(self.server.post(&self.trouble.profile.borrow(), sql.as_bytes()))?;
        let limit = self.trouble.answer_bytes_max.get();
        if limit > 0 && answer.len() > limit {
            return Err(Error { code: 396, message: "too large".to_owned() });
        }
        Ok(answer)
    }

    fn insert(&mut self, sql: &str, settings: &[(String, String)]) -> Result<Sent, Error> {
        self.trouble.inserts.set(self.trouble.inserts.get() + 1);
        Ok(Sent {
            server: Arc::clone(&self.server),
            trouble: Rc::clone(&self.trouble),
            settings: [settings, &self.trouble.profile.borrow()].concat(),
            body: format!("{sql}\n").into_bytes(),
        })
    }
}

/// Rows that reach the engine all at once.
#[derive(Debug)]
pub(super) struct Sent {
    server: Arc<ClickHouse>,
    trouble: Rc<Trouble>,
    settings: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Insert for Sent {
    fn append(&mut self, rows: &[u8]) -> Result<(), Error> {
        self.body.extend_from_slice(rows);
        Ok(())
    }

    fn end(&mut self) {
        self.trouble.ends.set(self.trouble.ends.get() + 1);
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.trouble.finished.set(self.trouble.finished.get() + 1);
        Dev::take(self.server.post(&self.settings, &self.body))?;
        match self.trouble.lost_answers.get() {
            0 => Ok(()),
            left => {
                self.trouble.lost_answers.set(left - 1);
                Err(Error { code: 0, message: "connection reset".to_owned() })
            }
        }
    }
}

/// An engine with a connector whose mirror maps `public.t` to `t` and `public.u` to `u`.
pub(super) struct Scene {
    server: Arc<ClickHouse>,
    pub(super) connector: Connector<Dev>,
    pub(super) trouble: Rc<Trouble>,
    config: DestinationConfig,
}

impl Scene {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    /// The same with changed settings.
    pub(super) fn with(change: impl FnOnce(&mut DestinationConfig)) -> Self {
        let mapping = |source: &str, destination: &str| DestinationTable {
            source: source.to_owned(),
            destination: destination.to_owned(),
            ..DestinationTable::default()
        };
        let mut config = DestinationConfig {
            mirror: "m".to_owned(),
            tables: vec![mapping("public.t", "t"), mapping("public.u", "u")],
            ..DestinationConfig::default()
        };
        change(&mut config);
        let server = Arc::new(ClickHouse::shared());
        let trouble = Rc::new(Trouble::default());
        let client = Dev { server: Arc::clone(&server), trouble: Rc::clone(&trouble) };
        let connector = Connector::new(config.clone(), client);
        Self { server, connector, trouble, config }
    }

    /// As if the mirror had been stopped and started: nothing is remembered.
    pub(super) fn restart(&mut self) {
        let client = Dev { server: Arc::clone(&self.server), trouble: Rc::clone(&self.trouble) };
        self.connector = Connector::new(self.config.clone(), client);
    }

    /// From now on the connector is for a load beside.
    pub(super) fn load_beside(&mut self, load: &str) {
        load.clone_into(&mut self.config.beside);
        self.restart();
    }

    /// Does something by so many connectors of the same mirror at once, each in a thread of its own.
    pub(super) fn at_once(&self, connectors: usize, act: impl Fn(&mut Connector<Dev>) + Sync) {
        let (server, config) = (&self.server, &self.config);
        let start = std::sync::Barrier::new(connectors);
        std::thread::scope(|scope| {
            for _ in 0..connectors {
                scope.spawn(|| {
                    let client = Dev { server: Arc::clone(server), trouble: Rc::default() };
                    let mut connector = Connector::new(config.clone(), client);
                    start.wait();
                    act(&mut connector);
                });
            }
        });
    }

    /// Does something by another connector of the same mirror.
    pub(super) fn beside(&mut self, act: impl FnOnce(&mut Self)) {
        let client = Dev { server: Arc::clone(&self.server), trouble: Rc::clone(&self.trouble) };
        let connector = std::mem::replace(&mut self.connector, Connector::new(self.config.clone(), client));
        act(self);
        self.connector = connector;
    }

    #[track_caller]
    pub(super) fn prepare(&mut self, table: &Table) {
        self.connector.prepare(&[table.clone().into()]).expect("the table is made");
    }

    #[track_caller]
    pub(super) fn write(&mut self, batch: &[u8]) {
        self.try_write(batch).expect("the rows are written");
    }

    /// Writes and flushes, as the host does after the last write.
    pub(super) fn try_write(&mut self, batch: &[u8]) -> Result<(), Failure> {
        self.connector.write(&[batch.to_vec()])?;
        self.connector.flush()
    }

    #[track_caller]
    pub(super) fn query(&self, sql: &str) -> Vec<Row> {
        self.server.query(sql)
    }

    /// The same, with the server's message as the error.
    pub(super) fn try_query(&self, sql: &str) -> Result<Vec<Row>, String> {
        self.server.try_query(sql)
    }

    /// The rows as text, columns joined by a bar and NULL as such.
    #[track_caller]
    pub(super) fn rows(&self, sql: &str) -> Vec<String> {
        let text = |value: Option<String>| value.unwrap_or_else(|| "NULL".to_owned());
        self.query(sql)
            .into_iter()
            .map(|row| row.into_iter().map(text).collect::<Vec<_>>().join("|"))
            .collect()
    }
}

/// A table `public.<name>` of `(name, type, nullable)`, whose first column is the key.
pub(super) fn table(name: &str, columns: &[(&str, Type, bool)]) -> Table {
    let columns = columns.iter().enumerate().map(|(at, (name, data_type, nullable))| Column {
        name: (*name).to_owned(),
        data_type: data_type.clone(),
        type_name: format!("{data_type:?}").to_lowercase(),
        nullable: *nullable,
        key: u16::from(at == 0),
        attribute: i32::try_from(at).expect("few columns") + 1,
    });
    Table {
        id: 16_384,
        schema: "public".to_owned(),
        name: name.to_owned(),
        version: 1,
        columns: columns.collect(),
    }
}
