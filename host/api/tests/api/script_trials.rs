use serde_json::{Value, json};

use crate::fixture::{Fixture, creation_with};

fn draft(source: &str) -> Value {
    json!({"lang": "lua", "source": source})
}

fn insert(id: Value) -> Value {
    json!({"source": "public.users", "target": "people", "new": {"id": id, "email": "jane@example.com"}})
}

#[tokio::test]
async fn a_script_that_is_not_stored_is_tried_and_nothing_is_kept() {
    let fixture = Fixture::new().await;
    let body = json!({"script": draft("print"), "records": [insert(json!(7))]});
    let result = fixture.post("scripts/test", body).await.ok()["results"][0].clone();
    assert_eq!((&result["outcome"], &result["row"]), (&json!("ROW"), &json!({"id": 7, "email": "***"})));
    assert_eq!(result["before"]["new"], json!({"id": 7, "email": "jane@example.com"}));
    assert_eq!(result["after"]["new"], json!({"id": 7, "email": "***"}));
    assert_eq!((&result["after"]["target"], &result["log"]), (&json!("people"), &json!(["a line"])));
    assert_eq!((&result["micros"], &result["error"]), (&json!(7), &Value::Null));
    assert_eq!(fixture.get("scripts/-1").await.ok(), json!({"scripts": []}));
}

#[tokio::test]
async fn what_became_of_each_record_is_told() {
    let fixture = Fixture::new().await;
    for (source, outcome, message, line) in [
        ("drop", "DROPPED", Value::Null, Value::Null),
        ("reject", "ERROR", json!("no such row"), json!(2)),
        ("trap", "ERROR", json!("it ran too long (plugin_run_time_limit)"), json!(0)),
    ] {
        let body = json!({"script": draft(source), "records": [insert(json!(7)), insert(json!(8))]});
        let results = fixture.post("scripts/test", body).await.ok()["results"].clone();
        for result in results.as_array().expect("a list") {
            assert_eq!((&result["outcome"], &result["row"]), (&json!(outcome), &Value::Null));
            assert_eq!((&result["error"]["message"], &result["error"]["line"]), (&message, &line));
            if source == "reject" {
                assert_eq!(
                    (&result["error"]["function"], &result["error"]["log"]),
                    (&json!("onRecord"), &json!([]))
                );
            }
            assert_eq!(result["after"], Value::Null);
        }
        assert_eq!(results.as_array().map(Vec::len), Some(2));
    }
}

#[tokio::test]
async fn every_digit_goes_in_and_comes_out_and_columns_keep_their_order() {
    let fixture = Fixture::new().await;
    let text = r#"{"script": {"lang": "lua", "source": "x"},
        "tables": {"public.t": ["z bigint key", "price numeric(30,2)", "a double precision", "at timestamptz"]},
        "records": [{"source": "public.t", "new":
            {"a": 0.1, "at": "2024-02-29 12:34:56.789+00", "price": 12345678901234567890.10, "z": "9007199254740993"}},
            {"source": "public.u", "new": {"z": 342161316540874753, "a": 1.10}}]}"#;
    let reply = fixture.post_text("scripts/test", text).await;
    let row = r#""row":{"z":9007199254740993,"price":12345678901234567890.10,"a":0.1,"at":"2024-02-29 12:34:56.789+00"}"#;
    assert!(reply.text.contains(row), "{}", reply.text);
    assert!(reply.text.contains(r#""row":{"z":342161316540874753,"a":1.10}"#), "{}", reply.text);
}

#[tokio::test]
async fn a_stored_script_is_tried_at_any_version_with_its_tests() {
    let fixture = Fixture::new().await;
    let cases = r#"{"tables": {"public.users": ["id bigint key", "email text"]}, "cases": [
        {"case": "masked", "new": {"id": 7, "email": "x"}, "expect": {"new": {"email": "***"}}}]}"#;
    let stored = |id: i64, source: &str, tests: &str| json!({"script": {"id": id, "lang": "lua", "name": "a", "source": source, "tests": tests}});
    fixture.post("scripts", stored(-1, "print", cases)).await.ok();
    fixture.post("scripts", stored(1, "drop", "")).await.ok();
    let newest = json!({"script": {"id": 1}, "records": [insert(json!(7))]});
    let answer = fixture.post("scripts/test", newest).await.ok();
    assert_eq!((&answer["results"][0]["outcome"], &answer["cases"]), (&json!("DROPPED"), &json!([])));
    let first = json!({"script": {"id": 1, "version": 1}});
    let answer = fixture.post("scripts/test", first).await.ok();
    let case = json!({"case": "masked", "outcome": "PASSED", "expected": null, "became": null,
        "log": ["a line"], "micros": 7});
    assert_eq!((&answer["results"], &answer["cases"]), (&json!([]), &json!([case])));
    let failing = json!({"script": {"id": 1}, "tests": cases});
    let answer = fixture.post("scripts/test", failing).await.ok();
    let case = &answer["cases"][0];
    assert_eq!((&case["outcome"], &case["became"]), (&json!("FAILED"), &json!("dropped")));
    assert_eq!(case["expected"], json!({"new": {"id": "7", "email": "***"}}));
}

#[tokio::test]
async fn what_is_wrong_with_a_trial_names_its_place() {
    let fixture = Fixture::new().await;
    let script = draft("x");
    let stored = json!({"script": {"id": -1, "lang": "lua", "name": "a", "source": "x"}});
    fixture.post("scripts", stored).await.ok();
    let many = vec![insert(json!(1)); 1_001];
    for (body, refusal) in [
        (json!({}), (400, "script")),
        (json!({"script": script}), (400, "records")),
        (json!({"script": script, "records": 5}), (400, "records")),
        (json!({"script": script, "records": {"table": "public.t"}}), (400, "records")),
        (json!({"script": script, "records": many}), (400, "records")),
        (json!({"script": script, "records": [{"kind": "upsert"}]}), (400, "records[0].kind")),
        (
            json!({"script": script, "records": [insert(json!(1)), insert(json!("x"))]}),
            (400, "records[1].new.id"),
        ),
        (
            json!({"script": script, "tables": {"public.t": ["id"]}, "records": []}),
            (400, "tables.public.t[0]"),
        ),
        (json!({"script": script, "output": "files", "records": []}), (400, "output")),
        (json!({"script": script, "tests": "{"}), (400, "tests")),
        (json!({"script": draft("syntax error"), "records": [insert(json!(1))]}), (400, "script.source")),
        (
            json!({"script": {"lang": "perl", "source": "x"}, "records": [insert(json!(1))]}),
            (400, "script.lang"),
        ),
        (json!({"script": draft("cannot open"), "records": [insert(json!(1))]}), (400, "script")),
        (json!({"script": {"id": 9}, "records": [insert(json!(1))]}), (404, "script.id")),
        (json!({"script": {"id": 1, "version": 5}, "records": [insert(json!(1))]}), (404, "script.version")),
        (
            json!({"script": script, "records": {"flowJobName": "none", "table": "public.t"}}),
            (404, "records.flow_job_name"),
        ),
    ] {
        let (status, _, fields) = fixture.post("scripts/test", body.clone()).await.refusal();
        assert_eq!((status, fields), (refusal.0, vec![refusal.1.to_owned()]), "{body}");
    }
}

#[tokio::test]
async fn recent_records_are_those_of_a_mirror_that_keeps_them() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("quiet").await;
    fixture
        .post(
            "flows/cdc/create",
            creation_with(
                "kept",
                json!({"recent_records": 100,
        "replication_slot_name": "other"}),
            ),
        )
        .await
        .ok();
    let body = |mirror: &str, table: &str| json!({"script": draft("x"), "records": {"flowJobName": mirror, "table": table, "limit": 5}});
    let refused = fixture.post("scripts/test", body("quiet", "public.users")).await;
    assert_eq!(refused.refusal(), (400, 9, vec!["records.flow_job_name".into()]));
    assert!(refused.text.contains("recent_records"), "{}", refused.text);
    let refused = fixture.post("scripts/test", body("kept", "public.other")).await;
    assert_eq!(refused.refusal(), (404, 5, vec!["records.table".into()]));
    let answer = fixture.post("scripts/test", body("kept", "public.users")).await.ok();
    assert_eq!(answer, json!({"results": [], "cases": []}), "none came yet");
}
