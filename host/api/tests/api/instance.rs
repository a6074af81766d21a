use serde_json::json;
use tarn_model::Edition;

use crate::fixture::Fixture;

#[tokio::test]
async fn the_server_tells_what_it_is() {
    let fixture = Fixture::new().await;
    let info = fixture.get("instance/info").await.ok();
    assert_eq!((&info["status"], &info["version"]), (&json!("INSTANCE_STATUS_READY"), &json!("0.1.0")));
    assert_eq!((&info["edition"], &info["scriptsEnabled"]), (&json!("open-source"), &json!(true)));
    assert_eq!(info["stagingBucket"], "peer");
    let source = json!({"name": "postgres", "version": "0.1.0", "kind": "source",
        "capabilities": ["log", "clock", "postgres"]});
    assert_eq!(info["connectors"][0], source);
    assert_eq!(fixture.get("version").await.ok(), json!({"version": "0.1.0"}));
}

#[tokio::test]
async fn the_hosted_edition_has_scripts_off_and_others_on() {
    for (edition, name, scripts) in [
        (Edition::OpenSource, "open-source", true),
        (Edition::Enterprise, "enterprise", true),
        (Edition::Hosted, "hosted", false),
    ] {
        let info = Fixture::in_edition(edition).await.get("instance/info").await.ok();
        assert_eq!((&info["edition"], &info["scriptsEnabled"]), (&json!(name), &json!(scripts)));
    }
}
