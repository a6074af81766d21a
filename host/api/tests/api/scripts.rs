use serde_json::{Value, json};
use tarn_model::Edition;

use crate::fixture::{Fixture, creation_with};

fn script(id: i64, name: &str, source: &str) -> Value {
    json!({"script": {"id": id, "lang": "lua", "name": name, "source": source}})
}

#[tokio::test]
async fn a_new_script_gets_an_id_and_an_update_keeps_it() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.post("scripts", script(-1, "a", "one")).await.ok(), json!({"id": 1}));
    assert_eq!(fixture.post("scripts", script(-1, "b", "two")).await.ok(), json!({"id": 2}));
    assert_eq!(fixture.post("scripts", script(1, "a", "three")).await.ok(), json!({"id": 1}));
    let (a, b) = (
        json!({"id": 1, "lang": "lua", "name": "a", "source": "three", "tests": "", "version": 2}),
        json!({"id": 2, "lang": "lua", "name": "b", "source": "two", "tests": "", "version": 1}),
    );
    assert_eq!(fixture.get("scripts/-1").await.ok(), json!({"scripts": [a, b]}));
    assert_eq!(fixture.get("scripts/2").await.ok(), json!({"scripts": [b]}));
    assert_eq!(fixture.get("scripts/9").await.ok(), json!({"scripts": []}));
    assert_eq!(fixture.get("scripts/x").await.refusal(), (400, 3, vec!["id".into()]));
}

#[tokio::test]
async fn every_update_makes_a_version() {
    let fixture = Fixture::new().await;
    fixture.post("scripts", script(-1, "a", "one")).await.ok();
    fixture.post("scripts", script(1, "a", "two")).await.ok();
    let versions = fixture.get("scripts/1/versions").await.ok()["versions"].clone();
    assert_eq!((&versions[0]["version"], &versions[0]["source"]), (&json!(2), &json!("two")));
    assert_eq!((&versions[1]["version"], &versions[1]["source"]), (&json!(1), &json!("one")));
    assert_eq!(fixture.get("scripts/9/versions").await.ok(), json!({"versions": []}));
}

#[tokio::test]
async fn a_script_that_does_not_compile_is_refused_with_its_place_and_leaves_nothing() {
    let fixture = Fixture::new().await;
    let reply = fixture.post("scripts", script(-1, "a", "syntax error")).await;
    assert_eq!(reply.refusal(), (400, 3, vec!["script.source".into()]));
    assert!(reply.text.contains("line 3, column 7"), "{}", reply.text);
    assert_eq!(fixture.get("scripts/-1").await.ok(), json!({"scripts": []}));
    fixture.post("scripts", script(-1, "a", "good")).await.ok();
    fixture.post("scripts", script(1, "a", "syntax error")).await.refusal();
    assert_eq!(fixture.get("scripts/1").await.ok()["scripts"][0]["source"], "good");
}

#[tokio::test]
async fn a_compiler_that_fails_is_500_and_tells_nothing_of_the_inside() {
    let fixture = Fixture::new().await;
    let reply = fixture.post("scripts", script(-1, "a", "compiler down")).await;
    assert_eq!(reply.refusal(), (500, 13, vec![]));
    assert!(!reply.text.contains("planted-inside"), "{}", reply.text);
}

#[tokio::test]
async fn a_script_may_require_the_other_stored_ones() {
    let fixture = Fixture::new().await;
    fixture.post("scripts", script(-1, "a", "one")).await.ok();
    let refused = fixture.post("scripts", script(-1, "b", "require c")).await;
    assert_eq!(refused.refusal(), (400, 3, vec!["script.source".into()]));
    fixture.post("scripts", script(-1, "b", "require a")).await.ok();
    // Not itself, also not what it was before.
    fixture.post("scripts", script(1, "a", "require a")).await.refusal();
}

#[tokio::test]
async fn names_are_unique_and_ids_must_exist() {
    let fixture = Fixture::new().await;
    fixture.post("scripts", script(-1, "a", "x")).await.ok();
    let taken = fixture.post("scripts", script(-1, "a", "y")).await;
    assert_eq!(taken.refusal(), (409, 6, vec!["script.name".into()]));
    for id in [0, 7] {
        let unknown = fixture.post("scripts", script(id, "b", "y")).await;
        assert_eq!(unknown.refusal(), (404, 5, vec!["script.id".into()]));
    }
}

#[tokio::test]
async fn wrong_fields_are_400_and_an_unknown_language_names_the_three() {
    let fixture = Fixture::new().await;
    for (field, value) in [("lang", "python"), ("lang", ""), ("name", "a b"), ("name", ""), ("source", "")] {
        let mut body = script(-1, "a", "x");
        body["script"][field] = value.into();
        let reply = fixture.post("scripts", body).await;
        assert_eq!(reply.refusal(), (400, 3, vec![format!("script.{field}")]));
        if field == "lang" {
            assert!(["lua", "javascript", "wasm"].iter().all(|name| reply.text.contains(name)));
        }
    }
}

#[tokio::test]
async fn scripts_of_one_language_are_modules_for_each_other() {
    let fixture = Fixture::new().await;
    let stored = |lang: &str, name: &str, source: &str| {
        let mut body = script(-1, name, source);
        body["script"]["lang"] = lang.into();
        fixture.post("scripts", body)
    };
    stored("javascript", "words", "x").await.ok();
    stored("lua", "masks", "x").await.ok();
    stored("javascript", "loud", "require words").await.ok();
    let refused = stored("javascript", "louder", "require masks").await;
    assert_eq!(refused.refusal(), (400, 3, vec!["script.source".into()]));
}

#[tokio::test]
async fn a_script_in_use_is_not_deleted() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.post("scripts", script(-1, "mask", "x")).await.ok();
    fixture.post("flows/cdc/create", creation_with("m", json!({"script": "mask@1"}))).await.ok();
    let refused = fixture.delete("scripts/1").await;
    assert_eq!(refused.refusal(), (400, 9, vec!["id".into()]));
    assert!(refused.json()["message"].as_str().is_some_and(|message| message.contains("used by m")));
    fixture.request("m", "STATUS_TERMINATED").await;
    fixture.observe("m", tarn_model::MirrorState::Terminated).await;
    assert_eq!(fixture.delete("scripts/1").await.ok(), json!({}));
    assert_eq!(fixture.delete("scripts/1").await.refusal(), (404, 5, vec!["id".into()]));
}

#[tokio::test]
async fn where_scripts_are_disabled_they_are_read_and_not_written() {
    let fixture = Fixture::in_edition(Edition::Hosted).await;
    for path in ["scripts", "scripts/test", "scripts/rollback"] {
        let reply = fixture.post(path, script(-1, "a", "x")).await;
        assert_eq!(reply.refusal(), (403, 7, vec![]), "{path}");
        assert!(reply.text.contains("scripts_enabled"));
    }
    assert_eq!(fixture.get("scripts/-1").await.ok(), json!({"scripts": []}));
}
