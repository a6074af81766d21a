use axum::http::{Request, header};
use serde_json::{Value, json};
use tarn_api::{Credentials, Limits};
use tarn_model::{MirrorState, Secret};

use crate::fixture::{Fixture, creation_with};

const CASES: &str = r#"{"tables": {"public.users": ["id bigint key", "email text"]}, "cases": [
    {"case": "masked", "new": {"id": 7, "email": "jane@example.com"}, "expect": {"new": {"email": "***"}}},
    {"case": "a deletion passes", "kind": "delete", "old": {"id": 7}, "expect": "kept"}]}"#;

fn script(id: i64, source: &str, tests: Value) -> Value {
    json!({"script": {"id": id, "lang": "lua", "name": "mask", "source": source, "tests": tests}})
}

async fn versions(fixture: &Fixture) -> Vec<Value> {
    fixture.get("scripts/1/versions").await.ok()["versions"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn tests_are_stored_with_a_version_and_stay_until_others_come() {
    let fixture = Fixture::new().await;
    fixture.post("scripts", script(-1, "one", json!(CASES))).await.ok();
    assert_eq!(fixture.get("scripts/1").await.ok()["scripts"][0]["tests"], CASES);
    // A client that knows nothing of tests keeps them, and they must pass.
    fixture.post("scripts", script(1, "two", Value::Null)).await.ok();
    let refused = fixture.post("scripts", script(1, "drop", Value::Null)).await;
    assert_eq!(refused.refusal(), (400, 3, vec!["script.tests".into(), "script.tests".into()]));
    fixture.post("scripts", script(1, "drop", json!(""))).await.ok();
    let tests: Vec<_> = versions(&fixture).await.iter().map(|version| version["tests"].clone()).collect();
    assert_eq!(tests, ["", CASES, CASES]);
}

#[tokio::test]
async fn a_script_that_fails_a_case_is_refused_naming_it_with_what_was_expected_and_what_came() {
    let fixture = Fixture::new().await;
    fixture.post("scripts", script(-1, "one", json!(CASES))).await.ok();
    let wrong = CASES.replace("\"***\"", "\"none\"");
    let refused = fixture.post("scripts", script(1, "two", json!(wrong))).await;
    assert_eq!(refused.refusal(), (400, 3, vec!["script.tests".into()]));
    let message = refused.json()["details"][0]["message"].as_str().expect("a text").to_owned();
    let expected = r#"case "masked" fails: expected {"new":{"id":"7","email":"none"}}, got {"new":{"id":"7","email":"***"}}"#;
    assert_eq!(message, expected);
    for (source, got) in [("reject", "no such row"), ("trap", "ran too long"), ("drop", "dropped")] {
        let refused = fixture.post("scripts", script(1, source, json!(CASES))).await;
        assert!(refused.text.contains(got), "{source}: {}", refused.text);
    }
    assert_eq!(versions(&fixture).await.len(), 1, "a refused version leaves nothing");
}

#[tokio::test]
async fn tests_that_cannot_be_read_are_400_with_their_place() {
    let fixture = Fixture::new().await;
    let many = format!(
        "{{\"cases\": [{}]}}",
        vec!["{\"case\": \"x\", \"new\": {}, \"expect\": \"kept\"}"; 501].join(",")
    );
    for (tests, names) in [
        ("{", "line 1"),
        (r#"{"cases": [{"case": "x", "expect": "kept", "new": {"id": 1}, "old": 5}]}"#, "cases[0]"),
        (r#"{"cases": [], "extra": 1}"#, "extra"),
        (many.as_str(), "500"),
    ] {
        let refused = fixture.post("scripts", script(-1, "one", json!(tests))).await;
        assert_eq!(refused.refusal(), (400, 3, vec!["script.tests".into()]), "{tests}");
        assert!(refused.text.contains(names), "{}", refused.text);
    }
    let large = " ".repeat((1 << 20) + 1);
    let refused = fixture.post("scripts", script(-1, "one", json!(large))).await;
    assert_eq!(refused.refusal(), (400, 3, vec!["script.tests".into()]));
}

#[tokio::test]
async fn a_roll_back_is_a_new_version_with_the_code_the_tests_and_the_component_of_an_older_one() {
    let fixture = Fixture::new().await;
    fixture.post("scripts", script(-1, "one", json!(CASES))).await.ok();
    fixture.post("scripts", script(1, "two", json!(""))).await.ok();
    let done = fixture.post("scripts/rollback", json!({"id": 1, "version": 1})).await.ok();
    assert_eq!(done, json!({"version": 3, "rolledBackFrom": 1}));
    let versions = versions(&fixture).await;
    let shown: Vec<_> = versions
        .iter()
        .map(|version| {
            (version["version"].clone(), version["source"].clone(), version["rolledBackFrom"].clone())
        })
        .collect();
    let expected = [(3, "one", 1), (2, "two", 0), (1, "one", 0)];
    assert_eq!(shown, expected.map(|(version, source, from)| (json!(version), json!(source), json!(from))));
    assert_eq!((&versions[0]["tests"], &versions[0]["digest"]), (&json!(CASES), &versions[2]["digest"]));
}

#[tokio::test]
async fn a_roll_back_to_nowhere_is_refused() {
    let fixture = Fixture::new().await;
    fixture.post("scripts", script(-1, "one", Value::Null)).await.ok();
    for (body, status, code, field) in [
        (json!({"id": 1, "version": 1}), 400, 9, "version"),
        (json!({"id": 1, "version": 2}), 404, 5, "version"),
        (json!({"id": 7, "version": 1}), 404, 5, "id"),
        (json!({"id": 1}), 400, 3, "version"),
        (json!({"version": 1}), 400, 3, "id"),
    ] {
        let refused = fixture.post("scripts/rollback", body.clone()).await;
        assert_eq!(refused.refusal(), (status, code, vec![field.into()]), "{body}");
    }
}

#[tokio::test]
async fn a_version_says_who_stored_it() {
    let fixture = Fixture::new().await;
    let credentials = Credentials::Password { user: "ann".into(), password: Secret::new("planted") };
    let router = tarn_api::router(fixture.control.clone(), &credentials, &Limits::default());
    let fixture = fixture.with_router(router);
    let stored = Request::post("/api/v1/scripts")
        .header(header::AUTHORIZATION, "Basic YW5uOnBsYW50ZWQ=")
        .body(script(-1, "one", Value::Null).to_string().into())
        .expect("a request");
    fixture.send(stored).await.ok();
    let versions = fixture.control.script_versions(1).await.expect("read");
    assert_eq!(versions[0].created_by, "ann");
}

#[tokio::test]
async fn a_component_is_answered_as_bytes_with_its_digest() {
    let fixture = Fixture::new().await;
    fixture.post("scripts", script(-1, "one", Value::Null)).await.ok();
    fixture.post("scripts", script(1, "two", Value::Null)).await.ok();
    let versions = versions(&fixture).await;
    for (path, text, version) in [
        ("scripts/1/component", "component of two", 0),
        ("scripts/1/component?version=1", "component of one", 1),
        ("scripts/1/component?version=0", "component of two", 0),
    ] {
        let reply = fixture.get(path).await;
        assert_eq!((reply.status.as_u16(), reply.text.as_str()), (200, text), "{path}");
        assert_eq!(reply.header(header::CONTENT_TYPE), "application/wasm");
        let digest = versions[version]["digest"].as_str().expect("a digest");
        assert_eq!(reply.header(header::ETAG), format!("\"{digest}\""));
    }
    assert_eq!(
        fixture.get("scripts/1/component?version=3").await.refusal(),
        (404, 5, vec!["version".into()])
    );
    assert_eq!(fixture.get("scripts/2/component").await.refusal(), (404, 5, vec!["id".into()]));
}

#[tokio::test]
async fn an_uploaded_component_that_cannot_be_opened_is_refused() {
    let fixture = Fixture::new().await;
    let mut body = script(-1, "cannot open", Value::Null);
    body["script"]["lang"] = "wasm".into();
    let refused = fixture.post("scripts", body).await;
    assert_eq!(refused.refusal(), (400, 3, vec!["script.source".into()]));
    assert_eq!(fixture.get("scripts/-1").await.ok(), json!({"scripts": []}));
}

#[tokio::test]
async fn a_mirror_is_pinned_to_a_version_by_an_edit_and_the_script_stays_in_use() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.post("scripts", script(-1, "one", Value::Null)).await.ok();
    let other = json!({"script": {"id": -1, "lang": "lua", "name": "other", "source": "x"}});
    fixture.post("scripts", other).await.ok();
    fixture.post("flows/cdc/create", creation_with("m", json!({"script": "other"}))).await.ok();
    fixture.observe("m", MirrorState::Running).await;
    fixture.request("m", "STATUS_PAUSED").await;
    fixture.observe("m", MirrorState::Paused).await;
    let edit = async |script: &str| {
        let update = json!({"cdcFlowConfigUpdate": {"script": script}});
        fixture
            .post("mirrors/state_change", json!({"flowJobName": "m", "flowConfigUpdate": update}))
            .await
            .ok()
    };
    for unknown in ["mask@2", "none", "mask@x"] {
        let refused = edit(unknown).await;
        assert!(refused["errorMessage"].as_str().is_some_and(|text| text.contains("script")), "{refused}");
    }
    assert_eq!(edit("mask@1").await, json!({}));
    assert_eq!(fixture.stored("m").await.spec.script, "mask@1");
    assert_eq!(fixture.delete("scripts/1").await.refusal(), (400, 9, vec!["id".into()]), "it is in use now");
    fixture.delete("scripts/2").await.ok();
}
