//! Every limit on a request is reached, answered in the API's form, and leaves the server serving.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, header};
use serde_json::json;
use tarn_api::Limits;
use tokio::sync::oneshot;

use crate::fixture::{AUTHORIZATION, Fixture, Reply, creation};

async fn get(fixture: &Fixture, path: &str, headers: &[(String, String)]) -> Reply {
    let mut request = Request::get(path).header(header::AUTHORIZATION, AUTHORIZATION);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    fixture.send(request.body(Body::empty()).expect("a request")).await
}

#[tokio::test]
async fn a_body_beyond_what_its_path_takes_is_413() {
    let fixture = Fixture::new().await;
    let body = |bytes: usize| format!("{{\"x\":\"{}\"}}", "x".repeat(bytes));
    fixture.post_text("mirrors/logs", &body(3 << 20)).await.ok();
    assert_eq!(fixture.post_text("mirrors/logs", &body(4 << 20)).await.refusal(), (413, 8, vec![]));
    // A script may be a component: the body is read, and is no script.
    assert_eq!(fixture.post_text("scripts", &body(24 << 20)).await.refusal().0, 400);
    assert_eq!(fixture.post_text("scripts", &body(32 << 20)).await.refusal(), (413, 8, vec![]));
    fixture.get("peers/list").await.ok();
}

#[tokio::test]
async fn a_path_that_is_too_long_is_414() {
    let fixture = Fixture::new().await;
    let path = format!("/api/v1/peers/list?x={}", "y".repeat(4 << 10));
    assert_eq!(get(&fixture, &path, &[]).await.refusal(), (414, 8, vec![]));
    get(&fixture, &path[..4000], &[]).await.ok();
}

#[tokio::test]
async fn too_many_or_too_large_headers_are_431() {
    let fixture = Fixture::new().await;
    let headers = |count: usize, bytes: usize| -> Vec<_> {
        (0..count).map(|number| (format!("x-{number}"), "y".repeat(bytes))).collect()
    };
    get(&fixture, "/api/v1/version", &headers(50, 10)).await.ok();
    get(&fixture, "/api/v1/version", &headers(1, 15 << 10)).await.ok();
    for headers in [headers(64, 1), headers(1, 16 << 10), headers(20, 1 << 10)] {
        assert_eq!(get(&fixture, "/api/v1/version", &headers).await.refusal(), (431, 8, vec![]));
    }
}

/// A request that is under way until the sender is used.
async fn occupy<'a>(fixture: &'a Fixture) -> (impl Future<Output = Reply> + 'a, oneshot::Sender<()>) {
    let (release, released) = oneshot::channel();
    *fixture.stores.meanwhile.lock().expect("whole") = Some(Box::pin(async move {
        // Dropped without a word counts, too.
        let _ = released.await;
    }));
    (fixture.post("mirrors/cdc/validate", creation("m")), release)
}

#[tokio::test]
async fn more_requests_than_there_are_places_for_are_told_to_come_back() {
    let limits = Limits { requests_max: 1, ..Limits::default() };
    let fixture = Fixture::within(limits).await.with_peers().await;
    let (occupying, release) = occupy(&fixture).await;
    let meanwhile = async {
        while fixture.stores.meanwhile.lock().expect("whole").is_some() {
            tokio::task::yield_now().await;
        }
        let reply = fixture.get("peers/list").await;
        assert_eq!(reply.refusal(), (503, 14, vec![]));
        assert_eq!(reply.header(header::RETRY_AFTER), "1");
        // Whoever watches over the server still sees that it lives, and strangers are told nothing.
        for path in ["/healthz", "/readyz"] {
            fixture.call(Method::GET, path, Body::empty()).await.ok();
        }
        let stranger = Request::get("/api/v1/peers/list").body(Body::empty()).expect("a request");
        assert_eq!(fixture.send(stranger).await.status, 401);
        release.send(()).expect("it waits");
    };
    let (occupied, ()) = tokio::join!(occupying, meanwhile);
    occupied.ok();
    fixture.get("peers/list").await.ok();
}

#[tokio::test]
async fn bodies_that_would_fill_the_memory_are_told_to_come_back() {
    let fixture = Fixture::within(Limits { bodies_bytes_max: 1 << 20, ..Limits::default() }).await;
    let large = format!("{{\"x\":\"{}\"}}", "x".repeat(2 << 20));
    let reply = fixture.post_text("mirrors/logs", &large).await;
    assert_eq!(reply.refusal(), (503, 14, vec![]));
    assert_eq!(reply.header(header::RETRY_AFTER), "1");
    fixture.post_text("mirrors/logs", &large[..100]).await.refusal();
    fixture.post("mirrors/logs", json!({})).await.ok();
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_given_up() {
    let limits = Limits { request_deadline: Duration::from_millis(300), ..Limits::default() };
    let fixture = Fixture::within(limits).await.with_peers().await;
    let (occupying, _never) = occupy(&fixture).await;
    let reply = occupying.await;
    assert_eq!(reply.refusal(), (503, 14, vec![]));
    assert!(!reply.header(header::RETRY_AFTER).is_empty());
    fixture.get("peers/list").await.ok();
}
