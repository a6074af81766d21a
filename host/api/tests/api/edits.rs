use serde_json::{Value, json};
use tarn_control::Purpose;
use tarn_model::{MirrorState, Problem};

use crate::fixture::Fixture;

fn edit(update: Value) -> Value {
    json!({"flowJobName": "m", "requestedFlowState": "STATUS_RUNNING",
        "flowConfigUpdate": {"cdcFlowConfigUpdate": update}})
}

fn table(source: &str, destination: &str) -> Value {
    json!({"sourceTableIdentifier": source, "destinationTableIdentifier": destination})
}

async fn paused() -> Fixture {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror_in("m", MirrorState::Paused).await;
    fixture
}

#[tokio::test]
async fn a_successful_edit_answers_an_empty_object_and_resumes() {
    let fixture = paused().await;
    let update = json!({"batchSize": "9", "idleTimeout": 60, "snapshotNumRowsPerPartition": 11,
        "snapshotMaxParallelWorkers": 3, "snapshotNumTablesInParallel": 2,
        "additionalTables": [{"sourceTableIdentifier": "public.orders", "destinationTableIdentifier": "orders",
            "exclude": ["secret"]}],
        "removedTables": [table("public.users", "users")]});
    assert_eq!(fixture.post("mirrors/state_change", edit(update)).await.ok(), json!({}));
    let mirror = fixture.stored("m").await;
    assert_eq!(mirror.state, MirrorState::Modifying);
    assert_eq!((mirror.spec.max_batch_size, mirror.spec.idle_timeout_seconds), (9, 60));
    assert_eq!(mirror.spec.tables.len(), 1);
    assert_eq!(mirror.spec.tables[0].exclude, ["secret"]);
    let pending = mirror.edit.expect("the run has something to do");
    assert_eq!(
        (pending.added[0].source.as_str(), pending.removed[0].source.as_str()),
        ("public.orders", "public.users")
    );
    let looks = fixture.stores.looks.lock().expect("whole").last().cloned();
    assert_eq!(looks, Some((Purpose::AddTables, vec!["public.orders".to_owned()])));
}

#[tokio::test]
async fn zero_and_empty_mean_unchanged() {
    let fixture = paused().await;
    let before = fixture.stored("m").await.spec;
    let update = json!({"batchSize": 0, "idleTimeout": "0", "additionalTables": [], "removedTables": []});
    assert_eq!(fixture.post("mirrors/state_change", edit(update)).await.ok(), json!({}));
    assert_eq!(fixture.stored("m").await.spec, before);
}

#[tokio::test]
async fn a_script_is_taken_away_and_given_by_an_edit_and_the_log_says_so() {
    let fixture = paused().await;
    for name in ["one", "two"] {
        let script =
            json!({"id": -1, "lang": "lua", "name": name, "source": "function onRecord(r) return r end"});
        fixture.post("scripts", json!({"script": script})).await.ok();
    }
    for (update, script, noted) in [
        (
            json!({"script": ["one", "two@1"], "scriptWorkers": 2}),
            "one,two@1",
            "with script one,two@1 from here on",
        ),
        (json!({"script": ""}), "one,two@1", "an edit was requested"),
        (json!({"script": "two"}), "two", "with script two instead of one,two@1 from here on"),
        (json!({"remove_script": true}), "", "without script two from here on"),
    ] {
        assert_eq!(fixture.post("mirrors/state_change", edit(update.clone())).await.ok(), json!({}));
        let spec = fixture.stored("m").await.spec;
        assert_eq!((spec.script.as_str(), spec.script_workers), (script, 2), "{update}");
        let log =
            fixture.post("mirrors/logs", json!({"flowJobName": "m", "page": 1, "numPerPage": 1})).await.ok();
        let line = log["errors"][0]["errorMessage"].as_str().expect("a line").to_owned();
        assert!(line.ends_with(noted), "{line}");
        fixture.observe("m", MirrorState::Running).await;
        fixture.request("m", "STATUS_PAUSED").await;
        fixture.observe("m", MirrorState::Paused).await;
    }
    // Once no mirror names them, they can be deleted.
    let scripts = fixture.get("scripts/-1").await.ok();
    let id = scripts["scripts"][0]["id"].clone();
    fixture.delete(&format!("scripts/{id}")).await.ok();
}

#[tokio::test]
async fn an_edit_is_taken_only_while_paused_or_failed() {
    use MirrorState::{Modifying, Pausing, Running, Setup, Snapshot, Terminated};
    for state in [Setup, Snapshot, Running, Pausing, Modifying, Terminated] {
        let fixture = Fixture::new().await.with_peers().await;
        fixture.mirror_in("m", state).await;
        let answer = fixture.post("mirrors/state_change", edit(json!({"batchSize": 9}))).await.ok();
        assert_eq!(answer["ok"], false, "{state:?}");
        let message = answer["errorMessage"].as_str().expect("a text");
        assert!(message.contains("STATUS_PAUSED or STATUS_FAILED"), "{message}");
        assert_ne!(fixture.stored("m").await.spec.max_batch_size, 9);
    }
}

#[tokio::test]
async fn a_failed_mirror_takes_an_edit_and_goes_on_with_it() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror_in("m", MirrorState::Failed).await;
    assert_eq!(fixture.post("mirrors/state_change", edit(json!({"batchSize": 9}))).await.ok(), json!({}));
    let mirror = fixture.stored("m").await;
    assert_eq!((mirror.spec.max_batch_size, mirror.state), (9, MirrorState::Modifying));
    assert!(mirror.failure.is_none(), "{:?}", mirror.failure);
    // It may fail again, and be edited again before the first edit was carried out.
    fixture.observe("m", MirrorState::Failed).await;
    let added = edit(json!({"additionalTables": [table("public.more", "more")]}));
    assert_eq!(fixture.post("mirrors/state_change", added).await.ok(), json!({}));
    fixture.observe("m", MirrorState::Failed).await;
    let removed = edit(json!({"removedTables": [table("public.more", "more")]}));
    assert_eq!(fixture.post("mirrors/state_change", removed).await.ok(), json!({}));
    let pending = fixture.stored("m").await.edit.expect("what is still to do");
    assert!(pending.added.is_empty(), "{pending:?}");
    assert_eq!(pending.removed.len(), 1, "it may have come to the source");
}

#[tokio::test]
async fn an_edit_asks_for_running() {
    let fixture = paused().await;
    let mut body = edit(json!({"batchSize": 9}));
    body["requestedFlowState"] = "STATUS_PAUSED".into();
    let answer = fixture.post("mirrors/state_change", body).await.ok();
    assert_eq!(answer["ok"], false);
    assert!(answer["errorMessage"].as_str().is_some_and(|message| message.contains("STATUS_RUNNING")));
}

#[tokio::test]
async fn each_rule_of_an_edit_refuses_with_its_field_and_changes_nothing() {
    let fixture = paused().await;
    let before = fixture.stored("m").await;
    for (update, field) in [
        (
            json!({"additionalTables": [table("public.users", "users")], "removedTables": [table("public.users", "users")]}),
            "both lists",
        ),
        (
            json!({"additionalTables": [table("public.users", "u2")]}),
            "additional_tables[0].source_table_identifier",
        ),
        (
            json!({"additionalTables": [table("public.o", "users")]}),
            "additional_tables[0].destination_table_identifier",
        ),
        (json!({"additionalTables": [table("o", "o")]}), "additional_tables[0].source_table_identifier"),
        (
            json!({"additionalTables": [table("public.o", "o"), table("public.p", "o")]}),
            "additional_tables[1].destination_table_identifier",
        ),
        (json!({"removedTables": [table("public.none", "x")]}), "removed_tables[0].source_table_identifier"),
        (json!({"removedTables": [table("public.users", "users")]}), "removed_tables"),
        (json!({"idleTimeout": 86_401}), "idle_timeout"),
        (json!({"scriptWorkers": 17}), "script_workers"),
        (json!({"script": "none"}), "script"),
        (json!({"script": ["one", "one@2"]}), "script"),
        (json!({"script": "one", "removeScript": true}), "remove_script"),
        (json!({"snapshotMaxParallelWorkers": 1000}), "snapshot_max_parallel_workers"),
    ] {
        let answer = fixture.post("mirrors/state_change", edit(update.clone())).await.ok();
        assert_eq!(answer["ok"], false, "{update}");
        let message = answer["errorMessage"].as_str().expect("a text");
        assert!(message.contains(field), "{field} in {message}");
        assert_eq!(fixture.stored("m").await, before);
    }
}

#[tokio::test]
async fn what_the_stores_find_about_added_tables_refuses_the_edit() {
    let fixture = paused().await;
    fixture.find_problems(&[Problem::new(
        "table_mappings[0].source_table_identifier",
        "has no key",
        "add one",
    )]);
    let update = json!({"additionalTables": [table("public.o", "o")]});
    let answer = fixture.post("mirrors/state_change", edit(update)).await.ok();
    let message = answer["errorMessage"].as_str().expect("a text");
    assert!(
        message.contains("additional_tables[0].source_table_identifier: has no key (add one)"),
        "{message}"
    );
    assert_eq!(fixture.stored("m").await.state, MirrorState::Paused);
}

#[tokio::test]
async fn an_edit_that_was_checked_against_an_older_mirror_is_checked_again() {
    let fixture = std::sync::Arc::new(paused().await);
    let update = || json!({"additionalTables": [table("public.o", "o")]});
    let other = std::sync::Arc::clone(&fixture);
    *fixture.stores.meanwhile.lock().expect("whole") = Some(Box::pin(async move {
        assert_eq!(other.post("mirrors/state_change", edit(update())).await.ok(), json!({}));
        other.observe("m", MirrorState::Running).await;
        other.request("m", "STATUS_PAUSED").await;
        other.observe("m", MirrorState::Paused).await;
    }));
    let answer = fixture.post("mirrors/state_change", edit(update())).await.ok();
    assert!(answer["errorMessage"].as_str().is_some_and(|m| m.contains("in the mirror already")), "{answer}");
    assert_eq!(fixture.stored("m").await.spec.tables.len(), 2);
}

#[tokio::test]
async fn of_edits_at_the_same_time_one_is_taken_whole() {
    let fixture = std::sync::Arc::new(paused().await);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 1..=10 {
        let fixture = std::sync::Arc::clone(&fixture);
        let update = json!({"batchSize": number, "idleTimeout": number});
        tasks.spawn(async move { fixture.post("mirrors/state_change", edit(update)).await.ok() });
    }
    let answers = tasks.join_all().await;
    assert_eq!(answers.iter().filter(|answer| **answer == json!({})).count(), 1, "{answers:?}");
    let spec = fixture.stored("m").await.spec;
    assert_eq!(u64::from(spec.max_batch_size), spec.idle_timeout_seconds);
}
