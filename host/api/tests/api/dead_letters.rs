//! Dead letters and the policy by which there are some.

use serde_json::json;
use tarn_model::MirrorState;

use crate::fixture::{Fixture, creation_with};

#[tokio::test]
async fn the_policy_is_taken_by_name_and_number_and_read_back_by_name() {
    let fixture = Fixture::new().await.with_peers().await;
    for (name, sent, read) in [
        ("a", json!({}), "STOP"),
        ("b", json!({"record_error_policy": "SKIP"}), "SKIP"),
        ("c", json!({"recordErrorPolicy": 3, "recordErrorLimit": 7}), "DEAD_LETTER"),
    ] {
        fixture.post("flows/cdc/create", creation_with(name, sent)).await.ok();
        let body = json!({"flowJobName": name, "includeFlowInfo": true});
        let status = fixture.post("mirrors/status", body).await.ok()["cdcStatus"].clone();
        assert_eq!(status["config"]["recordErrorPolicy"], read);
        assert_eq!(status["config"]["recordErrorLimit"], if name == "c" { 7 } else { 1_000 });
        assert_eq!((&status["recordErrors"]["waiting"], &status["failure"]), (&json!("0"), &json!("")));
    }
    for wrong in [json!({"record_error_policy": "IGNORE"}), json!({"record_error_policy": 0})] {
        let refusal = fixture.post("flows/cdc/create", creation_with("d", wrong)).await.refusal();
        assert_eq!(refusal, (400, 3, vec!["connection_configs.record_error_policy".to_owned()]));
    }
    let too_many = creation_with("d", json!({"record_error_limit": 100_001}));
    let refusal = fixture.post("flows/cdc/create", too_many).await.refusal();
    assert_eq!(refusal, (400, 9, vec!["record_error_limit".to_owned()]));
}

#[tokio::test]
async fn the_policy_is_edited_and_stays_where_an_edit_does_not_name_it() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror_in("m", MirrorState::Paused).await;
    for (update, read) in [
        (json!({"recordErrorPolicy": "DEAD_LETTER", "recordErrorLimit": 9}), "DEAD_LETTER"),
        (json!({"batchSize": 5}), "DEAD_LETTER"),
        (json!({"record_error_policy": 1}), "STOP"),
    ] {
        let update = json!({"cdcFlowConfigUpdate": update});
        let body =
            json!({"flowJobName": "m", "requestedFlowState": "STATUS_RUNNING", "flowConfigUpdate": update});
        assert_eq!(fixture.post("mirrors/state_change", body).await.ok(), json!({}));
        let spec = fixture.stored("m").await.spec;
        assert_eq!((spec.record_error_limit, json!(spec.record_error_policy)), (9, json!(read)));
        fixture.observe("m", MirrorState::Running).await;
        fixture.request("m", "STATUS_PAUSED").await;
        fixture.observe("m", MirrorState::Paused).await;
    }
}

#[tokio::test]
async fn what_cannot_be_done_with_letters_is_refused_with_its_field() {
    let fixture = Fixture::new().await;
    fixture.play_the_shop().await;
    for (path, body) in [
        ("mirrors/dead_letters", json!({"flowJobName": "nobody"})),
        ("mirrors/dead_letters/show", json!({"flowJobName": "nobody", "id": 1})),
        ("mirrors/dead_letters/replay", json!({"flowJobName": "nobody"})),
        ("mirrors/dead_letters/discard", json!({"flowJobName": "nobody", "all": true})),
    ] {
        assert_eq!(
            fixture.post(path, body).await.refusal(),
            (404, 5, vec!["flow_job_name".to_owned()]),
            "{path}"
        );
    }
    let unknown = json!({"flowJobName": "orders", "id": 99});
    assert_eq!(fixture.post("mirrors/dead_letters/show", unknown).await.refusal().0, 404);
    let none = json!({"flowJobName": "orders"});
    let refusal = fixture.post("mirrors/dead_letters/discard", none.clone()).await.refusal();
    assert_eq!(refusal, (400, 3, vec!["ids".to_owned()]));
    let ids: Vec<_> = (0..501).collect();
    let refusal =
        fixture.post("mirrors/dead_letters/replay", json!({"flowJobName": "orders", "ids": ids})).await;
    assert_eq!(refusal.refusal(), (400, 3, vec!["ids".to_owned()]));
    fixture.unreachable("planted: the store is away");
    let reply = fixture.post("mirrors/dead_letters/replay", none.clone()).await;
    assert_eq!(reply.refusal(), (400, 9, vec!["flow_job_name".to_owned()]));
    assert!(reply.text.contains("the store is away"), "{}", reply.text);
    fixture.request("orders", "STATUS_TERMINATED").await;
    assert_eq!(fixture.post("mirrors/dead_letters/replay", none.clone()).await.refusal().0, 400);
    let kept = fixture.post("mirrors/dead_letters", none).await.ok();
    assert_eq!(kept["deadLetters"][0]["message"], "attempt to index a nil value (field 'country')");
}

#[tokio::test]
async fn a_letter_that_was_given_up_stays_in_the_list_without_its_record() {
    let fixture = Fixture::new().await;
    fixture.play_the_shop().await;
    let body = json!({"flowJobName": "orders", "ids": [1, 1, 7]});
    let answer = fixture.post("mirrors/dead_letters/discard", body.clone()).await.ok();
    assert_eq!(answer["discarded"], "1");
    assert_eq!(fixture.post("mirrors/dead_letters/discard", body).await.ok()["discarded"], "0");
    let shown =
        fixture.post("mirrors/dead_letters/show", json!({"flowJobName": "orders", "id": 1})).await.ok();
    assert_eq!((&shown["state"], &shown["record"]), (&json!("DISCARDED"), &json!(null)));
    assert!(shown["settledAt"].is_string(), "{shown}");
    let waiting = json!({"flowJobName": "orders", "state": 1, "includeRecords": true});
    assert_eq!(fixture.post("mirrors/dead_letters", waiting).await.ok()["deadLetters"], json!([]));
}

#[tokio::test]
async fn letters_that_wait_keep_their_policy() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture
        .post("flows/cdc/create", creation_with("m", json!({"record_error_policy": "DEAD_LETTER"})))
        .await
        .ok();
    fixture.observe("m", MirrorState::Running).await;
    fixture.request("m", "STATUS_PAUSED").await;
    fixture.observe("m", MirrorState::Paused).await;
    let id = fixture.stored("m").await.id;
    fixture.control.catalog().keep_letters(id, &[crate::shop::letter()], 1 << 20).await.expect("kept");
    let update = json!({"cdcFlowConfigUpdate": {"recordErrorPolicy": "SKIP"}});
    let edit =
        json!({"flowJobName": "m", "requestedFlowState": "STATUS_RUNNING", "flowConfigUpdate": update});
    let answer = fixture.post("mirrors/state_change", edit.clone()).await.ok();
    assert_eq!(answer["ok"], false);
    assert!(
        answer["errorMessage"].as_str().is_some_and(|text| text.contains("1 dead letters wait")),
        "{answer}"
    );
    fixture.post("mirrors/dead_letters/discard", json!({"flowJobName": "m", "all": true})).await.ok();
    assert_eq!(fixture.post("mirrors/state_change", edit).await.ok(), json!({}));
}
