//! Changes of columns that a mirror stops at.

use serde_json::json;
use tarn_catalog::Observed;
use tarn_model::{DesiredState, Failure, MirrorState, PlanStep, SchemaChangePolicy, StepKind, TablePlan};

use crate::fixture::{Fixture, creation_with};

/// The mirror `orders` comes to a column that is new at the source.
pub async fn play_a_change_of_columns(fixture: &Fixture) -> String {
    let step = PlanStep {
        kind: StepKind::Add,
        column: "price".into(),
        source: "price".into(),
        detail: "new, Nullable(Decimal(10, 2)); rows from before show NULL".into(),
        statements: vec!["ALTER TABLE `orders` ADD COLUMN `price` Nullable(Decimal(10, 2))".into()],
        warning: String::new(),
    };
    let (table, target) = ("public.orders".into(), "orders".into());
    let plan = TablePlan { table, target, steps: vec![step], ..TablePlan::default() };
    let id = fixture.stored("orders").await.id;
    fixture.control.catalog().keep_schema_change(id, &plan).await.expect("stored")
}

/// The mirror `orders` rests at the same, not approved.
pub async fn refuse_a_change_of_columns(fixture: &Fixture) {
    let id = fixture.stored("orders").await.id;
    fixture.control.catalog().forget_schema_change(id, "public.orders").await.expect("forgotten");
    play_a_change_of_columns(fixture).await;
    fixture.request("orders", "STATUS_PAUSED").await;
    fixture.observe("orders", MirrorState::Paused).await;
}

/// The mirror `orders` that failed because of this code.
async fn failed(code: &str) -> Fixture {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("orders").await;
    fixture.observe("orders", MirrorState::Running).await;
    let mirror = fixture.stored("orders").await;
    let failure = Failure::permanent(code, "it waits");
    let catalog = fixture.control.catalog();
    let observed = catalog.observe(mirror.id, mirror.epoch, MirrorState::Failed, Some(&failure)).await;
    assert_eq!(observed.expect("stored"), Observed::Stored);
    fixture
}

#[tokio::test]
async fn an_approval_resumes_the_mirror_that_waits_for_it_and_no_other() {
    for (code, resumed) in [("schema_change_waits", true), ("target_missing", false)] {
        let fixture = failed(code).await;
        let digest = play_a_change_of_columns(&fixture).await;
        let approval = json!({"flowJobName": "orders", "digest": digest});
        let answer = fixture.post("mirrors/approve_schema_change", approval).await.ok();
        assert_eq!((&answer["resumed"], &answer["waiting"]), (&json!(resumed), &json!("0")), "{code}");
        let mirror = fixture.stored("orders").await;
        assert_eq!(mirror.desired == DesiredState::Running && mirror.state != MirrorState::Failed, resumed);
        let listed = fixture.get("mirrors/schema_changes/orders").await.ok();
        assert_eq!(listed["changes"][0]["approved"], true);
    }
}

#[tokio::test]
async fn an_approval_that_comes_before_the_mirror_has_failed_makes_that_failure_void() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("orders").await;
    fixture.observe("orders", MirrorState::Running).await;
    let digest = play_a_change_of_columns(&fixture).await;
    let run = fixture.stored("orders").await;
    let approval = json!({"flowJobName": "orders", "digest": digest});
    let answer = fixture.post("mirrors/approve_schema_change", approval.clone()).await.ok();
    assert_eq!(answer["resumed"], json!(true));
    let failure = Failure::permanent("schema_change_waits", "it waits");
    let catalog = fixture.control.catalog();
    let observed = catalog.observe(run.id, run.epoch, MirrorState::Failed, Some(&failure)).await;
    assert_eq!(observed.expect("answered"), Observed::Superseded);
    // Said again, nothing has to begin anew.
    let epoch = fixture.stored("orders").await.epoch;
    let answer = fixture.post("mirrors/approve_schema_change", approval).await.ok();
    let now = fixture.stored("orders").await;
    assert_eq!((&answer["resumed"], now.epoch, now.state), (&json!(false), epoch, MirrorState::Running));
}

#[tokio::test]
async fn a_change_that_does_not_wait_is_not_approved() {
    let fixture = failed("schema_change_waits").await;
    play_a_change_of_columns(&fixture).await;
    for (mirror, digest, refusal) in [
        ("orders", "0000000000000000", (400, 9, vec!["digest".to_owned()])),
        ("orders", "", (400, 9, vec!["digest".to_owned()])),
        ("none", "0000000000000000", (404, 5, vec!["flow_job_name".to_owned()])),
    ] {
        let approval = json!({"flowJobName": mirror, "digest": digest});
        assert_eq!(fixture.post("mirrors/approve_schema_change", approval).await.refusal(), refusal);
    }
    assert_eq!(fixture.get("mirrors/schema_changes/none").await.refusal().0, 404);
    assert_eq!(fixture.stored("orders").await.state, MirrorState::Failed);
}

#[tokio::test]
async fn the_policy_is_set_at_creation_and_by_an_edit() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("usual").await;
    assert_eq!(fixture.stored("usual").await.spec.schema_changes, SchemaChangePolicy::Apply);
    fixture.post("flows/cdc/create", creation_with("m", json!({"schema_changes": "ASK"}))).await.ok();
    assert_eq!(fixture.stored("m").await.spec.schema_changes, SchemaChangePolicy::Ask);
    let wrong = creation_with("n", json!({"schema_changes": "MAYBE"}));
    let refusal = fixture.post("flows/cdc/create", wrong).await.refusal();
    assert_eq!(refusal, (400, 3, vec!["connection_configs.schema_changes".to_owned()]));
    fixture.observe("m", MirrorState::Running).await;
    fixture.request("m", "STATUS_PAUSED").await;
    fixture.observe("m", MirrorState::Paused).await;
    let update = json!({"cdcFlowConfigUpdate": {"schemaChanges": "APPLY"}});
    let edit =
        json!({"flowJobName": "m", "requestedFlowState": "STATUS_RUNNING", "flowConfigUpdate": update});
    assert_eq!(fixture.post("mirrors/state_change", edit).await.ok(), json!({}));
    assert_eq!(fixture.stored("m").await.spec.schema_changes, SchemaChangePolicy::Apply);
}

#[tokio::test]
async fn the_plan_of_a_mirror_that_is_there_is_told_to_who_attaches_to_it() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("orders").await;
    let mut body = creation_with("orders", json!({}));
    assert_eq!(fixture.post("mirrors/cdc/validate", body.clone()).await.refusal().0, 409);
    body["attach_to_existing"] = true.into();
    let valid = fixture.post("mirrors/cdc/validate", body).await.ok();
    assert_eq!(valid["plans"][0]["table"], "public.users", "{valid}");
}

#[tokio::test]
async fn a_refusal_leaves_the_column_out_and_the_mirror_goes_on() {
    let fixture = failed("schema_change_waits").await;
    let digest = play_a_change_of_columns(&fixture).await;
    for (mirror, digest, refusal) in [
        ("orders", "0000000000000000", (400, 9, vec!["digest".to_owned()])),
        ("none", "0000000000000000", (404, 5, vec!["flow_job_name".to_owned()])),
    ] {
        let body = json!({"flowJobName": mirror, "digest": digest});
        assert_eq!(fixture.post("mirrors/refuse_schema_change", body).await.refusal(), refusal);
    }
    let body = json!({"flowJobName": "orders", "digest": digest});
    // The mirror is of another table: what waits is of one that left it.
    let refusal = fixture.post("mirrors/refuse_schema_change", body.clone()).await.refusal();
    assert_eq!(refusal, (400, 9, vec!["digest".to_owned()]));
    let id = fixture.stored("orders").await.id;
    let known = fixture.control.catalog().schema_changes(id).await.expect("read").remove(0).plan;
    let plan = TablePlan { table: "public.users".into(), ..known };
    let digest = fixture.control.catalog().keep_schema_change(id, &plan).await.expect("stored");
    let body = json!({"flowJobName": "orders", "digest": digest});
    let answer = fixture.post("mirrors/refuse_schema_change", body).await.ok();
    assert_eq!((&answer["resumed"], &answer["waiting"]), (&json!(true), &json!("1")));
    let mirror = fixture.stored("orders").await;
    assert_eq!(
        (mirror.state, &mirror.spec.tables[0].exclude),
        (MirrorState::Modifying, &vec!["price".to_owned()])
    );
}

#[tokio::test]
async fn an_edit_of_a_tables_columns_takes_nothing_in_that_was_left_out() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror_in("m", MirrorState::Paused).await;
    let edit = |table: serde_json::Value| {
        json!({"flowJobName": "m", "requestedFlowState": "STATUS_RUNNING",
            "flowConfigUpdate": {"cdcFlowConfigUpdate": {"changedTables": [table]}}})
    };
    for (table, told) in [
        (json!({"sourceTableIdentifier": "public.none"}), "changed_tables[0].source_table_identifier"),
        (
            json!({"sourceTableIdentifier": "public.users", "destinationTableIdentifier": "elsewhere"}),
            "changed_tables[0].destination_table_identifier",
        ),
        (
            json!({"sourceTableIdentifier": "public.users", "columns": [{"sourceName": "id", "ordering": 1}]}),
            "changed_tables[0].columns",
        ),
        (
            json!({"sourceTableIdentifier": "public.users", "exclude": ["a"], "columns": [{"sourceName": "a"}]}),
            "changed_tables[0].columns[0].source_name",
        ),
    ] {
        let answer = fixture.post("mirrors/state_change", edit(table)).await.ok();
        let message = answer["errorMessage"].as_str().unwrap_or_default();
        assert!(message.contains(told), "{told} in {answer}");
    }
    let typed = json!({"sourceTableIdentifier": "public.users", "exclude": ["secret"],
        "columns": [{"sourceName": "price", "destinationType": "String"}]});
    assert_eq!(fixture.post("mirrors/state_change", edit(typed)).await.ok(), json!({}));
    let mirror = fixture.stored("m").await;
    let table = &mirror.spec.tables[0];
    assert_eq!(
        (&table.exclude, table.columns[0].destination_type.as_str()),
        (&vec!["secret".to_owned()], "String")
    );
    assert_eq!(table.destination, "users");
    fixture.observe("m", MirrorState::Running).await;
    fixture.request("m", "STATUS_PAUSED").await;
    fixture.observe("m", MirrorState::Paused).await;
    let back = fixture
        .post("mirrors/state_change", edit(json!({"sourceTableIdentifier": "public.users"})))
        .await
        .ok();
    let message = back["errorMessage"].as_str().unwrap_or_default();
    assert!(message.contains("changed_tables[0].exclude: secret is left out"), "{message}");
}
