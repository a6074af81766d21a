//! What holds for every request: paths, verbs, bodies, failures inside.

use axum::body::Body;
use axum::http::{Method, header};
use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test]
async fn an_unknown_path_is_404_with_code_5() {
    let fixture = Fixture::new().await;
    for path in ["/api/v1/nowhere", "/api/v2/peers/list", "/", "/api/v1/peers/info/a/b", "/api/v1"] {
        let reply = fixture.call(Method::GET, path, Body::empty()).await;
        assert_eq!(reply.refusal(), (404, 5, vec![]), "{path}");
    }
}

#[tokio::test]
async fn a_wrong_verb_is_405_and_says_which_there_are() {
    let fixture = Fixture::new().await;
    for (method, path, allowed) in [
        (Method::GET, "/api/v1/peers/create", "POST"),
        (Method::POST, "/api/v1/peers/list", "GET,HEAD"),
        (Method::PUT, "/api/v1/scripts/1", "GET,HEAD,DELETE"),
    ] {
        let reply = fixture.call(method, path, Body::empty()).await;
        assert_eq!(reply.refusal(), (405, 12, vec![]), "{path}");
        assert_eq!(reply.header(header::ALLOW), allowed, "{path}");
    }
}

#[tokio::test]
async fn a_malformed_body_is_400_on_every_route_that_takes_one() {
    let fixture = Fixture::new().await;
    for path in [
        "peers/create",
        "peers/validate",
        "peers/drop",
        "flows/cdc/create",
        "mirrors/cdc/validate",
        "mirrors/state_change",
        "mirrors/status",
        "mirrors/logs",
        "mirrors/cdc/batches",
        "scripts",
    ] {
        for body in ["{", "[]", "\"x\"", "1", "{\"a\":1} x", "nonsense", &"[".repeat(100_000)] {
            let reply = fixture.post_text(path, body).await;
            assert_eq!((reply.refusal().0, reply.refusal().1), (400, 3), "{path}: {:.20}", body);
        }
    }
}

#[tokio::test]
async fn a_wrong_json_type_is_400_naming_the_fields_path() {
    let fixture = Fixture::new().await;
    for (path, body, field) in [
        ("peers/create", json!({"peer": []}), "peer"),
        ("peers/create", json!({}), "peer"),
        ("peers/create", json!({"peer": {"name": 5}}), "peer.name"),
        ("peers/create", json!({"peer": {"type": true}}), "peer.type"),
        ("peers/create", json!({"allow_update": "yes"}), "allow_update"),
        ("peers/create", json!({"peer": {"postgresConfig": {"port": "x"}}}), "peer.postgres_config.port"),
        (
            "peers/create",
            json!({"peer": {"postgres_config": {"sshConfig": {"privateKey": 1}}}}),
            "peer.postgres_config.ssh_config.private_key",
        ),
        ("flows/cdc/create", json!({}), "connection_configs"),
        (
            "flows/cdc/create",
            json!({"connectionConfigs": {"tableMappings": [{}, {"exclude": 1}]}}),
            "connection_configs.table_mappings[1].exclude",
        ),
        (
            "flows/cdc/create",
            json!({"connection_configs": {"table_mappings": [{"columns": [{"ordering": -1}]}]}}),
            "connection_configs.table_mappings[0].columns[0].ordering",
        ),
        ("flows/cdc/create", json!({"connection_configs": {"env": {"A": 1}}}), "connection_configs.env.A"),
        ("mirrors/state_change", json!({"requestedFlowState": "STATUS_NONE"}), "requested_flow_state"),
        ("mirrors/state_change", json!({"requestedFlowState": 99}), "requested_flow_state"),
        ("mirrors/cdc/batches", json!({"limit": "many"}), "limit"),
        ("mirrors/logs", json!({"num_per_page": 1.5}), "num_per_page"),
        ("scripts", json!({}), "script"),
        ("scripts", json!({"script": {"id": "new"}}), "script.id"),
    ] {
        let reply = fixture.post(path, body).await;
        assert_eq!(reply.refusal(), (400, 3, vec![field.to_owned()]), "{path}");
        assert!(reply.json()["message"].as_str().expect("a message").starts_with(field));
    }
}

#[tokio::test]
async fn an_empty_body_counts_as_an_empty_object() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.post_text("mirrors/logs", "").await.ok()["total"], 0);
}

#[tokio::test]
async fn a_panic_inside_is_500_with_the_usual_body_and_the_server_goes_on() {
    let fixture = Fixture::new().await;
    let script = json!({"script": {"id": -1, "lang": "lua", "name": "p", "source": "panic"}});
    let reply = fixture.post("scripts", script).await;
    assert_eq!(reply.refusal(), (500, 13, vec![]));
    assert!(!reply.text.contains("a compiler that panics"));
    fixture.get("peers/list").await.ok();
}

#[tokio::test]
async fn with_the_catalog_away_requests_are_503_and_the_server_is_not_ready() {
    let fixture = Fixture::new().await;
    fixture.control.catalog().close().await;
    let reply = fixture.get("peers/list").await;
    assert_eq!(reply.refusal(), (503, 14, vec![]));
    assert!(!reply.header(header::RETRY_AFTER).is_empty());
    let reply = fixture.call(Method::GET, "/readyz", Body::empty()).await;
    assert_eq!(reply.refusal(), (503, 14, vec![]));
    fixture.call(Method::GET, "/healthz", Body::empty()).await.ok();
}
