//! `tarn serve` on a data folder of its own.

use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::compiled;
use crate::config::{START_ATTEMPTS_MAX, START_DEADLINE};
use crate::http::{HttpAnswer, Request, basic};
use crate::port::free_port;
use crate::process::{self, Process};
use crate::small_disk;
use crate::wait::until_within;

/// The API's password.
const PASSWORD: &str = "tarn-test api p@ss:w/?ord#%";

/// A running Tarn.
#[derive(Debug)]
pub struct Tarn {
    /// `None` while stopped. Before the folder, so that it ends first.
    process: Option<Process>,
    folder: TempDir,
    port: u16,
    environment: Vec<(String, String)>,
    /// A folder that is a disk of its own, and of how many MiB.
    disk: Option<(PathBuf, u32)>,
}

impl Tarn {
    /// Starts `tarn serve` and waits until it is ready. The binary is that of `TARN_BIN`, or the one
    /// that this build's target folder holds.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with further environment variables.
    #[must_use]
    pub fn start_with(environment: &[(&str, &str)]) -> Self {
        Self::unstarted(environment).started()
    }

    /// The same with a data folder that is a disk of so many MiB, and lasts as long as the process.
    #[must_use]
    pub fn start_on_disk(mib: u32) -> Self {
        let mut tarn = Self::unstarted(&[]);
        tarn.disk = Some((tarn.data_dir(), mib));
        // Compiled components are larger than it.
        let compiled = tarn.folder.path().join("compiled");
        std::fs::DirBuilder::new().mode(0o700).create(&compiled).expect("a folder can be made");
        std::fs::DirBuilder::new().mode(0o700).create(tarn.data_dir()).expect("a folder can be made");
        symlink(compiled, tarn.data_dir().join("compiled")).expect("a link can be made");
        tarn.started()
    }

    /// The same where only what waits for a destination is on such a disk.
    #[must_use]
    pub fn start_with_stage_on_disk(mib: u32) -> Self {
        let mut tarn = Self::unstarted(&[]);
        let stage = tarn.data_dir().join("stage");
        std::fs::DirBuilder::new().mode(0o700).recursive(true).create(&stage).expect("a folder can be made");
        tarn.disk = Some((stage, mib));
        tarn.started()
    }

    fn started(self) -> Self {
        let mut tarn = self;
        compiled::give(&binary(), &tarn.data_dir());
        for _ in 0..START_ATTEMPTS_MAX {
            tarn.port = free_port();
            if tarn.serve() {
                compiled::keep(&binary(), &tarn.data_dir());
                return tarn;
            }
        }
        panic!("tarn does not start; its log ends:\n{}", tarn.log_tail());
    }

    /// Starts `tarn serve` with further environment variables and does not wait until it is ready.
    #[must_use]
    pub fn launch(environment: &[(&str, &str)]) -> Self {
        let mut tarn = Self::unstarted(environment);
        tarn.port = free_port();
        tarn.process = Some(tarn.start_process());
        tarn
    }

    fn unstarted(environment: &[(&str, &str)]) -> Self {
        let folder = tempfile::Builder::new().prefix("tarn-serve-").tempdir().expect("a folder can be made");
        let environment =
            environment.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { process: None, folder, port: 0, environment, disk: None }
    }

    /// The API's port; a restart keeps it.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The API's password; the user's name is empty.
    #[must_use]
    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    /// The data folder.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The same as the process sees it, which may have a disk there.
    #[must_use]
    pub fn data_dir_of_process(&self) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.process_id()));
        root.join(self.data_dir().strip_prefix("/").expect("temporary folders have whole paths"))
    }

    /// The process' id. Panics while it is stopped.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.process.as_ref().expect("tarn is running").id()
    }

    /// GET, authenticated. Panics when no answer arrives.
    #[track_caller]
    pub fn get(&self, path: &str) -> HttpAnswer {
        self.request("GET", path, b"")
    }

    /// POST with a JSON body, authenticated. Panics when no answer arrives.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> HttpAnswer {
        self.request("POST", path, body.to_string().as_bytes())
    }

    /// Any request, authenticated. Panics when no answer arrives.
    #[track_caller]
    pub fn request(&self, method: &str, path: &str, body: &[u8]) -> HttpAnswer {
        let authorization = basic("", PASSWORD);
        let headers = [("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
        self.send(&Request { method, path, headers: &headers, body })
            .unwrap_or_else(|error| panic!("no answer to {method} {path}: {error}\n{}", self.log_tail()))
    }

    /// A request as given, with no header added. The error is that of the connection.
    ///
    /// # Errors
    /// When the connection fails or the answer is not HTTP.
    pub fn try_request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> std::io::Result<HttpAnswer> {
        self.send(&Request { method, path, headers, body })
    }

    /// The command line against this server: address and password are in its environment, nothing else of
    /// Tarn is.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("TARN_")) {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .env("TARN_ADDRESS", format!("http://127.0.0.1:{}", self.port))
            .env("TARN_PASSWORD", PASSWORD)
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// Kills the process at once.
    pub fn kill(&mut self) {
        // Dropping kills.
        drop(self.process.take());
    }

    /// Asks the process to stop and waits; returns whether it ended with success.
    pub fn stop(&mut self) -> bool {
        self.process.take().expect("tarn is running").stop("TERM")
    }

    /// Waits until the process ends by itself; returns whether with success.
    pub fn wait_for_end(&mut self) -> bool {
        self.process.take().expect("tarn is running").end()
    }

    /// Sets a variable of its environment, for the next start.
    pub fn set(&mut self, name: &str, value: &str) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Starts the stopped or killed process on its port and data and waits until it is ready.
    pub fn start_again(&mut self) {
        assert!(self.process.is_none(), "tarn is running");
        assert!(self.serve(), "tarn does not start again; its log ends:\n{}", self.log_tail());
    }

    /// Everything the process, and those before it on the same data, wrote.
    #[must_use]
    pub fn log(&self) -> String {
        process::log(self.folder.path())
    }

    fn log_tail(&self) -> String {
        process::log_tail(self.folder.path())
    }

    /// Starts the process and waits; false when it ended instead.
    fn serve(&mut self) -> bool {
        let mut process = self.start_process();
        let ready = Request { method: "GET", path: "/readyz", headers: &[], body: &[] };
        let serves = until_within(START_DEADLINE, "tarn is ready", || {
            if process.has_ended() {
                return Some(false);
            }
            self.send(&ready).is_ok_and(|answer| answer.status == 200).then_some(true)
        });
        self.process = serves.then_some(process);
        serves
    }

    fn start_process(&self) -> Process {
        let mut command = match &self.disk {
            Some((folder, mib)) => small_disk::on(*mib, folder, &binary()),
            None => Command::new(binary()),
        };
        command
            .arg("serve")
            .env("TARN_LISTEN", format!("127.0.0.1:{}", self.port))
            .env("TARN_DATA_DIR", self.data_dir())
            .env("TARN_PASSWORD", PASSWORD)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder.path());
        Process::start(&mut command, self.folder.path())
    }

    fn send(&self, request: &Request<'_>) -> std::io::Result<HttpAnswer> {
        request.send("127.0.0.1", self.port)
    }
}

/// The binary under test.
fn binary() -> PathBuf {
    if let Some(binary) = std::env::var_os("TARN_BIN").filter(|binary| !binary.is_empty()) {
        return binary.into();
    }
    // A test runs as <target>/<profile>/deps/<name>; the binary is beside that folder.
    let test = std::env::current_exe().expect("a process knows its own path");
    let folders = test.ancestors().skip(1).take(2);
    folders
        .map(|folder| folder.join("tarn"))
        .find(|binary| binary.exists())
        .expect("the tarn binary is built (cargo build --workspace --bin tarn), or TARN_BIN names one")
}
