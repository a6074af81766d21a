//! Rows over time and at both sides.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tarn_model::{Failure, Position, Question};
use tarn_replication::{BatchRecord, Checkpoint, Checkpoints as _};

use crate::fixture::{Fixture, creation_with};

/// A mirror whose last batches were begun so many minutes ago.
async fn with_batches(minutes_ago: &[(u64, u64)]) -> Fixture {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("m").await;
    let id = fixture.stored("m").await.id;
    let catalog = fixture.control.catalog();
    catalog.begin_stream(id, &Position::default()).await.expect("stored");
    let batches = (1..).zip(minutes_ago).map(|(number, (minutes, rows))| {
        let started = SystemTime::now() - Duration::from_secs(minutes * 60);
        BatchRecord { number, rows: *rows, first_sequence: 0, last_sequence: 0, started, ended: started }
    });
    let checkpoint = Checkpoint { position: Position::default(), sequence: 1, batches: batches.collect() };
    catalog.checkpoints(id).save(&checkpoint).await.expect("stored");
    fixture
}

async fn graph(fixture: &Fixture, span: Value, mode: Value) -> Value {
    let body = json!({"flowJobName": "m", "aggregateType": span, "mode": mode});
    fixture.post("mirrors/cdc/graph", body).await.ok()
}

#[tokio::test]
async fn a_graph_has_bars_of_equal_spans_and_the_rows_of_each() {
    let fixture = with_batches(&[(24 * 60 * 400, 1000), (60 * 24 * 3, 100), (10, 10), (0, 1)]).await;
    for (span, mode, bars, total) in [
        (json!("TIME_AGGREGATE_TYPE_ONE_HOUR"), json!("GRAPH_MODE_GROUP_BY"), 31, "11"),
        (json!(0), json!(0), 31, "11"),
        (json!(4), json!(1), 31, "111"),
        (json!("TIME_AGGREGATE_TYPE_ONE_MONTH"), Value::Null, 31, "1111"),
        (json!("TIME_AGGREGATE_TYPE_FIVE_MIN"), json!("GRAPH_MODE_LAST_X"), 6, "1"),
    ] {
        let graph = graph(&fixture, span.clone(), mode).await;
        let data = graph["data"].as_array().expect("a list");
        assert_eq!((data.len(), &graph["totalRows"]), (bars, &json!(total)), "{span}");
        let times: Vec<_> = data.iter().map(|bar| bar["time"].as_u64().expect("milliseconds")).collect();
        assert!(times.is_sorted() && times[0] > 1_500_000_000_000, "{times:?}");
        let rows: u64 = data.iter().map(|bar| bar["rows"].as_u64().expect("a count")).sum();
        assert_eq!(rows.to_string(), total);
    }
}

#[tokio::test]
async fn a_graph_of_an_unknown_mirror_is_404_and_of_an_unknown_span_400() {
    let fixture = with_batches(&[]).await;
    let reply = fixture.post("mirrors/cdc/graph", json!({"flowJobName": "none"})).await;
    assert_eq!(reply.refusal(), (404, 5, vec!["flow_job_name".into()]));
    for (body, field) in [
        (json!({"flowJobName": "m", "aggregateType": "HOURLY"}), "aggregate_type"),
        (json!({"flowJobName": "m", "aggregateType": 6}), "aggregate_type"),
        (json!({"flowJobName": "m", "mode": "x"}), "mode"),
    ] {
        assert_eq!(fixture.post("mirrors/cdc/graph", body).await.refusal(), (400, 3, vec![field.into()]));
    }
}

/// A mirror of two tables that both stores count.
async fn counted() -> Fixture {
    let fixture = Fixture::new().await.with_peers().await;
    let table = |source: &str, destination: &str| json!({"source_table_identifier": source, "destination_table_identifier": destination});
    let tables = json!([table("public.a", "a"), table("public.b", "b")]);
    let fields = json!({"table_mappings": tables, "soft_delete_col_name": "gone"});
    fixture.post("flows/cdc/create", creation_with("m", fields)).await.ok();
    fixture.answer(
        "pg",
        "rowCounts",
        json!([{"table": "public.a", "rows": 5}, {"table": "public.b", "rows": 7, "approximate": true}]),
    );
    fixture.answer("ch", "rowCounts", json!([{"table": "a", "rows": 4}, {"table": "b", "rows": null}]));
    fixture
}

#[tokio::test]
async fn rows_are_counted_at_both_sides_and_minus_one_is_unknown() {
    let fixture = counted().await;
    let a = json!({"sourceTable": "public.a", "destinationTable": "a", "sourceCount": "5", "destinationCount": "4",
        "sourceIsApproximate": false, "destinationIsApproximate": false});
    let b = json!({"sourceTable": "public.b", "destinationTable": "b", "sourceCount": "7", "destinationCount": "-1",
        "sourceIsApproximate": true, "destinationIsApproximate": false});
    let counts = fixture.post("mirrors/row_counts", json!({"flowJobName": "m"})).await.ok();
    assert_eq!(counts, json!({"tableCounts": [a, b]}));
    let questions = fixture.stores.questions.lock().expect("whole").clone();
    let destination =
        Question::RowCounts { tables: vec!["a".into(), "b".into()], deleted_column: "gone".into() };
    assert!(questions.contains(&("ch".into(), destination)), "{questions:?}");
    let some = json!({"flow_job_name": "m", "source_tables": ["public.a", "public.a"]});
    assert_eq!(fixture.post("mirrors/row_counts", some).await.ok(), json!({"tableCounts": [a]}));
}

#[tokio::test]
async fn counting_refuses_unknown_mirrors_and_tables_and_tells_which_store_is_away() {
    let fixture = counted().await;
    let reply = fixture.post("mirrors/row_counts", json!({"flowJobName": "none"})).await;
    assert_eq!(reply.refusal(), (404, 5, vec!["flow_job_name".into()]));
    let reply = fixture
        .post("mirrors/row_counts", json!({"flowJobName": "m", "sourceTables": ["public.a", "public.c"]}))
        .await;
    assert_eq!(reply.refusal(), (400, 3, vec!["source_tables[1]".into()]));
    fixture.fail("ch", "rowCounts", Failure::retry("clickhouse_unreachable", "connection refused"));
    let reply = fixture.post("mirrors/row_counts", json!({"flowJobName": "m"})).await;
    assert_eq!(reply.refusal(), (400, 9, vec!["destination_name".into()]));
}

#[tokio::test]
async fn parts_of_the_total_can_be_left_out() {
    let fixture = with_batches(&[(1, 5)]).await;
    for (query, expected) in [
        ("", json!({"totalCountCDC": "5", "totalCountInitialLoad": "0", "totalCount": "5"})),
        ("?exclude_cdc=true", json!({"totalCountCDC": "0", "totalCountInitialLoad": "0", "totalCount": "0"})),
        (
            "?excludeInitialLoad=true",
            json!({"totalCountCDC": "5", "totalCountInitialLoad": "0", "totalCount": "5"}),
        ),
    ] {
        assert_eq!(
            fixture.get(&format!("mirrors/total_rows_synced/m{query}")).await.ok(),
            expected,
            "{query}"
        );
    }
}
