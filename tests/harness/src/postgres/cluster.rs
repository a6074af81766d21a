//! A PostgreSQL server of the fixture's own.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::psql::Psql;
use super::release::Release;
use crate::config::{START_ATTEMPTS_MAX, START_DEADLINE};
use crate::port::free_port;
use crate::process::{self, Process, children, signal};
use crate::unprivileged;
use crate::wait::until_within;

/// The superuser's password.
const PASSWORD: &str = "tarn-test p@ss:w/?ord#%";

/// What every server of a test is set to, before the test's own settings.
const SETTINGS: &[(&str, &str)] = &[
    ("wal_level", "logical"),
    ("max_wal_senders", "20"),
    ("max_replication_slots", "20"),
    ("max_connections", "100"),
    ("listen_addresses", "127.0.0.1"),
    // A process' death loses nothing that was written; only a machine's would, and none dies here.
    ("fsync", "off"),
    // In the data folder, which goes with the test: a server that a test kills leaves segments in the machine's memory.
    ("dynamic_shared_memory_type", "mmap"),
    ("log_line_prefix", "%m [%p] %q%a "),
];

/// Data in a folder of its own, and the server on it.
#[derive(Debug)]
pub(super) struct Cluster {
    /// `None` while stopped. Before the folder, so that it ends first.
    server: Option<Process>,
    folder: TempDir,
    release: Release,
    psql: PathBuf,
    port: u16,
}

impl Cluster {
    /// Makes a server and waits until it serves.
    pub(super) fn start(release: Release, settings: &[(&str, &str)]) -> (Self, Psql) {
        let folder = new_folder();
        let psql = release.psql();
        let release = release.readable(folder.path());
        initdb(&release.bin, folder.path());
        Self { server: None, folder, release, psql, port: 0 }.start_first(settings)
    }

    /// A standby with what the stopped server stored, which follows it by a slot named `standby`.
    pub(super) fn standby(&self, settings: &[(&str, &str)]) -> (Self, Psql) {
        let folder = new_folder();
        self.copy(&self.data(), &folder.path().join("data"));
        let Self { release, psql, .. } = self;
        let standby = Self { server: None, folder, release: release.clone(), psql: psql.clone(), port: 0 };
        standby.make_standby();
        let primary =
            format!("host=127.0.0.1 port={} user=postgres password='{PASSWORD}' dbname=postgres", self.port);
        let own = [
            ("primary_conninfo", primary.as_str()),
            ("primary_slot_name", "standby"),
            ("hot_standby_feedback", "on"),
            // What was replayed is told at once, so that tests wait for little.
            ("wal_receiver_status_interval", "1"),
        ];
        standby.start_first(&own.into_iter().chain(settings.iter().copied()).collect::<Vec<_>>())
    }

    /// Starts a server that never ran, with these settings, on a port that is free.
    fn start_first(mut self, settings: &[(&str, &str)]) -> (Self, Psql) {
        let mut conf = String::new();
        for (name, value) in SETTINGS.iter().chain(settings) {
            conf.push_str(&format!("{name} = '{}'\n", value.replace('\'', "''")));
        }
        conf.push_str(&format!("unix_socket_directories = '{}'\n", self.folder.path().display()));
        let path = self.data().join("postgresql.auto.conf");
        std::fs::write(&path, conf).expect("the server's settings can be written");
        for _ in 0..START_ATTEMPTS_MAX {
            self.port = free_port();
            let psql = self.psql();
            if self.serve(&psql) {
                return (self, psql);
            }
        }
        panic!("PostgreSQL does not start; its log ends:\n{}", process::log_tail(self.folder.path()));
    }

    pub(super) fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            // SIGINT is the fast shutdown: sessions are ended, a checkpoint is written.
            server.stop("INT");
        }
    }

    pub(super) fn kill(&mut self) {
        if let Some(server) = self.server.take() {
            let sessions = children(server.id());
            // Each session leads a process group of its own. The parent goes first, so that it does
            // not start a recovery.
            signal(server.id(), "KILL");
            sessions.iter().for_each(|session| signal(*session, "KILL"));
            // The memory they share is free once the last of them is gone; before, no server starts.
            until_within(START_DEADLINE, "the killed sessions are gone", || {
                sessions.iter().all(|session| has_ended(*session)).then_some(())
            });
        }
    }

    pub(super) fn start_again(&mut self, psql: &Psql) {
        assert!(self.server.is_none(), "PostgreSQL is running");
        assert!(
            self.serve(psql),
            "PostgreSQL does not start again; its log ends:\n{}",
            process::log_tail(self.folder.path())
        );
    }

    /// Lets the stopped server start as a standby of nobody, to be promoted.
    pub(super) fn make_standby(&self) {
        let signal = self.data().join("standby.signal");
        std::fs::write(signal, "").expect("the signal can be written");
    }

    /// Copies what the stopped server stored.
    pub(super) fn save(&self) {
        self.copy(&self.data(), &self.saved());
    }

    /// Puts back what was saved.
    pub(super) fn put_back(&self) {
        std::fs::remove_dir_all(self.data()).expect("the data can be removed");
        self.copy(&self.saved(), &self.data());
    }

    fn copy(&self, from: &Path, to: &Path) {
        assert!(self.server.is_none(), "PostgreSQL is running");
        let mut command = unprivileged::command(Path::new("cp"), self.folder.path());
        let status = command.arg("-a").args([from, to]).status().expect("cp starts");
        assert!(status.success(), "the data cannot be copied");
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn saved(&self) -> PathBuf {
        self.folder.path().join("saved")
    }

    pub(super) fn log(&self) -> String {
        process::log(self.folder.path())
    }

    /// Starts the server and waits; false when it ended instead (its port was taken).
    fn serve(&mut self, psql: &Psql) -> bool {
        let mut command = unprivileged::command(&self.release.bin.join("postgres"), self.folder.path());
        command.arg("-D").arg(self.folder.path().join("data")).args(["-p", &self.port.to_string()]);
        // Its immediate shutdown. Killed, it leaves a segment of shared memory, of which a machine has few thousands.
        let mut server = Process::start_ending_by("QUIT", &mut command, self.folder.path());
        let serves = until_within(START_DEADLINE, "PostgreSQL serves", || {
            if server.has_ended() {
                return Some(false);
            }
            psql.run("SELECT 1").is_ok().then_some(true)
        });
        self.server = serves.then_some(server);
        serves
    }

    fn psql(&self) -> Psql {
        Psql {
            program: self.psql.clone(),
            host: "127.0.0.1".to_owned(),
            port: self.port,
            user: "postgres".to_owned(),
            password: PASSWORD.to_owned(),
            database: "postgres".to_owned(),
        }
    }
}

/// A folder of the user that runs servers.
fn new_folder() -> TempDir {
    let folder = tempfile::Builder::new().prefix("tarn-postgres-").tempdir().expect("a folder can be made");
    unprivileged::give(folder.path());
    folder
}

fn initdb(bin: &Path, folder: &Path) {
    let password = folder.join("password");
    std::fs::write(&password, PASSWORD).expect("the password file can be written");
    let mut command = unprivileged::command(&bin.join("initdb"), folder);
    command
        .arg("-D")
        .arg(folder.join("data"))
        .args(["-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"])
        .args(["--auth-local=trust", "--auth-host=scram-sha-256", "--pwfile"])
        .arg(&password);
    let output = command.output().expect("initdb starts");
    assert!(output.status.success(), "initdb failed: {}", String::from_utf8_lossy(&output.stderr));
}

/// Whether a process that is no child of ours is gone, or dead and not yet collected by its parent.
fn has_ended(process: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return true };
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_nobody_stops_leaves_no_segment_of_shared_memory() {
        let segments = || std::fs::read_to_string("/proc/sysvipc/shm").expect("segments are listed");
        let (cluster, _psql) = Cluster::start(Release::usual(), &[]);
        let pid_file = std::fs::read_to_string(cluster.data().join("postmaster.pid")).expect("a server runs");
        // The segment's key and its number.
        let line = pid_file.lines().nth(6).expect("the server has a segment");
        let number = line.split_whitespace().nth(1).expect("it has a number").to_owned();
        let is_there = |segments: String| {
            segments.lines().skip(1).any(|line| line.split_whitespace().nth(1) == Some(number.as_str()))
        };
        assert!(is_there(segments()));
        drop(cluster);
        assert!(!is_there(segments()));
    }
}
