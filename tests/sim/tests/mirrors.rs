//! Whatever happens to a mirror, in the end both sides are equal.

use std::collections::BTreeMap;

use tarn_sim::mirror::Scenario;
use tarn_sim::mutant::Mutant;
use tarn_sim::seeds::every_seed;
use tarn_sim::storm::{stormy, tallied};

#[test]
fn a_stream_through_any_trouble_ends_with_both_sides_equal() {
    every_seed(1_500, |seed| stormy(seed, Scenario::Stream, Mutant::None));
}

#[test]
fn a_load_and_its_stream_through_any_trouble_end_with_both_sides_equal() {
    every_seed(700, |seed| stormy(seed, Scenario::LoadThenStream, Mutant::None));
}

#[test]
fn a_table_added_to_a_running_stream_through_any_trouble_ends_with_both_sides_equal() {
    every_seed(700, |seed| stormy(seed, Scenario::LoadWhileStreaming, Mutant::None));
}

#[test]
fn a_seed_repeats_exactly() {
    for seed in 0..60 {
        for scenario in [Scenario::Stream, Scenario::LoadThenStream, Scenario::LoadWhileStreaming] {
            let once = tallied(seed, scenario, Mutant::None);
            assert_eq!(once, tallied(seed, scenario, Mutant::None), "seed {seed}, {scenario:?}");
        }
    }
}

#[test]
fn the_storm_reaches_every_kind_of_weather() {
    let mut sum = BTreeMap::<_, u64>::new();
    for seed in 0..100 {
        for scenario in [Scenario::Stream, Scenario::LoadThenStream, Scenario::LoadWhileStreaming] {
            for (what, count) in tallied(seed, scenario, Mutant::None).0 {
                *sum.entry(what).or_default() += count;
            }
        }
    }
    for what in [
        "fault",
        "crash",
        "checkpoint",
        "checkpoint inside a transaction",
        "re-send",
        "destination restart",
        "catch-up",
        "fetch of a value left out",
        "fetch of a row that is gone",
        "truncate before a read",
        "truncate while loading",
        "letter",
        "staged",
        "delivered from the stage",
    ] {
        assert!(sum.get(what).is_some_and(|count| *count >= 20), "{what}: {sum:?}");
    }
}
