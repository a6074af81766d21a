//! schemathesis: makes requests of what an API's OpenAPI document says, good ones and bad ones, and looks at
//! every answer.

use std::process::Command;

use crate::config::ANSWER_DEADLINE;
use crate::process::{self, Process};
use crate::venv;
use crate::wait::until_within;

/// A run of it. With the same seed it makes the same requests.
#[derive(Clone, Copy, Debug)]
pub struct Schemathesis<'a> {
    /// Where the requests begin.
    pub seed: u64,
    /// Most requests of one operation in each phase.
    pub examples: u32,
    /// What to look at in the answers, by the tool's own names.
    pub checks: &'a [&'a str],
}

impl Schemathesis<'_> {
    /// Checks the API whose document is at `url`, with an `Authorization` header.
    ///
    /// # Errors
    /// The tool's report, where an answer was not as it should be.
    pub fn check(&self, url: &str, authorization: &str) -> Result<(), String> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(venv::program("st"));
        command
            .current_dir(folder.path())
            .args(["run", url, "--no-color", "--workers", "1", "--warnings", "off"])
            .args(["--header", &format!("Authorization: {authorization}")])
            .args(["--checks", &self.checks.join(",")])
            .args(["--seed", &self.seed.to_string(), "--generation-deterministic"])
            .args(["--max-examples", &self.examples.to_string()])
            .args(["--phases", "examples,coverage,fuzzing", "--request-timeout", "60"])
            // A machine that other tests keep busy is not the API's fault.
            .args(["--suppress-health-check", "all"]);
        let mut run = Process::start(&mut command, folder.path());
        let is_fine = until_within(ANSWER_DEADLINE, "schemathesis to end", || run.outcome());
        if is_fine { Ok(()) } else { Err(process::log(folder.path())) }
    }
}
