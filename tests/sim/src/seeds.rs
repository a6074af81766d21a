//! Runs a test over seeds and names the one that fails.
//!
//! `TARN_SIM_SEEDS=100000` runs more of them, `TARN_SIM_SEED=42` runs one.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs `test` for `count` seeds.
///
/// # Panics
///
/// At the first seed that fails, naming it.
pub fn every_seed(count: u64, mut test: impl FnMut(u64) -> Result<(), String>) {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number of seeds"));
    let seeds = match (number("TARN_SIM_SEED"), number("TARN_SIM_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, count_asked) => 0..count_asked.unwrap_or(count),
    };
    for seed in seeds {
        if let Err(fault) = attempt(seed, &mut test) {
            panic!("seed {seed} (TARN_SIM_SEED={seed} runs it alone): {fault}");
        }
    }
}

/// Whether one of the first `count` seeds fails: how a planted bug is shown to be caught.
pub fn some_seed_fails(count: u64, mut test: impl FnMut(u64) -> Result<(), String>) -> Option<(u64, String)> {
    (0..count).find_map(|seed| attempt(seed, &mut test).err().map(|fault| (seed, fault)))
}

fn attempt(seed: u64, test: &mut impl FnMut(u64) -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| test(seed))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        match text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned())) {
            Some(text) => Err(text),
            None => resume_unwind(panic),
        }
    })
}
