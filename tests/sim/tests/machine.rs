//! The pure machine keeps its promises in any order of events.

use tarn_sim::machine_bench::{Lie, MachineBench};
use tarn_sim::seeds::{every_seed, some_seed_fails};

#[test]
fn any_order_of_answers_failures_and_time_keeps_the_law() {
    every_seed(20_000, |seed| MachineBench::new(seed, Lie::None).run());
}

#[test]
fn a_write_called_durable_that_is_not_is_caught() {
    assert!(some_seed_fails(100, |seed| MachineBench::new(seed, Lie::Durable).run()).is_some());
}

#[test]
fn an_entry_called_staged_that_is_not_is_caught() {
    assert!(some_seed_fails(1_000, |seed| MachineBench::new(seed, Lie::Staged).run()).is_some());
}

#[test]
fn a_checkpoint_called_saved_that_is_not_is_caught() {
    assert!(some_seed_fails(100, |seed| MachineBench::new(seed, Lie::Saved).run()).is_some());
}
