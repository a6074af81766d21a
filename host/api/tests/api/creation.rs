use serde_json::{Value, json};
use tarn_control::Purpose;
use tarn_model::{Edition, MirrorState, Problem};

use crate::fixture::{Fixture, creation, creation_with};

#[tokio::test]
async fn a_created_mirror_answers_its_workflow_and_begins_in_setup() {
    let fixture = Fixture::new().await.with_peers().await;
    let answer = fixture.post("flows/cdc/create", creation("m")).await.ok();
    assert_eq!(answer, json!({"workflowId": "m-peerflow"}));
    assert_eq!(fixture.stored("m").await.state, MirrorState::Setup);
    let looks = fixture.stores.looks.lock().expect("whole").clone();
    assert_eq!(looks, [(Purpose::Create, vec!["public.users".to_owned()])]);
}

#[tokio::test]
async fn every_field_is_taken_in_either_spelling_and_shown_in_camel_case() {
    let fixture = Fixture::new().await.with_peers().await;
    let body = json!({"connectionConfigs": {
        "flowJobName": "m", "sourceName": "pg", "destinationName": "ch",
        "tableMappings": [{"sourceTableIdentifier": "public.users", "destinationTableIdentifier": "users",
            "exclude": "a, b", "partitionKey": "toYYYYMM(at)", "engine": 1,
            "columns": [{"name": "id", "ordering": "1"}, {"sourceName": "x", "destinationName": "y",
                "destinationType": "String", "nullableEnabled": true}]}],
        "doInitialSnapshot": true, "maxBatchSize": "7", "idleTimeoutSeconds": "60",
        "publicationName": "pub", "replicationSlotName": "slot_1", "snapshotNumRowsPerPartition": 5,
        "snapshotNumPartitionsOverride": 6, "snapshotMaxParallelWorkers": 2, "snapshotNumTablesInParallel": 3,
        "resync": true, "initialSnapshotOnly": true, "softDeleteColName": "gone", "syncedAtColName": "at",
        "snapshotStagingPath": "s3://a", "cdcStagingPath": "s3://b", "system": "PG", "recordErrorPolicy": 2,
        "recordErrorLimit": 8, "schemaChanges": 2, "recentRecords": 9, "scriptWorkers": 3,
        "env": {"PEERDB_Some_key": "v"}, "unknown_key": {"a": 1}}});
    fixture.post("flows/cdc/create", body).await.ok();
    let status = json!({"flowJobName": "m", "includeFlowInfo": true});
    let config = fixture.post("mirrors/status", status).await.ok()["cdcStatus"]["config"].clone();
    let expected = json!({
        "flowJobName": "m", "sourceName": "pg", "destinationName": "ch",
        "tableMappings": [{"sourceTableIdentifier": "public.users", "destinationTableIdentifier": "users",
            "exclude": ["a", "b"], "partitionKey": "toYYYYMM(at)", "engine": "CH_ENGINE_MERGE_TREE",
            "columns": [
                {"sourceName": "id", "destinationName": "", "destinationType": "", "ordering": 1,
                    "nullableEnabled": false},
                {"sourceName": "x", "destinationName": "y", "destinationType": "String", "ordering": 0,
                    "nullableEnabled": true}]}],
        "doInitialSnapshot": true, "maxBatchSize": 7, "idleTimeoutSeconds": "60",
        "publicationName": "pub", "replicationSlotName": "slot_1", "snapshotNumRowsPerPartition": 5,
        "snapshotNumPartitionsOverride": 6, "snapshotMaxParallelWorkers": 2, "snapshotNumTablesInParallel": 3,
        "resync": true, "initialSnapshotOnly": true, "softDeleteColName": "gone", "syncedAtColName": "at",
        "snapshotStagingPath": "s3://a", "cdcStagingPath": "s3://b", "script": "", "scriptWorkers": 3, "system": "PG",
        "recordErrorPolicy": "SKIP", "recordErrorLimit": 8, "schemaChanges": "ASK", "recentRecords": 9,
        "env": {"PEERDB_Some_key": "v"}});
    assert_eq!(config, expected);
}

#[tokio::test]
async fn unset_and_zero_settings_take_the_defaults() {
    let fixture = Fixture::new().await.with_peers().await;
    let zero = creation_with("m", json!({"max_batch_size": 0, "idle_timeout_seconds": "0"}));
    fixture.post("flows/cdc/create", zero).await.ok();
    let spec = fixture.stored("m").await.spec;
    assert_eq!((spec.max_batch_size, spec.idle_timeout_seconds), (250_000, 10));
    assert_eq!((spec.snapshot_num_rows_per_partition, spec.snapshot_max_parallel_workers), (1_000_000, 4));
    assert_eq!(spec.snapshot_num_tables_in_parallel, 1);
    assert_eq!((spec.publication(), spec.slot()), ("tarn_pub_m".into(), "tarn_slot_m".into()));
}

#[tokio::test]
async fn mappings_beside_the_configuration_are_taken() {
    let fixture = Fixture::new().await.with_peers().await;
    let mut body = creation("m");
    body["table_mappings"] = body["connection_configs"]["table_mappings"].take();
    fixture.post("flows/cdc/create", body).await.ok();
    assert_eq!(fixture.stored("m").await.spec.tables.len(), 1);
}

#[tokio::test]
async fn a_duplicate_name_is_409() {
    // B238: posting twice is a conflict.
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("m").await;
    for route in ["flows/cdc/create", "mirrors/cdc/validate"] {
        let reply = fixture.post(route, creation("m")).await;
        assert_eq!(reply.refusal(), (409, 6, vec!["flow_job_name".into()]), "{route}");
    }
}

#[tokio::test]
async fn attach_to_existing_makes_creation_idempotent() {
    let fixture = Fixture::new().await.with_peers().await;
    for place in ["beside", "inside"] {
        let mut body = creation("m");
        match place {
            "beside" => body["attachToExisting"] = true.into(),
            _ => body["connection_configs"]["attach_to_existing"] = true.into(),
        }
        for _ in 0..2 {
            let answer = fixture.post("flows/cdc/create", body.clone()).await.ok();
            assert_eq!(answer["workflowId"], "m-peerflow");
            fixture.post("mirrors/cdc/validate", body.clone()).await.ok();
        }
    }
    fixture.request("m", "STATUS_TERMINATED").await;
    let mut body = creation("m");
    body["attach_to_existing"] = true.into();
    assert_eq!(fixture.post("flows/cdc/create", body).await.refusal().1, 6, "a mirror being dropped");
}

#[tokio::test]
async fn an_unknown_peer_is_404_naming_the_field() {
    let fixture = Fixture::new().await.with_peers().await;
    for (fields, named) in [
        (json!({"source_name": "x"}), vec!["source_name"]),
        (json!({"destination_name": "x"}), vec!["destination_name"]),
        (json!({"source_name": "x", "destination_name": "y"}), vec!["source_name", "destination_name"]),
    ] {
        let (status, code, fields) =
            fixture.post("flows/cdc/create", creation_with("m", fields)).await.refusal();
        assert_eq!((status, code), (404, 5));
        assert_eq!(fields, named);
    }
}

#[tokio::test]
async fn every_problem_is_a_detail_of_one_answer() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.find_problems(&[Problem::new("publication_name", "no permission", "grant CREATE")]);
    let body = creation_with(
        "Bad-Name",
        json!({"initial_snapshot_only": true, "do_initial_snapshot": false, "script": "none",
            "soft_delete_col_name": "x", "synced_at_col_name": "x"}),
    );
    for route in ["flows/cdc/create", "mirrors/cdc/validate"] {
        let (status, code, mut fields) = fixture.post(route, body.clone()).await.refusal();
        fields.sort();
        assert_eq!((status, code), (400, 9));
        assert_eq!(
            fields,
            ["flow_job_name", "initial_snapshot_only", "publication_name", "script", "synced_at_col_name"]
        );
    }
    assert_eq!(fixture.control.catalog().mirror("Bad-Name").await.expect("read"), None);
}

#[tokio::test]
async fn each_rule_of_a_specification_refuses_with_its_field() {
    let fixture = Fixture::new().await.with_peers().await;
    let table = |source: &str, destination: &str| json!({"source_table_identifier": source, "destination_table_identifier": destination});
    for (fields, field) in [
        (json!({"flow_job_name": ""}), "flow_job_name"),
        (json!({"flow_job_name": "M"}), "flow_job_name"),
        (json!({"flow_job_name": "9m"}), "flow_job_name"),
        (json!({"flow_job_name": "m".repeat(49)}), "flow_job_name"),
        (json!({"source_name": ""}), "source_name"),
        (json!({"destination_name": ""}), "destination_name"),
        (json!({"source_name": "ch", "destination_name": "ch"}), "destination_name"),
        (json!({"table_mappings": []}), "table_mappings"),
        (json!({"table_mappings": [table("users", "u")]}), "table_mappings[0].source_table_identifier"),
        (json!({"table_mappings": [table("", "u")]}), "table_mappings[0].source_table_identifier"),
        (json!({"table_mappings": [table("s.u", "")]}), "table_mappings[0].destination_table_identifier"),
        (
            json!({"table_mappings": [table("s.u", "u"), table("s.u", "v")]}),
            "table_mappings[1].source_table_identifier",
        ),
        (
            json!({"table_mappings": [table("s.u", "u"), table("s.v", "u")]}),
            "table_mappings[1].destination_table_identifier",
        ),
        (json!({"replication_slot_name": "No"}), "replication_slot_name"),
        (json!({"idle_timeout_seconds": 86_401}), "idle_timeout_seconds"),
        (json!({"snapshot_max_parallel_workers": 1000}), "snapshot_max_parallel_workers"),
        (json!({"resync": true, "do_initial_snapshot": false}), "resync"),
        (json!({"script": "a@b"}), "script"),
    ] {
        let reply = fixture.post("flows/cdc/create", creation_with("m", fields.clone())).await;
        let (status, code, named) = reply.refusal();
        assert_eq!((status, code), (400, 9), "{fields}");
        assert!(named.iter().any(|name| name == field), "{field} in {named:?}");
        let detail = &reply.json()["details"][0];
        assert!(detail["message"].as_str().is_some_and(|message| !message.is_empty()), "{detail}");
    }
    assert!(fixture.control.list_mirrors().await.expect("listed").is_empty());
}

#[tokio::test]
async fn a_mirror_goes_from_a_source_to_a_destination() {
    let fixture = Fixture::new().await.with_peers().await;
    let swapped = creation_with("m", json!({"source_name": "ch", "destination_name": "pg"}));
    let (_, code, fields) = fixture.post("flows/cdc/create", swapped).await.refusal();
    assert_eq!((code, fields), (9, vec!["source_name".into(), "destination_name".into()]));
}

#[tokio::test]
async fn a_mirror_names_a_script_that_exists_and_is_allowed() {
    let fixture = Fixture::new().await.with_peers().await;
    let script = json!({"script": {"id": -1, "lang": "lua", "name": "mask", "source": "x"}});
    fixture.post("scripts", script).await.ok();
    for (name, script) in [("a", "mask"), ("b", "mask@1")] {
        fixture.post("flows/cdc/create", creation_with(name, json!({"script": script}))).await.ok();
    }
    let missing = fixture.post("flows/cdc/create", creation_with("c", json!({"script": "mask@2"}))).await;
    assert_eq!(missing.refusal(), (400, 9, vec!["script".into()]));

    let hosted = Fixture::in_edition(Edition::Hosted).await.with_peers().await;
    let refused = hosted.post("flows/cdc/create", creation_with("m", json!({"script": "mask"}))).await;
    assert_eq!(refused.refusal(), (400, 9, vec!["script".into()]));
    assert!(refused.text.contains("scripts_enabled"));
}

#[tokio::test]
async fn two_mirrors_do_not_share_a_slot() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("a").await;
    let taken = creation_with("b", json!({"replication_slot_name": "tarn_slot_a"}));
    let reply = fixture.post("flows/cdc/create", taken).await;
    assert_eq!(reply.refusal(), (400, 9, vec!["replication_slot_name".into()]));
}

#[tokio::test]
async fn resync_needs_the_mirror_dropped_first() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("m").await;
    let resync = || creation_with("m", json!({"resync": true}));
    let refused = fixture.post("flows/cdc/create", resync()).await;
    assert_eq!(refused.refusal(), (400, 9, vec!["flow_job_name".into()]));
    assert!(refused.text.contains("dropped"));
    fixture.request("m", "STATUS_TERMINATED").await;
    assert_eq!(fixture.post("flows/cdc/create", resync()).await.refusal().1, 9, "still being dropped");
    fixture.observe("m", MirrorState::Terminated).await;
    fixture.post("flows/cdc/create", resync()).await.ok();
    assert!(fixture.stored("m").await.spec.resync);
}

#[tokio::test]
async fn a_dropped_mirrors_name_is_free() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror_in("m", MirrorState::Terminated).await;
    fixture.mirror("m").await;
    assert_eq!(fixture.stored("m").await.state, MirrorState::Setup);
}

#[tokio::test]
async fn validating_runs_the_same_checks_and_stores_nothing() {
    let fixture = Fixture::new().await.with_peers().await;
    let valid = fixture.post("mirrors/cdc/validate", creation("m")).await.ok();
    assert_eq!((&valid["ok"], &valid["plans"][0]["steps"][0]["kind"]), (&json!(true), &json!("CREATE")));
    assert_eq!(fixture.control.catalog().mirror("m").await.expect("read"), None);
}

#[tokio::test]
async fn the_look_at_both_stores_can_be_skipped() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.find_problems(&[Problem::new("source_name", "away", "")]);
    for (name, skip) in [("a", json!({"skip_validation": true})), ("b", json!({"skipValidation": true}))] {
        fixture.post("flows/cdc/create", creation_with(name, skip)).await.ok();
    }
    assert!(fixture.stores.looks.lock().expect("whole").is_empty());
    let (status, code, _) = fixture.post("flows/cdc/create", creation("c")).await.refusal();
    assert_eq!((status, code), (400, 9));
}

#[tokio::test]
async fn of_creations_at_the_same_time_one_wins() {
    let fixture = std::sync::Arc::new(Fixture::new().await.with_peers().await);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let fixture = std::sync::Arc::clone(&fixture);
        tasks.spawn(async move { fixture.post("flows/cdc/create", creation("m")).await.status.as_u16() });
    }
    let mut statuses = tasks.join_all().await;
    statuses.sort_unstable();
    let expected: Vec<u16> = std::iter::once(200).chain([409; 19]).collect();
    assert_eq!(statuses, expected);
}

#[tokio::test]
async fn the_supervisor_is_told_of_a_new_mirror() {
    let fixture = Fixture::new().await.with_peers().await;
    let changes = fixture.control.changes();
    fixture.mirror("m").await;
    assert!(changes.has_changed().expect("the control lives"));
    let log = fixture.post("mirrors/logs", json!({"flow_job_name": "m", "num_per_page": 1})).await.ok();
    assert_eq!(log["errors"][0]["errorMessage"], Value::from("created"));
}
