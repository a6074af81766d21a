//! A PostgreSQL server set up for logical replication.

mod cluster;
mod psql;
mod release;
mod session;

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use cluster::Cluster;
use psql::Psql;
use release::Release;
pub use session::{Attempt, Session};

use crate::Row;
use crate::server_url::ServerUrl;

/// A database on a PostgreSQL server: a server of the fixture's own, or the one of
/// `TARN_TEST_POSTGRES_URL`.
#[derive(Debug)]
pub struct Postgres {
    psql: Psql,
    server: Server,
}

#[derive(Debug)]
enum Server {
    Own(Cluster),
    /// Only the database is ours.
    Given,
}

impl Postgres {
    /// A server with `wal_level = logical`, room for 20 slots and senders, and password
    /// authentication.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with further settings of `postgresql.conf`. A given server is used as it is.
    #[must_use]
    pub fn start_with(settings: &[(&str, &str)]) -> Self {
        let variable = "TARN_TEST_POSTGRES_URL";
        let schemes = ["postgres", "postgresql"];
        let Some(url) = ServerUrl::from_env(variable, &schemes, 5432, "postgres") else {
            return Self::own(Release::usual(), settings);
        };
        let admin = Psql {
            program: "psql".into(),
            host: url.host,
            port: url.port,
            user: url.user,
            password: url.password,
            database: "postgres".to_owned(),
        };
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let database = format!("tarn_test_{}_{next}", std::process::id());
        let made = admin.run(&format!("CREATE DATABASE {database}"));
        made.unwrap_or_else(|error| panic!("the server of {variable} made no database: {error}"));
        Self { psql: Psql { database, ..admin }, server: Server::Given }
    }

    /// The major versions that [`Postgres::start_major`] can start here, oldest first: what
    /// `tests/harness/setup` found. None where a server is given.
    #[must_use]
    pub fn majors() -> Vec<u32> {
        match std::env::var_os("TARN_TEST_POSTGRES_URL").filter(|url| !url.is_empty()) {
            Some(_) => Vec::new(),
            None => release::majors(),
        }
    }

    /// Whether a major version can be tested here. One that cannot is told, and is an error where
    /// `TARN_EVERY_RELEASE` asks for all.
    #[must_use]
    #[expect(clippy::print_stderr, reason = "whoever reads the tests' output should see what was not tested")]
    pub fn is_here(major: u32) -> bool {
        let is_here = Self::majors().contains(&major);
        let all_asked_for = std::env::var_os("TARN_EVERY_RELEASE").is_some_and(|value| !value.is_empty());
        assert!(
            is_here || !all_asked_for,
            "PostgreSQL {major} is not here: run tests/harness/setup releases"
        );
        if !is_here {
            eprintln!("NOT TESTED: PostgreSQL {major} is not here");
        }
        is_here
    }

    /// A server of a major version.
    #[must_use]
    pub fn start_major(major: u32, settings: &[(&str, &str)]) -> Self {
        Self::own(Release::of(major), settings)
    }

    fn own(release: Release, settings: &[(&str, &str)]) -> Self {
        let (cluster, psql) = Cluster::start(release, settings);
        Self { psql, server: Server::Own(cluster) }
    }

    /// Another database of the server, made with these options, such as an encoding. On a given server, one that a run
    /// before has left does not have its name.
    #[must_use]
    pub fn with_database(&self, name: &str, options: &str) -> Self {
        let database = format!("{name}_{}", std::process::id());
        self.query(&format!("CREATE DATABASE {database} {options}"));
        Self { psql: Psql { database, ..self.psql.clone() }, server: Server::Given }
    }

    /// The server's host.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.psql.host
    }

    /// The server's port; a restart keeps it.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.psql.port
    }

    /// The superuser.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.psql.user
    }

    /// The superuser's password. It holds characters that URLs and shells treat specially.
    #[must_use]
    pub fn password(&self) -> &str {
        &self.psql.password
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &str {
        &self.psql.database
    }

    /// A `postgres_config` of the API for this database.
    #[must_use]
    pub fn peer_config(&self) -> Value {
        json!({
            "host": self.host(),
            "port": self.port(),
            "user": self.user(),
            "password": self.password(),
            "database": self.database(),
        })
    }

    /// Runs SQL, each statement by itself, and returns the rows of them all. Panics with the
    /// server's message when one fails.
    #[track_caller]
    pub fn query(&self, sql: &str) -> Vec<Row> {
        self.try_query(sql).unwrap_or_else(|error| panic!("{error}\nin: {sql}"))
    }

    /// The same, with the server's message as the error.
    ///
    /// # Errors
    /// What `psql` said about the first statement that failed, or about the connection.
    pub fn try_query(&self, sql: &str) -> Result<Vec<Row>, String> {
        self.psql.run(sql)
    }

    /// The only value of the only row.
    #[track_caller]
    pub fn scalar(&self, sql: &str) -> Option<String> {
        let mut rows = self.query(sql);
        assert_eq!(rows.len(), 1, "one row expected of: {sql}");
        rows.remove(0).remove(0)
    }

    /// A connection of its own, for transactions that stay open.
    #[must_use]
    pub fn session(&self) -> Session {
        Session::open(&self.psql)
    }

    /// The same, for statements of which some may fail ([`Session::attempt`]).
    #[must_use]
    pub fn session_that_goes_on(&self) -> Session {
        Session::open_to_go_on(&self.psql)
    }

    /// Stops the server as an operator would; `start_again` starts it.
    pub fn stop(&mut self) {
        self.cluster().stop();
    }

    /// Kills every process of the server at once, as a power cut would.
    pub fn kill(&mut self) {
        self.cluster().kill();
    }

    /// Starts the stopped or killed server on its port and data and waits until it serves.
    pub fn start_again(&mut self) {
        let psql = self.psql.clone();
        self.cluster().start_again(&psql);
    }

    /// Copies what the stopped server stored, as a standby would have it that falls behind from there on.
    pub fn save(&mut self) {
        self.cluster().save();
    }

    /// Puts what was saved in the place of what the stopped server stored since.
    pub fn put_back(&mut self) {
        self.cluster().put_back();
    }

    /// Starts a standby of the stopped server, which needs a physical slot `standby` and has to be started again.
    pub fn standby(&mut self, settings: &[(&str, &str)]) -> Self {
        let (cluster, psql) = self.cluster().standby(settings);
        Self { psql, server: Server::Own(cluster) }
    }

    /// Starts the stopped server as a standby and promotes it, which begins a new timeline.
    pub fn promote(&mut self) {
        self.cluster().make_standby();
        self.start_again();
        self.query("SELECT pg_promote()");
    }

    /// What the server has logged.
    #[must_use]
    pub fn log(&self) -> String {
        match &self.server {
            Server::Own(cluster) => cluster.log(),
            Server::Given => String::new(),
        }
    }

    fn cluster(&mut self) -> &mut Cluster {
        match &mut self.server {
            Server::Own(cluster) => cluster,
            Server::Given => {
                panic!("this test stops PostgreSQL: it needs its own, without TARN_TEST_POSTGRES_URL")
            }
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if matches!(self.server, Server::Given) {
            let admin = Psql { database: "postgres".to_owned(), ..self.psql.clone() };
            // A test that failed may have left slots, which keep the database; nothing to add.
            let _dropped = admin.run(&format!("DROP DATABASE {} WITH (FORCE)", self.database()));
        }
    }
}
