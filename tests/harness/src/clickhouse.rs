//! The ClickHouse engine behind its HTTP interface.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Row;
use crate::config::{START_ATTEMPTS_MAX, START_DEADLINE};
use crate::http::{HttpAnswer, Request, percent_encoded};
use crate::port::free_port;
use crate::process::{self, Process};
use crate::server_url::ServerUrl;
use crate::small_disk;
use crate::tsv;
use crate::venv;
use crate::wait::until_within;

const USER: &str = "tarn";

/// The user's password.
const PASSWORD: &str = "tarn-test ch p@ss:w/?ord#%";

/// A database of the ClickHouse engine: one of the fixture's own, or on the server of
/// `TARN_TEST_CLICKHOUSE_URL` (http only).
#[derive(Debug)]
pub struct ClickHouse {
    address: ServerUrl,
    database: String,
    server: Server,
}

#[derive(Debug)]
enum Server {
    Own(Engine),
    /// One engine for the test process; only the database is ours.
    Shared,
    /// Only the database is ours.
    Given,
}

impl ClickHouse {
    /// An engine of its own with an empty database, for tests that stop it.
    #[must_use]
    pub fn start() -> Self {
        Self::with_database(given().unwrap_or_else(|| {
            let engine = Engine::start();
            (engine.address(), Server::Own(engine))
        }))
    }

    /// An engine of its own on a disk of so many MiB. It forgets everything when it is stopped.
    #[must_use]
    pub fn start_on_disk(mib: u32) -> Self {
        let engine = Engine::start_with(|_| None, Bounds { disk_mib: Some(mib), ..Bounds::default() });
        Self::with_database((engine.address(), Server::Own(engine)))
    }

    /// An engine of its own whose user has a quota: so many bytes are written in each interval, and no insert after that.
    #[must_use]
    pub fn start_with_quota(written_bytes: u64, interval: Duration) -> Self {
        let quota = Some((written_bytes, interval));
        let engine = Engine::start_with(|_| None, Bounds { quota, ..Bounds::default() });
        Self::with_database((engine.address(), Server::Own(engine)))
    }

    /// An engine of its own that serves HTTPS on a second port, with a certificate and its key, and takes
    /// clients with a certificate of `client_authority` only, where one is given. All are PEM.
    #[must_use]
    pub fn start_with_https(certificate: &str, key: &str, client_authority: Option<&str>) -> Self {
        let https = |folder: &Path| Some(Https::new(folder, certificate, key, client_authority));
        let engine = Engine::start_with(https, Bounds::default());
        Self::with_database((engine.address(), Server::Own(engine)))
    }

    /// An empty database on the engine that all tests of this process share.
    #[must_use]
    pub fn shared() -> Self {
        // Never dropped: the leash ends it with the process.
        static ENGINE: OnceLock<Engine> = OnceLock::new();
        Self::with_database(
            given().unwrap_or_else(|| (ENGINE.get_or_init(Engine::start).address(), Server::Shared)),
        )
    }

    fn with_database((address, server): (ServerUrl, Server)) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let database = format!("tarn_test_{}_{next}", std::process::id());
        let clickhouse = Self { address, database, server };
        clickhouse
            .ask("", &format!("CREATE DATABASE {} ENGINE = Atomic", clickhouse.database))
            .unwrap_or_else(|error| panic!("ClickHouse made no database: {error}"));
        clickhouse
    }

    /// The server's host.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.address.host
    }

    /// The HTTP port; a restart keeps it.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port
    }

    /// The HTTPS port. Panics where there is none.
    #[must_use]
    pub fn https_port(&self) -> u16 {
        let Server::Own(Engine { https: Some(https), .. }) = &self.server else {
            panic!("only an engine of start_with_https has an HTTPS port")
        };
        https.port
    }

    /// The user.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.address.user
    }

    /// The user's password. It holds characters that URLs and shells treat specially.
    #[must_use]
    pub fn password(&self) -> &str {
        &self.address.password
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &str {
        &self.database
    }

    /// A `clickhouse_config` of the API for this database.
    #[must_use]
    pub fn peer_config(&self) -> Value {
        json!({
            "host": self.host(),
            "port": self.port(),
            "user": self.user(),
            "password": self.password(),
            "database": self.database(),
            "disable_tls": true,
        })
    }

    /// Runs a statement and returns its rows. Panics with the server's message when it fails.
    #[track_caller]
    pub fn query(&self, sql: &str) -> Vec<Row> {
        self.try_query(sql).unwrap_or_else(|error| panic!("{error}\nin: {sql}"))
    }

    /// The same, with the server's message as the error.
    ///
    /// # Errors
    /// What the server answered, or how the connection failed.
    pub fn try_query(&self, sql: &str) -> Result<Vec<Row>, String> {
        Ok(tsv::rows(&self.ask(&self.database, sql)?.text()))
    }

    /// The only value of the only row.
    #[track_caller]
    pub fn scalar(&self, sql: &str) -> Option<String> {
        let mut rows = self.query(sql);
        assert_eq!(rows.len(), 1, "one row expected of: {sql}");
        rows.remove(0).remove(0)
    }

    /// POSTs a body, such as `INSERT … FORMAT RowBinary` and its data, under settings.
    ///
    /// # Errors
    /// When no answer arrives; a refusal is an answer.
    pub fn post(&self, settings: &[(String, String)], body: &[u8]) -> std::io::Result<HttpAnswer> {
        self.request(&self.database, settings, body)
    }

    /// Stops the server as an operator would; `start_again` starts it.
    pub fn stop(&mut self) {
        if let Some(server) = self.own().process.take() {
            server.stop("TERM");
        }
    }

    /// Kills the server at once, as a power cut would.
    pub fn kill(&mut self) {
        // Dropping kills.
        drop(self.own().process.take());
    }

    /// Starts the stopped or killed server on its port and data and waits until it serves.
    pub fn start_again(&mut self) {
        let engine = self.own();
        assert!(engine.process.is_none(), "ClickHouse is running");
        assert!(engine.serve(), "the engine does not start again; its log ends:\n{}", engine.log_tail());
    }

    /// What the next inserts meet, each line once: `243 NOT_ENOUGH_SPACE` refuses one with this error, `cut` resets its
    /// connection before anything is written and `reset` after, `hold` lets all wait until this is called anew.
    pub fn fault_inserts(&self, faults: &[&str]) {
        let file = self.faults();
        let new = file.with_extension("next");
        std::fs::write(&new, faults.join("\n")).expect("a file of the engine can be written");
        std::fs::rename(new, file).expect("a file of the engine can be renamed");
    }

    /// How many inserts are still to meet something.
    #[must_use]
    pub fn faults_left(&self) -> usize {
        // Not there before the first call.
        std::fs::read_to_string(self.faults()).map_or(0, |text| text.lines().count())
    }

    fn faults(&self) -> PathBuf {
        let Server::Own(engine) = &self.server else {
            panic!("this test makes inserts go wrong: it needs a ClickHouse of its own, by start()")
        };
        engine.faults()
    }

    fn own(&mut self) -> &mut Engine {
        match &mut self.server {
            Server::Own(engine) => engine,
            Server::Shared => panic!("this test stops ClickHouse: it needs its own, by start()"),
            Server::Given => {
                panic!("this test stops ClickHouse: it needs its own, without TARN_TEST_CLICKHOUSE_URL")
            }
        }
    }

    fn ask(&self, database: &str, sql: &str) -> Result<HttpAnswer, String> {
        let answer = self.request(database, &[], sql.as_bytes());
        let answer = answer.map_err(|error| format!("no answer from ClickHouse: {error}"))?;
        if answer.status == 200 { Ok(answer) } else { Err(answer.text().trim().to_owned()) }
    }

    fn request(
        &self,
        database: &str,
        settings: &[(String, String)],
        body: &[u8],
    ) -> std::io::Result<HttpAnswer> {
        let mut path = format!("/?database={}&wait_end_of_query=1", percent_encoded(database));
        for (name, value) in settings {
            path.push_str(&format!("&{}={}", percent_encoded(name), percent_encoded(value)));
        }
        let headers = [("X-ClickHouse-User", self.user()), ("X-ClickHouse-Key", self.password())];
        Request { method: "POST", path: &path, headers: &headers, body }.send(self.host(), self.port())
    }
}

impl Drop for ClickHouse {
    fn drop(&mut self) {
        if matches!(self.server, Server::Shared | Server::Given) {
            // The test has its result; a database left behind is named after it.
            let _dropped = self.ask("", &format!("DROP DATABASE IF EXISTS {} SYNC", self.database));
        }
    }
}

/// The server of `TARN_TEST_CLICKHOUSE_URL`.
fn given() -> Option<(ServerUrl, Server)> {
    let url = ServerUrl::from_env("TARN_TEST_CLICKHOUSE_URL", &["http"], 8123, "default")?;
    Some((url, Server::Given))
}

/// The engine's process on a folder of its own.
#[derive(Debug)]
struct Engine {
    /// `None` while stopped. Before the folder, so that it ends first.
    process: Option<Process>,
    folder: TempDir,
    port: u16,
    https: Option<Https>,
    bounds: Bounds,
}

/// What an engine has less of than others.
#[derive(Debug, Default)]
struct Bounds {
    /// The size of its disk, if it is to be a small one.
    disk_mib: Option<u32>,
    /// The bytes that may be written in each interval.
    quota: Option<(u64, Duration)>,
}

/// What HTTPS needs: a port, and files in the engine's folder.
#[derive(Debug)]
struct Https {
    port: u16,
    arguments: Vec<OsString>,
}

impl Https {
    fn new(folder: &Path, certificate: &str, key: &str, client_authority: Option<&str>) -> Self {
        let mut arguments = Vec::new();
        let files = [
            ("--certificate", Some(certificate)),
            ("--private-key", Some(key)),
            ("--client-authority", client_authority),
        ];
        for (argument, pem) in files {
            let Some(pem) = pem else { continue };
            let path = folder.join(&argument[2..]);
            std::fs::write(&path, pem).expect("a file of the engine can be written");
            arguments.extend([argument.into(), path.into()]);
        }
        Self { port: 0, arguments }
    }
}

impl Engine {
    fn start() -> Self {
        Self::start_with(|_| None, Bounds::default())
    }

    fn start_with(https: impl FnOnce(&Path) -> Option<Https>, bounds: Bounds) -> Self {
        let folder =
            tempfile::Builder::new().prefix("tarn-clickhouse-").tempdir().expect("a folder can be made");
        let https = https(folder.path());
        let mut engine = Self { process: None, folder, port: 0, https, bounds };
        for _ in 0..START_ATTEMPTS_MAX {
            engine.port = free_port();
            if let Some(https) = &mut engine.https {
                https.port = free_port();
            }
            if engine.serve() {
                return engine;
            }
        }
        panic!("the ClickHouse engine does not start; its log ends:\n{}", engine.log_tail());
    }

    fn address(&self) -> ServerUrl {
        ServerUrl {
            host: "127.0.0.1".to_owned(),
            port: self.port,
            user: USER.to_owned(),
            password: PASSWORD.to_owned(),
        }
    }

    /// Starts the process and waits; false when it ended instead.
    fn serve(&mut self) -> bool {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clickhouse/engine.py");
        let data = self.folder.path().join("data");
        let python = venv::program("python");
        let mut command = match self.bounds.disk_mib {
            Some(mib) => small_disk::on(mib, &data, &python),
            None => Command::new(python),
        };
        command
            .arg(script)
            .arg("--path")
            .arg(data)
            .args(["--port", &self.port.to_string(), "--user", USER, "--verbose"])
            .arg("--faults")
            .arg(self.faults())
            .env("ENGINE_PASSWORD", PASSWORD)
            .current_dir(self.folder.path());
        if let Some(https) = &self.https {
            command.args(["--https-port", &https.port.to_string()]).args(&https.arguments);
        }
        if let Some((bytes, interval)) = self.bounds.quota {
            command.args(["--quota", &bytes.to_string(), &interval.as_secs().to_string()]);
        }
        let mut process = Process::start(&mut command, self.folder.path());
        let ping = Request { method: "GET", path: "/ping", headers: &[], body: &[] };
        let serves = until_within(START_DEADLINE, "the ClickHouse engine serves", || {
            if process.has_ended() {
                return Some(false);
            }
            ping.send("127.0.0.1", self.port).is_ok().then_some(true)
        });
        self.process = serves.then_some(process);
        serves
    }

    /// The file of what the next inserts meet.
    fn faults(&self) -> PathBuf {
        self.folder.path().join("faults")
    }

    fn log_tail(&self) -> String {
        process::log_tail(self.folder.path())
    }
}
