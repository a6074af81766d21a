use serde_json::{Value, json};
use tarn_model::{Enumerated as _, MirrorState};

use crate::fixture::Fixture;

/// What a request answers in a state: the state it leads to, nothing where it is so already, a refusal
/// otherwise.
enum Expected {
    Becomes(MirrorState),
    Already,
    Refused(&'static str),
}

async fn check(state: MirrorState, requested: &str, expected: Expected) {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror_in("m", state).await;
    let answer = fixture.change("m", requested).await;
    let now = fixture.stored("m").await.state;
    match expected {
        Expected::Becomes(next) => {
            assert_eq!((answer, now), (json!({"ok": true, "errorMessage": ""}), next));
        }
        Expected::Already => assert_eq!((answer, now), (json!({"ok": true, "errorMessage": ""}), state)),
        Expected::Refused(from) => {
            assert_eq!((&answer["ok"], now), (&json!(false), state), "{requested} in {state:?}");
            let message = answer["errorMessage"].as_str().expect("a text");
            assert!(message.contains(state.name()) && message.contains(from), "{message}");
        }
    }
}

#[tokio::test]
async fn pause_comes_from_running_snapshot_or_setup() {
    use MirrorState::{Completed, Failed, Modifying, Paused, Pausing, Resync, Running, Setup, Snapshot};
    for state in [Running, Snapshot, Setup] {
        check(state, "STATUS_PAUSED", Expected::Becomes(Pausing)).await;
    }
    for state in [Paused, Pausing] {
        check(state, "STATUS_PAUSED", Expected::Already).await;
    }
    for state in [Failed, Completed, Modifying, Resync, MirrorState::Terminating, MirrorState::Terminated] {
        check(state, "STATUS_PAUSED", Expected::Refused("STATUS_RUNNING, STATUS_SNAPSHOT, STATUS_SETUP"))
            .await;
    }
}

#[tokio::test]
async fn resume_comes_from_paused_or_failed() {
    use MirrorState::{Completed, Failed, Modifying, Paused, Pausing, Running, Setup, Snapshot};
    check(Paused, "STATUS_RUNNING", Expected::Becomes(Running)).await;
    check(Failed, "STATUS_RUNNING", Expected::Becomes(Setup)).await;
    check(Running, "STATUS_RUNNING", Expected::Already).await;
    for state in [Pausing, Setup, Snapshot, Completed, Modifying, MirrorState::Terminated] {
        check(state, "STATUS_RUNNING", Expected::Refused("STATUS_PAUSED or STATUS_FAILED")).await;
    }
}

#[tokio::test]
async fn drop_comes_from_anything_not_yet_dropped_under_either_name() {
    for (state, ..) in MirrorState::ALL {
        for requested in ["STATUS_TERMINATED", "STATUS_TERMINATING"] {
            let expected = match state {
                MirrorState::Unknown => continue,
                MirrorState::Terminating | MirrorState::Terminated => Expected::Already,
                _ => Expected::Becomes(MirrorState::Terminating),
            };
            check(*state, requested, expected).await;
        }
    }
}

#[tokio::test]
async fn resync_loads_again_in_place() {
    use MirrorState::{Completed, Failed, Paused, Pausing, Resync, Running, Setup};
    for state in [Running, Paused, Failed, Completed] {
        check(state, "STATUS_RESYNC", Expected::Becomes(Resync)).await;
    }
    check(Resync, "STATUS_RESYNC", Expected::Already).await;
    for state in [Setup, Pausing] {
        check(state, "STATUS_RESYNC", Expected::Refused("STATUS_RUNNING")).await;
    }
    let fixture = Fixture::new().await.with_peers().await;
    let body = crate::fixture::creation_with("m", json!({"do_initial_snapshot": false}));
    fixture.post("flows/cdc/create", body).await.ok();
    fixture.observe("m", Running).await;
    assert_eq!(fixture.change("m", "STATUS_RESYNC").await["ok"], false, "there is nothing to load");
}

#[tokio::test]
async fn states_are_requested_by_name_or_number_in_either_spelling() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("m").await;
    for body in [
        json!({"flowJobName": "m", "requestedFlowState": 2}),
        json!({"flow_job_name": "m", "requested_flow_state": "STATUS_PAUSED"}),
    ] {
        assert_eq!(fixture.post("mirrors/state_change", body).await.ok()["ok"], true);
    }
}

#[tokio::test]
async fn a_state_that_cannot_be_requested_is_refused_with_those_that_can() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("m").await;
    for state in [json!("STATUS_SNAPSHOT"), json!("STATUS_COMPLETED"), json!(0), Value::Null] {
        let body = json!({"flowJobName": "m", "requestedFlowState": state});
        let answer = fixture.post("mirrors/state_change", body).await.ok();
        assert_eq!(answer["ok"], false);
        assert!(answer["errorMessage"].as_str().is_some_and(|m| m.contains("STATUS_PAUSED")), "{answer}");
    }
}

#[tokio::test]
async fn an_unknown_mirror_is_ok_false() {
    let fixture = Fixture::new().await;
    for body in [
        json!({"flowJobName": "none", "requestedFlowState": "STATUS_PAUSED"}),
        json!({"flowJobName": "none", "requestedFlowState": "STATUS_RUNNING",
            "flowConfigUpdate": {"cdcFlowConfigUpdate": {"batchSize": 1}}}),
        json!({"requestedFlowState": "STATUS_TERMINATED"}),
    ] {
        let answer = fixture.post("mirrors/state_change", body).await.ok();
        assert_eq!(answer["ok"], false);
        assert!(answer["errorMessage"].as_str().is_some_and(|m| m.contains("there is no mirror")));
    }
}

#[tokio::test]
async fn a_drop_keeps_its_options_for_the_run() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("m").await;
    let body = json!({"flowJobName": "m", "requestedFlowState": "STATUS_TERMINATED",
        "dropMirrorStats": true, "skipDestinationDrop": true});
    fixture.post("mirrors/state_change", body).await.ok();
    let options = fixture.stored("m").await.drop_options;
    assert!(options.drop_mirror_stats && options.skip_destination_drop);
}

#[tokio::test]
async fn a_mirror_resumes_where_it_was() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("m").await;
    fixture.observe("m", MirrorState::Snapshot).await;
    fixture.request("m", "STATUS_PAUSED").await;
    fixture.observe("m", MirrorState::Paused).await;
    fixture.request("m", "STATUS_RUNNING").await;
    assert_eq!(fixture.stored("m").await.state, MirrorState::Snapshot);
}

#[tokio::test]
async fn fifty_contradicting_requests_end_in_one_legal_state_with_every_answer_true() {
    let fixture = std::sync::Arc::new(Fixture::new().await.with_peers().await);
    fixture.mirror("m").await;
    fixture.observe("m", MirrorState::Running).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..50 {
        let fixture = std::sync::Arc::clone(&fixture);
        let state = ["STATUS_PAUSED", "STATUS_RUNNING", "STATUS_TERMINATED"][number % 3];
        tasks.spawn(async move { (state, fixture.change("m", state).await) });
    }
    while let Some(answered) = tasks.join_next().await {
        let (state, answer) = answered.expect("no panic");
        if state == "STATUS_TERMINATED" {
            assert_eq!(answer["ok"], true, "a drop is always taken");
        } else if answer["ok"] == false {
            let message = answer["errorMessage"].as_str().expect("a text");
            assert!(
                message.contains("STATUS_PAUSING") || message.contains("STATUS_TERMINATING"),
                "{message}"
            );
        }
    }
    assert_eq!(fixture.stored("m").await.state, MirrorState::Terminating);
}
