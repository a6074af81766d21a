//! The process dies at every single step of a run, and the next life makes both sides equal.

use tarn_sim::mirror::Scenario;
use tarn_sim::seeds::every_seed;
use tarn_sim::storm::crashed_at;

fn crash_everywhere(scenario: Scenario) {
    let mut crashes = 0;
    every_seed(3, |seed| {
        let (steps, end) = crashed_at(seed, scenario, None);
        end?;
        for step in 1..=steps {
            let (_, end) = crashed_at(seed, scenario, Some(step));
            end.map_err(|fault| format!("crash at step {step} of {steps}: {fault}"))?;
        }
        crashes += steps;
        Ok(())
    });
    assert!(crashes > 300, "only {crashes} steps: the models have become too short");
}

#[test]
fn a_stream_survives_a_crash_at_every_step() {
    crash_everywhere(Scenario::Stream);
}

#[test]
fn a_load_and_its_stream_survive_a_crash_at_every_step() {
    crash_everywhere(Scenario::LoadThenStream);
}

#[test]
fn a_table_added_to_a_running_stream_survives_a_crash_at_every_step() {
    crash_everywhere(Scenario::LoadWhileStreaming);
}
