//! A server process: its log, its end.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::config::{LOG_TAIL_BYTES, POLL_INTERVAL, QUIT_DEADLINE, STOP_DEADLINE};
use crate::leash::Leash;

/// A running server. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    folder: PathBuf,
    /// What it is sent where it is to end at once.
    last_signal: &'static str,
    _leash: Leash,
}

impl Process {
    /// Starts the command with its output appended to `folder/log`. `folder` is removed when the
    /// test process dies. The process is killed in the end.
    pub(crate) fn start(command: &mut Command, folder: &Path) -> Self {
        Self::start_ending_by("KILL", command, folder)
    }

    /// Starts a command like [`Self::start`], of a process that leaves something on the machine where it is
    /// killed: it is sent this signal in the end.
    pub(crate) fn start_ending_by(last_signal: &'static str, command: &mut Command, folder: &Path) -> Self {
        let log = folder.join("log");
        let output = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", log.display()));
        let errors = output.try_clone().expect("a file handle can be doubled");
        let child = command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let leash = Leash::tie(child.id(), folder, last_signal);
        Self { child, folder: folder.to_owned(), last_signal, _leash: leash }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether the process succeeded, once it has ended by itself.
    pub(crate) fn outcome(&mut self) -> Option<bool> {
        self.child.try_wait().ok().flatten().map(|status| status.success())
    }

    /// Whether the process has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        signal(self.id(), name);
    }

    /// Sends the signal, waits for the end and returns whether the process ended with success.
    pub(crate) fn stop(self, signal: &str) -> bool {
        self.signal(signal);
        self.end()
    }

    /// Waits for the end and returns whether the process ended with success.
    pub(crate) fn end(mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < STOP_DEADLINE {
            if let Ok(Some(status)) = self.child.try_wait() {
                return status.success();
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        panic!("a process did not stop in {STOP_DEADLINE:?}; its log ends:\n{}", log_tail(&self.folder));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.last_signal != "KILL" && !self.has_ended() {
            self.signal(self.last_signal);
            let start = Instant::now();
            while !self.has_ended() && start.elapsed() < QUIT_DEADLINE {
                std::thread::sleep(POLL_INTERVAL);
            }
        }
        // Already ended is what is wanted.
        let _killed = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Sends a signal to a process that a fixture started.
pub(crate) fn signal(id: u32, name: &str) {
    let _gone_already = Command::new("sh")
        .args(["-c", "kill -s \"$1\" \"$2\"", "kill", name, &id.to_string()])
        .stderr(Stdio::null())
        .status();
}

/// The processes whose parent is `parent`.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // "pid (name) state ppid …", and the name may hold spaces and brackets.
            let ppid = stat.rsplit_once(") ")?.1.split(' ').nth(1)?;
            (ppid.parse() == Ok(parent)).then_some(id)
        })
        .collect()
}

/// Everything that processes in the folder have written.
pub(crate) fn log(folder: &Path) -> String {
    read_from(&folder.join("log"), 0)
}

/// The end of it, for a failure's text.
pub(crate) fn log_tail(folder: &Path) -> String {
    let log = folder.join("log");
    let length = log.metadata().map_or(0, |meta| meta.len());
    read_from(&log, length.saturating_sub(LOG_TAIL_BYTES as u64))
}

fn read_from(path: &Path, start: u64) -> String {
    let mut bytes = Vec::new();
    if let Ok(mut file) = File::open(path)
        && file.seek(SeekFrom::Start(start)).is_ok()
    {
        // What could be read is what a failure can show.
        let _read = file.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
