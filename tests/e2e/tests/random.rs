//! Whatever happens at either side, in whatever order, both sides are equal in the end.
//!
//! A seed is a program (`random/program.rs`): tables with keys and columns of every sort, transactions on three
//! connections with savepoints and aborts, changes of the tables, kills of `tarn`, restarts of both stores, pauses,
//! edits and resyncs. It is played on the real services (`random/run.rs`), and compared again and again by an oracle
//! that looks at every value (`random/oracle.rs`) and by the server's own verification.
//!
//! CONTRIBUTING.md says how to run more seeds, and how to look into one that fails.

#[path = "random/alteration.rs"]
mod alteration;
#[path = "random/dice.rs"]
mod dice;
#[path = "random/kind.rs"]
mod kind;
#[path = "random/letters.rs"]
mod letters;
#[path = "random/oracle.rs"]
mod oracle;
#[path = "random/program.rs"]
mod program;
#[path = "random/run.rs"]
mod run;
#[path = "random/statement.rs"]
mod statement;
#[path = "random/table.rs"]
mod table;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use program::Program;
use run::Play;

/// Seeds of every run of the tests: one with dead letters, one with rows that are left out, one without a script.
const SEEDS: &[u64] = &[2, 3, 6];

/// Steps of each of these.
const STEPS: usize = 60;

/// Steps of a seed that is asked for.
const STEPS_ASKED_FOR: usize = 120;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// Plays one seed; the failure's text has everything that is needed to play it again.
fn play(seed: u64, steps: usize) -> Result<(), String> {
    let program = Program::new(seed, steps);
    let (mut started, mut last) = (None, 0);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let play = started.insert(Play::new(&program));
        for (number, step) in program.steps.iter().enumerate() {
            last = number;
            play.step(step).map_err(|fault| format!("step {number}: {fault}"))?;
        }
        play.compare().map_err(|fault| format!("at the end: {fault}"))
    }));
    let fault = match outcome {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(fault)) => fault,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
            format!("step {last}: {}", text.unwrap_or_default())
        }
    };
    let story = catch_unwind(AssertUnwindSafe(|| started.as_ref().map(Play::story)))
        .ok()
        .flatten()
        .unwrap_or_default();
    Err(format!(
        "TARN_RANDOM_SEED={seed} TARN_RANDOM_STEPS={} plays it again\n{fault}\n\nthe mirror's log:\n{story}\n\n{program}",
        last + 1
    ))
}

#[test]
#[expect(clippy::print_stderr, reason = "a run of half an hour is watched, and tells of a failure at once")]
fn both_sides_are_equal_after_whatever_a_seed_does() {
    let begun = Instant::now();
    let seconds = number("TARN_RANDOM_SECONDS").map(Duration::from_secs);
    let first = number("TARN_RANDOM_SEED");
    let usual = if seconds.is_none() && first.is_none() { STEPS } else { STEPS_ASKED_FOR };
    let steps = number("TARN_RANDOM_STEPS").map_or(usual, |steps| usize::try_from(steps).expect("a count"));
    let mut seeds: Box<dyn Iterator<Item = u64>> = match (first, seconds) {
        (None, None) => Box::new(SEEDS.iter().copied()),
        (Some(seed), None) => Box::new(std::iter::once(seed)),
        (first, Some(_)) => Box::new(first.unwrap_or(1)..),
    };
    let (mut played, mut failed) = (0, Vec::new());
    while seconds.is_none_or(|seconds| begun.elapsed() < seconds) {
        let Some(seed) = seeds.next() else { break };
        match play(seed, steps) {
            Ok(()) => {
                let script = Program::new(seed, 0).script;
                eprintln!("seed {seed} ({script:?}) passed after {} s", begun.elapsed().as_secs());
            }
            Err(fault) => {
                eprintln!("seed {seed} failed after {} s\n{fault}", begun.elapsed().as_secs());
                failed.push(seed);
            }
        }
        played += 1;
    }
    assert!(played > 0, "no seed was played");
    assert!(failed.is_empty(), "of {played} seeds these failed, as told above: {failed:?}");
}
