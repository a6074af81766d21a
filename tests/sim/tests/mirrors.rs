//! Whatever happens to a mirror, in the end both sides are equal.

use tarn_sim::mirror::Scenario;
use tarn_sim::mutant::Mutant;
use tarn_sim::seeds::every_seed;
use tarn_sim::storm::stormy;

#[test]
fn a_stream_through_any_trouble_ends_with_both_sides_equal() {
    every_seed(2_000, |seed| stormy(seed, Scenario::Stream, Mutant::None));
}

#[test]
fn a_load_and_its_stream_through_any_trouble_end_with_both_sides_equal() {
    every_seed(1_000, |seed| stormy(seed, Scenario::LoadThenStream, Mutant::None));
}

#[test]
fn a_table_added_to_a_running_stream_through_any_trouble_ends_with_both_sides_equal() {
    every_seed(1_000, |seed| stormy(seed, Scenario::LoadWhileStreaming, Mutant::None));
}
