//! Secrets are planted wherever a client can put one; no answer holds any of them.

use serde_json::{Value, json};
use tarn_model::Problem;

use crate::fixture::{Fixture, PASSWORD, creation, creation_with};

const PLANTED: &str = "planted";

fn peers() -> [Value; 3] {
    [
        json!({"name": "pg", "type": 3, "postgres_config": {"host": "h", "user": "u", "database": "d",
            "password": "planted-1", "client_tls": {"certificate": "c", "private_key": "planted-2"}}}),
        json!({"name": "ch", "type": 8, "clickhouseConfig": {"host": "h", "password": "planted-3",
            "certificate": "c", "privateKey": "planted-4", "accessKeyId": "planted-5", "secretAccessKey": "planted-6"}}),
        json!({"name": "tunnel", "type": 3, "postgres_config": {"host": "h", "user": "u", "database": "d",
            "ssh_config": {"host": "j", "user": "u", "password": "planted-7", "private_key": "planted-8"}}}),
    ]
}

#[tokio::test]
async fn no_answer_holds_a_secret() {
    assert!(PASSWORD.contains(PLANTED));
    let fixture = Fixture::new().await;
    for peer in peers() {
        for route in ["peers/create", "peers/validate"] {
            fixture.post(route, json!({"peer": peer, "allow_update": true})).await;
        }
    }
    for kind in [0, 1, 9, 100, 4] {
        let peer = json!({"name": "x", "type": kind, "snowflake_config": {"private_key": "planted-9"},
            "kafka_config": {"password": "planted-10"}, "plugin_config": {"config": {"token": "planted-11"}}});
        fixture.post("peers/create", json!({"peer": peer})).await;
    }
    // Secrets where something else belongs.
    for config in [
        json!({"port": "planted-12"}),
        json!({"disable_tls": "planted-13"}),
        json!({"ssh_config": "planted-14"}),
        json!({"password": ["planted-15"]}),
        json!("planted-16"),
    ] {
        fixture
            .post("peers/create", json!({"peer": {"name": "y", "type": 3, "postgres_config": config}}))
            .await;
    }
    fixture.post("mirrors/state_change", json!({"requestedFlowState": "planted-17"})).await;
    fixture.post("flows/cdc/create", json!({"connection_configs": {"system": "planted-18"}})).await;
    fixture.post_text("peers/create", "{\"peer\": planted-19}").await;
    // A store that tells what it was told.
    for (peer, told) in peers().into_iter().zip(["planted-1", "planted-3", "planted-7"]) {
        fixture.unreachable(&format!("password {told} was refused"));
        fixture.post("peers/create", json!({"peer": peer, "allow_update": true})).await;
        fixture.post("peers/validate", json!({"peer": peer})).await;
    }
    fixture.find_problems(&[Problem::new("source_name", "no", "")]);
    fixture.post("flows/cdc/create", creation("m")).await;
    fixture.find_problems(&[]);
    fixture.post("flows/cdc/create", creation_with("m", json!({"env": {"A": "b"}}))).await.ok();
    for path in
        ["peers/list", "peers/info/pg", "peers/info/ch", "peers/type/pg", "mirrors/list", "instance/info"]
    {
        fixture.get(path).await.ok();
    }
    fixture.post("mirrors/status", json!({"flowJobName": "m", "includeFlowInfo": true})).await.ok();
    fixture.post("mirrors/logs", json!({"num_per_page": 100})).await.ok();
    fixture.control.catalog().close().await;
    fixture.get("peers/info/pg").await;

    let transcript = fixture.transcript.lock().expect("whole").clone();
    let leaks: Vec<_> = transcript.lines().filter(|line| line.contains(PLANTED)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    assert!(transcript.contains("********"));
}
