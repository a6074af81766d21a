use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test]
async fn tags_are_replaced_and_read_in_their_order() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("m").await;
    assert_eq!(fixture.get("flows/tags/m").await.ok(), json!({"flowName": "m", "tags": []}));
    let tags = json!([{"key": "team", "value": "shop"}, {"key": "a", "value": ""}]);
    for body in [json!({"flowName": "m", "tags": tags}), json!({"flow_name": "m", "tags": tags})] {
        assert_eq!(fixture.post("flows/tags", body).await.ok(), json!({"flowName": "m"}));
        assert_eq!(fixture.get("flows/tags/m").await.ok(), json!({"flowName": "m", "tags": tags}));
    }
    fixture.post("flows/tags", json!({"flowName": "m"})).await.ok();
    assert_eq!(fixture.get("flows/tags/m").await.ok()["tags"], json!([]));
}

#[tokio::test]
async fn tags_of_an_unknown_mirror_are_404() {
    let fixture = Fixture::new().await;
    let body = json!({"flowName": "none", "tags": [{"key": "a", "value": "b"}]});
    assert_eq!(fixture.post("flows/tags", body).await.refusal(), (404, 5, vec!["flow_name".into()]));
    assert_eq!(fixture.get("flows/tags/none").await.refusal(), (404, 5, vec!["flow_name".into()]));
}

#[tokio::test]
async fn a_tag_that_is_none_is_400_naming_it() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("m").await;
    for (tags, fields) in [
        (json!([{"key": "a"}, {"key": ""}]), vec!["tags[1].key"]),
        (json!([{"key": "a"}, {"key": "a"}]), vec!["tags[1].key"]),
        (json!([{"key": "k".repeat(200), "value": "v".repeat(2000)}]), vec!["tags[0].key", "tags[0].value"]),
        (json!([{"key": 1}]), vec!["tags[0].key"]),
        (json!({"a": "b"}), vec!["tags"]),
    ] {
        let (status, code, named) =
            fixture.post("flows/tags", json!({"flowName": "m", "tags": tags})).await.refusal();
        assert_eq!((status, code), (400, 3));
        assert_eq!(named, fields);
    }
    assert_eq!(fixture.get("flows/tags/m").await.ok()["tags"], json!([]), "nothing was stored");
}
