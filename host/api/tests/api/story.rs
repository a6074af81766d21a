//! Every example of the document, sent in an order in which each makes sense.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use axum::body::Body;
use axum::http::{Request, header};
use serde_json::{Map, Value, json};
use tarn_api::{Limits, PeerAddress, openapi};
use tarn_model::{
    ComparedRows, DifferenceKind, Edition, KeyValue, MirrorState, RowDifference, TableStage,
    TableVerification, VerificationState,
};

use crate::described::{Operation, Spelling, operations};
use crate::fixture::{Fixture, Reply, clickhouse_peer, postgres_peer};
use crate::schema_changes::{play_a_change_of_columns, refuse_a_change_of_columns};
use crate::shop;

/// Values that differ from run to run: of these only the type is compared.
const VARYING: [&str; 9] = [
    "createdAt",
    "updatedAt",
    "startTime",
    "errorTimestamp",
    "digest",
    "noticedAt",
    "time",
    "avgTimePerPartitionMs",
    "micros",
];

/// The value with what varies made equal.
fn settled(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(settled).collect(),
        Value::Object(object) => {
            let settle = |(key, value): (&String, &Value)| {
                let settled = match value {
                    Value::String(_) if VARYING.contains(&key.as_str()) => json!("…"),
                    Value::Number(_) if VARYING.contains(&key.as_str()) => json!(0),
                    other => settled(other),
                };
                (key.clone(), settled)
            };
            Value::Object(object.iter().map(settle).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// What the verification of the example stores at its end.
async fn play_the_verification(fixture: &Fixture) {
    let difference = |kind, id: &str, columns: &[&str]| RowDifference {
        kind,
        key: vec![KeyValue { column: "id".into(), value: id.into() }],
        columns: columns.iter().map(|&name| name.into()).collect(),
    };
    let table = TableVerification {
        source_table: "public.orders".into(),
        destination_table: "orders".into(),
        stage: TableStage::Ended { partitions: 1 },
        rows: ComparedRows { compared: 43, differing: 2, ..ComparedRows::default() },
        first_differences: vec![
            difference(DifferenceKind::Differs, "17", &["total"]),
            difference(DifferenceKind::Extra, "99", &[]),
        ],
        ..TableVerification::default()
    };
    let catalog = fixture.control.catalog();
    catalog.save_verification(1, &[table], None).await.expect("stored");
    catalog.note_verification(1, VerificationState::Done, "").await.expect("stored");
}

/// The story so far.
struct Story {
    fixture: Fixture,
    operations: Vec<Operation>,
    told: BTreeSet<String>,
    spelling: Spelling,
}

impl Story {
    /// Sends the examples of these operations.
    async fn tell(&mut self, ids: &[&str]) {
        for id in ids {
            let operation = self.operations.iter().find(|operation| operation.id == *id);
            let operation = operation.unwrap_or_else(|| panic!("the document has no {id}"));
            let (path, request) = operation.request(self.spelling);
            let body = request.map_or_else(Body::empty, |request| Body::from(request.to_string()));
            let reply = self.fixture.call(operation.method.clone(), &path, body).await;
            if operation.answer().is_null() {
                // Bytes, with their media type.
                assert_eq!((reply.status.as_u16(), reply.text.is_empty()), (200, false), "{id}");
                let media = reply.header(header::CONTENT_TYPE);
                assert!(operation.body["responses"]["200"]["content"].get(media).is_some(), "{id}: {media}");
            } else {
                assert_eq!(settled(&reply.ok()), settled(operation.answer()), "{id} in {:?}", self.spelling);
            }
            self.told.insert((*id).to_owned());
        }
    }

    async fn tell_of_peers(&mut self) {
        self.tell(&["isAlive", "isReady", "getVersion", "getInstanceInfo", "getMetrics", "createPeer"]).await;
        let body = json!({"peer": clickhouse_peer("analytics")});
        assert_eq!(self.fixture.post("peers/create", body).await.ok()["status"], "CREATED");
        self.tell(&["validatePeer", "comparePeer", "listPeers", "getPeer", "getPeerType"]).await;
        shop::answer_questions(&self.fixture);
        self.tell(&["listSchemas", "listPublications", "listTables", "listAllTables", "listColumns"]).await;
    }

    async fn tell_of_mirrors(&mut self) {
        self.tell(&["testScript", "storeScript", "listScripts", "listScriptVersions"]).await;
        let script = json!({"script": {"id": 1, "lang": "lua", "name": "mask", "source": "x"}});
        assert_eq!(self.fixture.post("scripts", script).await.ok(), json!({"id": 1}));
        self.tell(&["rollBackScript", "getScriptComponent", "validateMirror", "createMirror"]).await;
        shop::play_the_run(&self.fixture).await;
        self.tell(&["listSlots", "listActivity", "listMirrors", "listMirrorNames", "getMirrorStatus"]).await;
        self.tell(&["getInitialLoad", "listBatches", "listBatchesByName", "graphRows"]).await;
        self.tell(&["countTableChanges", "countRowsSynced", "countRows", "replaceTags", "listTags"]).await;
        // Before the letters: what becomes of them is logged.
        self.tell(&["listLogs", "listDeadLetters", "showDeadLetter"]).await;
        self.tell(&["replayDeadLetters", "discardDeadLetters", "verifyMirror"]).await;
        play_a_change_of_columns(&self.fixture).await;
        self.tell(&["listSchemaChanges", "approveSchemaChange"]).await;
        refuse_a_change_of_columns(&self.fixture).await;
        self.tell(&["refuseSchemaChange"]).await;
        self.fixture.observe("orders", MirrorState::Running).await;
        play_the_verification(&self.fixture).await;
        self.tell(&["getVerification", "changeMirrorState"]).await;
    }

    async fn tell_of_the_end(&mut self) {
        let script = json!({"script": {"id": -1, "lang": "lua", "name": "other", "source": "x"}});
        assert_eq!(self.fixture.post("scripts", script).await.ok(), json!({"id": 2}));
        let body = json!({"peer": postgres_peer("old_shop")});
        assert_eq!(self.fixture.post("peers/create", body).await.ok()["status"], "CREATED");
        self.tell(&["deleteScript", "dropPeer"]).await;
    }
}

#[tokio::test]
async fn every_example_is_what_the_server_takes_and_answers_in_both_spellings() {
    for spelling in [Spelling::Camel, Spelling::Snake] {
        let fixture = Fixture::new().await;
        let mut story = Story { fixture, operations: operations(), told: BTreeSet::new(), spelling };
        story.tell_of_peers().await;
        story.tell_of_mirrors().await;
        story.tell_of_the_end().await;
        let all: BTreeSet<_> = story.operations.iter().map(|operation| operation.id.clone()).collect();
        assert_eq!(story.told, all, "every operation of the document has its part");
    }
}

/// The refusal that the document shows for a status.
fn shown_refusal(status: u16) -> Value {
    let document: Value = serde_json::from_str(&openapi()).expect("the document is JSON");
    let response = &document["components"]["responses"][status.to_string()];
    response["content"]["application/json"]["example"].clone()
}

/// The answer to somebody who guesses.
async fn after_failed_logins() -> Reply {
    let fixture = Fixture::within(Limits { failed_logins_max: 1, ..Limits::default() }).await;
    let login = || {
        Request::get("/api/v1/version")
            .header(header::AUTHORIZATION, "Basic Ondyb25n")
            .extension(PeerAddress(Ipv4Addr::LOCALHOST.into()))
            .body(Body::empty())
            .expect("a request")
    };
    fixture.send(login()).await;
    fixture.send(login()).await
}

fn without_digits(value: &Value) -> String {
    value.to_string().chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[tokio::test]
async fn every_refusal_that_the_document_shows_is_one_that_the_server_gives() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("orders").await;
    let assert_shown = |reply: Reply| assert_eq!(reply.json(), shown_refusal(reply.status.as_u16()));
    let script = |source: &str| json!({"script": {"id": -1, "lang": "lua", "name": "a", "source": source}});
    assert_shown(fixture.post("mirrors/logs", json!({"level": "DEBUG"})).await);
    let anonymous = Request::get("/api/v1/peers/list").body(Body::empty()).expect("a request");
    assert_shown(fixture.send(anonymous).await);
    assert_eq!(
        without_digits(&after_failed_logins().await.json()),
        without_digits(&shown_refusal(429)),
        "but for the seconds"
    );
    assert_shown(Fixture::in_edition(Edition::Hosted).await.post("scripts", script("x")).await);
    assert_shown(fixture.post("mirrors/status", json!({"flowJobName": "none"})).await);
    assert_shown(fixture.post("flows/cdc/create", crate::fixture::creation("orders")).await);
    assert_shown(fixture.post("scripts", script("compiler down")).await);
    fixture.control.catalog().close().await;
    assert_shown(fixture.get("peers/list").await);
    let document: Value = serde_json::from_str(&openapi()).expect("the document is JSON");
    let statuses: Vec<_> =
        document["components"]["responses"].as_object().expect("responses").keys().collect();
    assert_eq!(statuses, ["400", "401", "403", "404", "409", "429", "500", "503"], "each was shown above");
}
