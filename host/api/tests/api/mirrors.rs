use serde_json::{Value, json};
use tarn_catalog::Catalog;
use tarn_model::{MirrorState, Position, RowCounts};
use tarn_replication::{BatchRecord, Checkpoint, Checkpoints as _, PartitionDone, SnapshotLedger as _};

use crate::fixture::Fixture;

/// A mirror with one loaded table and one batch.
async fn busy() -> Fixture {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("m").await;
    let id = fixture.stored("m").await.id;
    let catalog: &Catalog = fixture.control.catalog();
    catalog.begin_load(id, &[("public.users".into(), "users".into())]).await.expect("stored");
    let ledger = catalog.ledger(id);
    ledger.planned("public.users", &["p0".into(), "p1".into()]).await.expect("stored");
    let done = PartitionDone {
        table: "public.users".into(),
        number: 0,
        generation: 1,
        horizon: "h".into(),
        rows: 40,
    };
    ledger.done(&done).await.expect("stored");
    catalog.begin_stream(id, &Position::default()).await.expect("stored");
    let started = std::time::UNIX_EPOCH + std::time::Duration::from_millis(1_700_000_000_250);
    let ended = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_001);
    let batch = BatchRecord { number: 1, rows: 5, first_sequence: 100, last_sequence: 200, started, ended };
    let checkpoint = Checkpoint { position: Position::default(), sequence: 200, batches: vec![batch] };
    catalog.checkpoints(id).save(&checkpoint).await.expect("stored");
    let counts = RowCounts { inserts_count: 3, updates_count: 2, ..RowCounts::default() };
    catalog.count_rows(id, &[("users".into(), counts)]).await.expect("stored");
    fixture
}

#[tokio::test]
async fn a_plain_status_is_name_state_and_time_of_creation() {
    let fixture = busy().await;
    let status = fixture.post("mirrors/status", json!({"flowJobName": "m"})).await.ok();
    let keys: Vec<_> = status.as_object().expect("an object").keys().cloned().collect();
    assert_eq!(keys, ["createdAt", "currentFlowState", "flowJobName"]);
    assert_eq!((&status["flowJobName"], &status["currentFlowState"]), (&json!("m"), &json!("STATUS_SETUP")));
    assert!(status["createdAt"].as_str().is_some_and(|time| time.ends_with('Z')));
}

#[tokio::test]
async fn a_full_status_has_configuration_progress_and_batches() {
    let fixture = busy().await;
    let body = json!({"flow_job_name": "m", "include_flow_info": true});
    let status = fixture.post("mirrors/status", body).await.ok()["cdcStatus"].clone();
    assert_eq!(status["config"]["flowJobName"], "m");
    let mut table = status["snapshotStatus"]["clones"][0].clone();
    assert!(table["startTime"].is_string() && table["avgTimePerPartitionMs"].is_string());
    for varying in ["startTime", "avgTimePerPartitionMs"] {
        table.as_object_mut().expect("an object").remove(varying);
    }
    assert_eq!(
        table,
        json!({"tableName": "users", "sourceTable": "public.users", "numPartitionsCompleted": 1,
            "numPartitionsTotal": 2, "numRowsSynced": "40", "fetchCompleted": false,
            "consolidateCompleted": false, "mirrorName": "m", "flowJobName": "m"})
    );
    assert_eq!(status["cdcBatches"][0]["batchId"], "1");
    assert_eq!(
        (&status["sourceType"], &status["destinationType"]),
        (&json!("POSTGRES"), &json!("CLICKHOUSE"))
    );
    assert_eq!(status["rowsSynced"], "5");
}

#[tokio::test]
async fn parts_of_a_status_can_be_left_out() {
    let fixture = busy().await;
    let body = json!({"flowJobName": "m", "includeFlowInfo": true, "excludeBatches": true, "excludeSnapshotStatus": true});
    let status = fixture.post("mirrors/status", body).await.ok()["cdcStatus"].clone();
    assert_eq!((&status["cdcBatches"], &status["snapshotStatus"]["clones"]), (&json!([]), &json!([])));
}

#[tokio::test]
async fn the_status_of_an_unknown_mirror_is_404() {
    let fixture = Fixture::new().await;
    let reply = fixture.post("mirrors/status", json!({"flowJobName": "none"})).await;
    assert_eq!(reply.refusal(), (404, 5, vec!["flow_job_name".into()]));
    for path in ["initial_load", "table_total_counts"] {
        assert_eq!(fixture.get(&format!("mirrors/cdc/{path}/none")).await.refusal().0, 404);
    }
    assert_eq!(fixture.get("mirrors/total_rows_synced/none").await.refusal().0, 404);
}

#[tokio::test]
async fn a_dropped_mirror_is_terminated_until_its_name_is_used_again() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror_in("m", MirrorState::Terminated).await;
    let status = fixture.post("mirrors/status", json!({"flowJobName": "m"})).await.ok();
    assert_eq!(status["currentFlowState"], "STATUS_TERMINATED");
    assert_eq!(fixture.get("mirrors/list").await.ok(), json!({"mirrors": []}));
    assert_eq!(fixture.get("mirrors/names").await.ok(), json!({"names": ["m"]}), "its log can be read");
}

#[tokio::test]
async fn mirrors_are_listed_with_their_peers_and_states() {
    let fixture = busy().await;
    fixture.mirror("n").await;
    let list = fixture.get("mirrors/list").await.ok();
    let mut first = list["mirrors"][0].clone();
    let created: Value = first.as_object_mut().expect("an object").remove("createdAt").expect("a time");
    assert!(created.as_u64().is_some_and(|ms| ms > 1_700_000_000_000), "{created}");
    assert_eq!(
        first,
        json!({"id": "1", "workflowId": "m-peerflow", "name": "m", "sourceName": "pg", "sourceType": "POSTGRES",
            "destinationName": "ch", "destinationType": "CLICKHOUSE", "isCdc": true, "status": "STATUS_SETUP",
            "retrying": null})
    );
    assert_eq!(list["mirrors"][1]["name"], "n");
    assert_eq!(fixture.get("mirrors/names").await.ok(), json!({"names": ["m", "n"]}));
}

#[tokio::test]
async fn rows_are_counted_in_total_by_table_and_by_kind() {
    let fixture = busy().await;
    let total = json!({"totalCountCDC": "5", "totalCountInitialLoad": "40", "totalCount": "45"});
    assert_eq!(fixture.get("mirrors/total_rows_synced/m").await.ok(), total);
    let counts = json!({"totalCount": "5", "insertsCount": "3", "updatesCount": "2", "deletesCount": "0"});
    let tables = json!({"totalData": counts, "tablesData": [{"tableName": "users", "counts": counts}]});
    assert_eq!(fixture.get("mirrors/cdc/table_total_counts/m").await.ok(), tables);
    let load = fixture.get("mirrors/cdc/initial_load/m").await.ok();
    assert_eq!(load["tableSummaries"][0]["numRowsSynced"], "40");
}
