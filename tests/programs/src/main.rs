//! Runs the workspace's test programs, several at once.
//!
//! Cargo runs one after the other, and most of them wait for services far more than they work. Each is run in its
//! package's folder, as Cargo does, and what it says comes in one piece. Once one has failed, no other begins.

mod built;

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use built::Program;

/// Programs that run at once. Each runs as many tests at once as there are cores, each test has services of its own, and what
/// these wait for has deadlines: with more than this they come too near.
const AT_ONCE: usize = 3;

/// What is left to do, and what became of the rest.
struct State {
    waiting: VecDeque<Program>,
    ended: usize,
    failed: Vec<String>,
}

fn main() -> ExitCode {
    match run() {
        Ok(failed) if failed.is_empty() => ExitCode::SUCCESS,
        Ok(failed) => {
            say(&format!(
                "these failed; `cargo test --workspace --test <name>` runs one alone: {}",
                failed.join(", ")
            ));
            ExitCode::FAILURE
        }
        Err(error) => {
            say(&format!("the test programs cannot be run: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Builds and runs them; names those that failed.
fn run() -> io::Result<Vec<String>> {
    let mut programs = built::programs()?;
    // Those of whole mirrors take longest.
    programs.sort_by_key(|program| !program.path.contains("/e2e/"));
    let count = programs.len();
    let outputs = Path::new("target/tmp/programs");
    fs::create_dir_all(outputs)?;
    let state = Mutex::new(State { waiting: programs.into(), ended: 0, failed: Vec::new() });
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(|| work(&state, count, outputs))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    Ok(state.into_inner().unwrap_or_else(PoisonError::into_inner).failed)
}

/// Runs programs until none is left, or one has failed.
fn work(state: &Mutex<State>, count: usize, outputs: &Path) -> io::Result<()> {
    loop {
        let next = {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.failed.is_empty() { state.waiting.pop_front() } else { None }
        };
        let Some(program) = next else { return Ok(()) };
        let begun = Instant::now();
        let output = outputs.join(program.executable.file_name().unwrap_or_default());
        let succeeded = program.run(&output);
        let seconds = begun.elapsed().as_secs();
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.ended += 1;
        say(&format!("\n[{}/{count}] {} ({seconds} s)", state.ended, program.path));
        io::stdout().write_all(&fs::read(&output)?)?;
        if !succeeded? {
            state.failed.push(program.name.clone());
        }
    }
}

impl Program {
    /// Runs it with its output in a file; whether it succeeded.
    fn run(&self, output: &Path) -> io::Result<bool> {
        let file = File::create(output)?;
        let status = Command::new(&self.executable)
            .current_dir(&self.package)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .status()?;
        Ok(status.success())
    }
}

#[expect(clippy::print_stdout, reason = "a person or a log reads it")]
fn say(line: &str) {
    println!("{line}");
}
