//! Verifications: asking for them and looking at them.

use serde_json::json;
use tarn_model::{MirrorState, VerificationState};

use crate::fixture::Fixture;

async fn streaming() -> Fixture {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("m").await;
    fixture.observe("m", MirrorState::Running).await;
    fixture
}

#[tokio::test]
async fn a_verification_is_planned_with_its_tables_and_read() {
    let fixture = streaming().await;
    let answer = fixture.post("mirrors/verify", json!({"flow_job_name": "m", "sample_rate": 0.5})).await.ok();
    assert_eq!(answer, json!({"verifyId": "1"}));
    let read = fixture.get("mirrors/verify/1").await.ok();
    assert_eq!(read["state"], "VERIFICATION_PLANNED");
    assert_eq!(read["verdict"], "VERDICT_OPEN");
    assert_eq!((&read["flowJobName"], &read["sampleRate"]), (&json!("m"), &json!(0.5)));
    let tables = read["tables"].as_array().expect("a list");
    let sources: Vec<_> =
        fixture.stored("m").await.spec.tables.into_iter().map(|table| table.source).collect();
    assert_eq!(tables.iter().map(|table| table["sourceTable"].clone()).collect::<Vec<_>>(), sources);
    assert!(
        tables.iter().all(|table| table["rowsCompared"] == "0" && table["firstDifferences"] == json!([]))
    );
}

#[tokio::test]
async fn a_verification_is_refused_with_what_is_wrong() {
    let fixture = streaming().await;
    let refused = |body| {
        let reply = fixture.post("mirrors/verify", body);
        async { reply.await.refusal() }
    };
    for (body, expected) in [
        (json!({"flowJobName": "none"}), (404, 5, "flow_job_name")),
        (json!({"flowJobName": "m", "sampleRate": 1.5}), (400, 3, "sample_rate")),
        (json!({"flowJobName": "m", "sampleRate": -1}), (400, 3, "sample_rate")),
        (json!({"flowJobName": "m", "tables": ["public.none"]}), (400, 3, "tables[0]")),
    ] {
        let (status, code, field) = expected;
        assert_eq!(refused(body.clone()).await, (status, code, vec![field.to_owned()]), "{body}");
    }
    assert_eq!(fixture.get("mirrors/verify/7").await.refusal(), (404, 5, vec!["verify_id".to_owned()]));
    fixture.post("mirrors/verify", json!({"flowJobName": "m"})).await.ok();
    let busy = (409, 6, vec!["flow_job_name".to_owned()]);
    assert_eq!(refused(json!({"flowJobName": "m"})).await, busy);
    let catalog = fixture.control.catalog();
    catalog.note_verification(1, VerificationState::Done, "").await.expect("stored");
    let answer = fixture.post("mirrors/verify", json!({"flowJobName": "m"})).await.ok();
    assert_eq!(answer, json!({"verifyId": "2"}));
}

#[tokio::test]
async fn a_mirror_that_is_not_loaded_yet_is_not_verified() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("m").await;
    let reply = fixture.post("mirrors/verify", json!({"flowJobName": "m"})).await;
    assert_eq!(reply.refusal(), (400, 9, vec!["flow_job_name".to_owned()]));
    assert!(reply.text.contains("SETUP"), "{}", reply.text);
}
