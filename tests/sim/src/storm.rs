//! A mirror's run with faults, crashes and pauses of the seed.

use crate::mirror::{Extent, Mirror, Scenario};
use crate::mutant::Mutant;
use crate::random::Random;
use crate::run;
use crate::world::{Trouble, World};

/// Runs a seed; the promise that was broken, if one was.
pub fn stormy(seed: u64, scenario: Scenario, mutant: Mutant) -> Result<(), String> {
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
        let world = World::new(seed, 3, trouble, mutant);
        Mirror::new(&world, scenario, extent).live().await
    })
}
