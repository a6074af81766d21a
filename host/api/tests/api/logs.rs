use serde_json::{Value, json};
use tarn_model::LogLevel;

use crate::fixture::Fixture;

/// Six entries: odd ones of mirror `odd`, even ones of `even`; 3 is an error, 4 a warning.
async fn with_entries() -> Fixture {
    let fixture = Fixture::new().await;
    for number in 1..=6 {
        let level = match number {
            3 => LogLevel::Error,
            4 => LogLevel::Warn,
            _ => LogLevel::Info,
        };
        let mirror = if number % 2 == 0 { "even" } else { "odd" };
        fixture.control.catalog().log(mirror, &[(level, format!("entry {number}"))]).await.expect("stored");
    }
    fixture
}

fn ids(answer: &Value) -> Vec<u64> {
    let entries = answer["errors"].as_array().expect("a list").iter();
    entries.map(|entry| entry["id"].as_u64().expect("a number")).collect()
}

#[tokio::test]
async fn an_entry_has_its_mirror_text_level_and_milliseconds() {
    let fixture = with_entries().await;
    let answer = fixture.post("mirrors/logs", json!({"level": "error", "num_per_page": 1})).await.ok();
    let mut entry = answer["errors"][0].clone();
    let time = entry.as_object_mut().expect("an object").remove("errorTimestamp").expect("a time");
    assert!(time.as_u64().is_some_and(|ms| ms > 1_700_000_000_000 && ms < 100_000_000_000_000), "{time}");
    assert_eq!(entry, json!({"id": 3, "flowName": "odd", "errorMessage": "entry 3", "errorType": "error"}));
}

#[tokio::test]
async fn entries_are_filtered_paged_and_newest_first() {
    let fixture = with_entries().await;
    for (request, expected, total, page) in [
        (json!({"num_per_page": 10}), vec![6, 5, 4, 3, 2, 1], 6, 1),
        (json!({"numPerPage": "10", "page": 0}), vec![6, 5, 4, 3, 2, 1], 6, 1),
        (json!({"numPerPage": 2, "page": 1}), vec![6, 5], 6, 1),
        (json!({"numPerPage": 2, "page": 3}), vec![2, 1], 6, 3),
        (json!({"numPerPage": 2, "page": 9}), vec![], 6, 9),
        (json!({"numPerPage": 1000, "page": i32::MAX}), vec![], 6, i32::MAX),
        (json!({"flow_job_name": "odd", "num_per_page": 10}), vec![5, 3, 1], 3, 1),
        (json!({"flow_job_name": "od", "num_per_page": 10}), vec![], 0, 1),
        (json!({"flow_job_name": "", "num_per_page": 1}), vec![6], 6, 1),
        (json!({"level": "ALL", "num_per_page": 10}), vec![6, 5, 4, 3, 2, 1], 6, 1),
        (json!({"level": "all", "num_per_page": 1}), vec![6], 6, 1),
        (json!({"level": "INFO", "num_per_page": 10}), vec![6, 5, 2, 1], 4, 1),
        (json!({"level": "Warn", "num_per_page": 10}), vec![4], 1, 1),
        (json!({"level": "ERROR", "flowJobName": "even", "num_per_page": 10}), vec![], 0, 1),
        (json!({"beforeId": 4, "num_per_page": 2}), vec![3, 2], 6, 2),
        (json!({"before_id": 4, "num_per_page": 2, "page": 2}), vec![1], 6, 2),
        (json!({"afterId": "4", "num_per_page": 10}), vec![6, 5], 6, 1),
        (json!({"after_id": 2, "num_per_page": 2}), vec![4, 3], 6, 2),
        (json!({"after_id": 1, "before_id": 5, "num_per_page": 2}), vec![4, 3], 6, 2),
        (json!({"after_id": -1, "before_id": 0, "num_per_page": 1}), vec![6], 6, 1),
    ] {
        let answer = fixture.post("mirrors/logs", request.clone()).await.ok();
        assert_eq!(
            (ids(&answer), &answer["total"], &answer["page"]),
            (expected, &json!(total), &json!(page)),
            "{request}"
        );
    }
}

#[tokio::test]
async fn without_a_page_size_only_the_total_is_returned() {
    let fixture = with_entries().await;
    for request in [json!({}), json!({"num_per_page": 0, "page": 1})] {
        let answer = fixture.post("mirrors/logs", request).await.ok();
        assert_eq!(answer, json!({"errors": [], "total": 6, "page": 1}));
    }
}

#[tokio::test]
async fn wrong_levels_and_negative_numbers_are_400_naming_the_field() {
    let fixture = with_entries().await;
    for (request, field) in [
        (json!({"level": "DEBUG"}), "level"),
        (json!({"level": "x"}), "level"),
        (json!({"num_per_page": -1}), "num_per_page"),
        (json!({"page": -1}), "page"),
        (json!({"page": 2_147_483_648_u32}), "page"),
        (json!({"page": "9223372036854775807"}), "page"),
    ] {
        assert_eq!(fixture.post("mirrors/logs", request).await.refusal(), (400, 3, vec![field.into()]));
    }
}

#[tokio::test]
async fn a_page_holds_at_most_a_thousand_entries() {
    let fixture = Fixture::new().await;
    let entries: Vec<_> = (0..1001).map(|number| (LogLevel::Info, number.to_string())).collect();
    fixture.control.catalog().log("m", &entries).await.expect("stored");
    let answer = fixture.post("mirrors/logs", json!({"num_per_page": 5000})).await.ok();
    assert_eq!((ids(&answer).len(), &answer["total"]), (1000, &json!(1001)));
}

#[tokio::test]
async fn the_log_of_a_dropped_mirror_stays_readable() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror_in("m", tarn_model::MirrorState::Terminated).await;
    let answer = fixture.post("mirrors/logs", json!({"flow_job_name": "m", "num_per_page": 10})).await.ok();
    let messages: Vec<_> =
        answer["errors"].as_array().expect("a list").iter().map(|e| e["errorMessage"].clone()).collect();
    assert_eq!(messages, ["a drop was requested", "created"]);
}
