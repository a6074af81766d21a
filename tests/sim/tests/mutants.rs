//! The simulation sees what it is there to see: each planted bug breaks a promise at one of the first seeds.

use tarn_sim::mirror::Scenario;
use tarn_sim::mutant::Mutant;
use tarn_sim::seeds::some_seed_fails;
use tarn_sim::storm::stormy;

/// Seeds tried before a bug counts as missed.
const SEEDS: u64 = 2_000;

fn assert_caught(mutant: Mutant, scenario: Scenario) {
    let caught = some_seed_fails(SEEDS, |seed| stormy(seed, scenario, mutant));
    let (seed, fault) = caught.unwrap_or_else(|| panic!("{mutant:?} survived {SEEDS} seeds"));
    assert!(!fault.contains("stands still"), "{mutant:?} at seed {seed} only stalls: {fault}");
}

#[test]
fn a_confirm_before_the_checkpoint_is_caught() {
    assert_caught(Mutant::ConfirmBeforeCheckpoint, Scenario::Stream);
}

#[test]
fn a_checkpoint_before_durability_is_caught() {
    assert_caught(Mutant::CheckpointBeforeDurable, Scenario::Stream);
}

#[test]
fn a_row_too_many_skipped_inside_a_transaction_is_caught() {
    assert_caught(Mutant::SkipOneMore, Scenario::Stream);
}

#[test]
fn a_position_ahead_of_its_rows_is_caught() {
    assert_caught(Mutant::PositionAhead, Scenario::Stream);
}

// B143
#[test]
fn a_position_of_rows_instead_of_commits_is_caught() {
    assert_caught(Mutant::PositionByRow, Scenario::Stream);
}

#[test]
fn a_destination_that_doubles_is_caught() {
    assert_caught(Mutant::NotIdempotent, Scenario::Stream);
}

#[test]
fn a_destination_that_ignores_versions_is_caught() {
    assert_caught(Mutant::LastWriterWins, Scenario::LoadWhileStreaming);
}

#[test]
fn rows_before_their_columns_are_caught() {
    assert_caught(Mutant::SchemaLost, Scenario::Stream);
}

// B221
#[test]
fn finished_partitions_left_at_an_older_point_are_caught() {
    assert_caught(Mutant::NoCatchUp, Scenario::LoadThenStream);
}

#[test]
fn a_table_loaded_at_several_points_is_caught() {
    assert_caught(Mutant::LoadedAtSeveralPoints, Scenario::LoadThenStream);
}

#[test]
fn a_partition_done_before_it_is_read_is_caught() {
    assert_caught(Mutant::DoneBeforeRead, Scenario::LoadThenStream);
}

#[test]
fn unchanged_values_not_fetched_while_loading_are_caught() {
    assert_caught(Mutant::NoFetchWhileLoading, Scenario::LoadWhileStreaming);
}

#[test]
fn values_left_out_and_not_fetched_after_a_later_load_are_caught() {
    assert_caught(Mutant::NoFetchAfterLoad, Scenario::LoadThenStream);
}

// B115
#[test]
fn a_table_emptied_while_it_loads_is_caught() {
    assert_caught(Mutant::TruncateWhileLoading, Scenario::LoadWhileStreaming);
}

#[test]
fn a_destination_that_forgets_when_a_table_was_emptied_is_caught() {
    assert_caught(Mutant::EmptiedForgotten, Scenario::Stream);
}

#[test]
fn rejected_records_kept_too_late_are_caught() {
    assert_caught(Mutant::LettersLate, Scenario::Stream);
    assert_caught(Mutant::LettersLate, Scenario::LoadThenStream);
}

#[test]
fn rows_called_staged_that_are_not_are_caught() {
    assert_caught(Mutant::StagedLate, Scenario::Stream);
}

#[test]
fn a_stage_that_forgets_what_is_not_delivered_is_caught() {
    assert_caught(Mutant::ForgottenBeforeDelivered, Scenario::Stream);
}

#[test]
fn a_removed_entry_that_comes_back_is_caught() {
    assert_caught(Mutant::RemovedComesBack, Scenario::Stream);
}

#[test]
fn a_put_that_ends_late_is_caught() {
    assert_caught(Mutant::PutEndsLate, Scenario::Stream);
}

// B193
#[test]
fn a_row_left_under_its_old_key_is_caught() {
    assert_caught(Mutant::OldKeyStays, Scenario::Stream);
}

#[test]
fn a_load_that_beats_the_stream_is_caught() {
    assert_caught(Mutant::SnapshotWins, Scenario::LoadThenStream);
}
