//! A broker that speaks Kafka's protocol. It keeps everything in memory: what is killed is gone.
//!
//! It shows messages of a transaction that was given up to readers of committed ones, once a later one was committed;
//! offsets within a transaction are right. Tests that give transactions up count what was committed, by the offsets
//! that were committed with it.

use std::net::TcpStream;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::config::{START_ATTEMPTS_MAX, START_DEADLINE};
use crate::port::free_port;
use crate::process::{self, Process};
use crate::venv;
use crate::wait::until_within;

/// A broker of a test's own.
#[derive(Debug)]
pub struct Kafka {
    port: u16,
    process: Option<Process>,
    folder: TempDir,
}

impl Kafka {
    /// Starts a broker without topics.
    #[must_use]
    pub fn start() -> Self {
        Self::start_behind(None)
    }

    /// The same behind something that listens at a port of the loopback address: clients are sent there.
    #[must_use]
    pub fn start_behind(front: Option<u16>) -> Self {
        for _ in 0..START_ATTEMPTS_MAX {
            let folder = TempDir::new().expect("a temporary folder");
            let port = free_port();
            let mut broker = Self { port, process: None, folder };
            if broker.serve(front) {
                return broker;
            }
        }
        panic!("no broker starts here");
    }

    /// `host:port`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// A `kafka_config` of the API for this broker.
    #[must_use]
    pub fn peer_config(&self) -> Value {
        json!({"servers": [self.address()], "disable_tls": true})
    }

    /// Stops the broker where it is, as a machine that hangs: connections stay, and nothing answers.
    pub fn freeze(&self) {
        self.running().signal("STOP");
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.running().signal("CONT");
    }

    /// The end of its log.
    #[must_use]
    pub fn log_tail(&self) -> String {
        process::log_tail(self.folder.path())
    }

    fn running(&self) -> &Process {
        self.process.as_ref().expect("it was started")
    }

    /// Starts the process and waits; false when it ended instead.
    fn serve(&mut self, front: Option<u16>) -> bool {
        let url = format!("tcp://127.0.0.1:{}", self.port);
        let advertised = format!("tcp://127.0.0.1:{}", front.unwrap_or(self.port));
        let mut command = Command::new(venv::program("tansu"));
        command
            .args(["broker", "--storage-engine", "memory://tansu/", "--silent"])
            .args(["--listener-url", &url, "--advertised-listener-url", &advertised])
            .current_dir(self.folder.path());
        let mut process = Process::start(&mut command, self.folder.path());
        let serves = until_within(START_DEADLINE, "the Kafka broker serves", || {
            if process.has_ended() {
                return Some(false);
            }
            TcpStream::connect(("127.0.0.1", self.port)).is_ok().then_some(true)
        });
        self.process = serves.then_some(process);
        serves
    }
}
