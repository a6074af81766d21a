//! A mirror's run with faults, crashes and pauses of the seed.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::mirror::{Extent, Mirror, Scenario};
use crate::mutant::Mutant;
use crate::random::Random;
use crate::run;
use crate::world::{Trouble, World};

/// Runs a seed; the promise that was broken, if one was.
pub fn stormy(seed: u64, scenario: Scenario, mutant: Mutant) -> Result<(), String> {
    tallied(seed, scenario, mutant).1
}

/// Runs a seed; also what happened how often, and how long it took by the paused clock.
pub fn tallied(
    seed: u64,
    scenario: Scenario,
    mutant: Mutant,
) -> (BTreeMap<&'static str, u64>, Result<(), String>) {
    let mut random = Random::new(seed ^ 0xabcd);
    let trouble = Trouble {
        faults_left: *random.pick(&[0, 3, 20]),
        fault_percent: *random.pick(&[1, 5, 20]),
        crash_in: None,
        dawdle: random.chance(70),
    };
    let extent = Extent {
        transactions: random.within(5..40),
        crashes: *random.pick(&[0, 1, 5]),
        pauses: *random.pick(&[0, 1, 3]),
    };
    run(async {
        let (world, began) = (World::new(seed, 3, trouble, mutant), Instant::now());
        let end = Mirror::new(&world, scenario, extent).live().await;
        world.add("nanosecond", began.elapsed().as_nanos() as u64);
        (world.tally(), end)
    })
}

/// Runs a seed without faults, with one crash at a step, or none; also how many steps there were.
pub fn crashed_at(seed: u64, scenario: Scenario, step: Option<u64>) -> (u64, Result<(), String>) {
    let trouble = Trouble { crash_in: step, ..Trouble::none() };
    let extent = Extent { transactions: 9, crashes: 0, pauses: 0 };
    run(async {
        let world = World::new(seed, 2, trouble, Mutant::None);
        let end = Mirror::new(&world, scenario, extent).live().await;
        let steps = world.tally().get("step").copied().unwrap_or(0);
        (steps, end)
    })
}
