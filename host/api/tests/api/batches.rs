use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use tarn_model::Position;
use tarn_replication::{BatchRecord, Checkpoint, Checkpoints as _};

use crate::fixture::Fixture;

/// A mirror with batches 1 to `count`, and one under way.
async fn with_batches(count: u64) -> Fixture {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("m").await;
    let id = fixture.stored("m").await.id;
    let catalog = fixture.control.catalog();
    catalog.begin_stream(id, &Position::default()).await.expect("stored");
    let batches = (1..=count).map(|number| BatchRecord {
        number,
        rows: number,
        first_sequence: number * 10,
        last_sequence: number * 10 + 9,
        started: UNIX_EPOCH + Duration::from_micros(1_700_000_000_000_250),
        ended: UNIX_EPOCH + Duration::from_secs(1_700_000_001),
    });
    let checkpoint = Checkpoint { position: Position::default(), sequence: 1, batches: batches.collect() };
    catalog.checkpoints(id).save(&checkpoint).await.expect("stored");
    fixture
}

fn ids(answer: &Value) -> Vec<u64> {
    let batches = answer["cdcBatches"].as_array().expect("a list").iter();
    batches.map(|batch| batch["batchId"].as_str().expect("a text").parse().expect("a number")).collect()
}

#[tokio::test]
async fn a_batch_has_texts_for_numbers_and_times_with_fractions() {
    let fixture = with_batches(1).await;
    let id = fixture.stored("m").await.id;
    fixture.control.catalog().begin_batch(id, 2, 20).await.expect("stored");
    let answer =
        fixture.post("mirrors/cdc/batches", json!({"flowJobName": "m", "ascending": true})).await.ok();
    assert_eq!(
        answer["cdcBatches"][0],
        json!({"batchId": "1", "startLsn": "10", "endLsn": "19", "numRows": "1",
            "startTime": "2023-11-14T22:13:20.000250Z", "endTime": "2023-11-14T22:13:21Z"})
    );
    let under_way = &answer["cdcBatches"][1];
    assert_eq!((&under_way["numRows"], &under_way["endTime"]), (&json!("0"), &Value::Null));
    assert_eq!((&answer["total"], &answer["page"]), (&json!(2), &json!(0)));
}

#[tokio::test]
async fn pages_are_nearest_the_given_id_and_counted_from_the_beginning_of_the_order() {
    let fixture = with_batches(10).await;
    for (request, expected, page) in [
        (json!({}), vec![10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 0),
        (json!({"limit": 0}), vec![10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 0),
        (json!({"limit": -5, "beforeId": -1, "afterId": 0}), vec![10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 0),
        (json!({"limit": 3}), vec![10, 9, 8], 1),
        (json!({"limit": "3", "ascending": true}), vec![1, 2, 3], 1),
        (json!({"limit": 3, "before_id": "8"}), vec![7, 6, 5], 2),
        (json!({"limit": 3, "afterId": 7}), vec![10, 9, 8], 1),
        (json!({"limit": 3, "afterId": 4}), vec![7, 6, 5], 2),
        (json!({"limit": 3, "afterId": 6, "ascending": true}), vec![7, 8, 9], 3),
        (json!({"limit": 3, "beforeId": 8, "ascending": true}), vec![5, 6, 7], 2),
        (json!({"afterId": 2, "beforeId": 5}), vec![4, 3], 0),
        (json!({"limit": 1, "afterId": 2, "beforeId": 5}), vec![4], 7),
        (json!({"limit": 3, "afterId": 10}), vec![], 1),
    ] {
        let mut body = request;
        body["flowJobName"] = "m".into();
        let answer = fixture.post("mirrors/cdc/batches", body.clone()).await.ok();
        assert_eq!((ids(&answer), &answer["page"]), (expected, &json!(page)), "{body}");
        assert_eq!(answer["total"], json!(ids(&answer).len()));
    }
}

#[tokio::test]
async fn batches_are_also_read_by_path_and_query() {
    let fixture = with_batches(4).await;
    let answer = fixture.get("mirrors/cdc/batches/m?limit=2&ascending=true&after_id=1").await.ok();
    assert_eq!(ids(&answer), [2, 3]);
    let answer = fixture.get("mirrors/cdc/batches/m?beforeId=3").await.ok();
    assert_eq!(ids(&answer), [2, 1]);
    assert_eq!(fixture.get("mirrors/cdc/batches/m?limit=x").await.refusal(), (400, 3, vec!["limit".into()]));
}

#[tokio::test]
async fn an_unknown_mirror_has_no_batches() {
    let fixture = Fixture::new().await;
    let expected = json!({"cdcBatches": [], "total": 0, "page": 0});
    for body in [json!({"flowJobName": "none"}), json!({})] {
        assert_eq!(fixture.post("mirrors/cdc/batches", body).await.ok(), expected);
    }
}
