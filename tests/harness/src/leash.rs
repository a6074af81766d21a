//! What ends a server when the test process ends, however it ends.
//!
//! `Drop` does not run in a test process that is killed. So each server has a small shell beside it
//! that reads from a pipe only the test process can write to. When the pipe closes without a word,
//! the test process is gone: the shell ends the server and removes its folder. Signals of the
//! terminal do not end the shell before it has done so.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Given the process, its folder and the signal that it ends by; what does not end within some six seconds is killed.
const KEEPER: &str = r#"trap '' INT TERM HUP
read -r word || {
    kill -s "$3" "$1"
    looks=0
    while kill -0 "$1" && [ "$looks" -lt 60 ]; do sleep 0.1; looks=$((looks + 1)); done
    kill -9 "$1"
    sleep 1
    rm -rf -- "$2"
}"#;

/// Ties a process to this one.
#[derive(Debug)]
pub(crate) struct Leash(Child);

impl Leash {
    /// Ties the process `pid`, which works in `folder` and ends by the signal.
    pub(crate) fn tie(pid: u32, folder: &Path, signal: &str) -> Self {
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "leash", &pid.to_string()])
            .arg(folder)
            .arg(signal)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts");
        Self(keeper)
    }
}

impl Drop for Leash {
    /// Lets go of the process: it has ended.
    fn drop(&mut self) {
        if let Some(mut pipe) = self.0.stdin.take() {
            // The shell cannot have gone before it was told to, so this word arrives.
            let _told = pipe.write_all(b"done\n");
        }
        let _ended = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_and_its_folder_end_with_the_test_process() {
        let folder = tempfile::tempdir().expect("a folder can be made").keep();
        let mut server = Command::new("sleep").arg("1000").spawn().expect("sleep starts");
        let mut leash = Leash::tie(server.id(), &folder, "KILL");
        // What the end of the test process does to the pipe.
        drop(leash.0.stdin.take());
        assert!(!server.wait().expect("the server ends").success());
        leash.0.wait().expect("the shell ends");
        assert!(!folder.exists());
    }
}
