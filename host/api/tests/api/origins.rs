//! No page of another origin uses the API, and every answer protects the browser that shows it.

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, header};
use serde_json::json;
use tarn_api::{Credentials, Limits, router};
use tower::ServiceExt as _;

use crate::fixture::{AUTHORIZATION, Fixture, Reply};

async fn call(fixture: &Fixture, headers: &[(&str, &str)]) -> Reply {
    let mut request = Request::post("/api/v1/mirrors/logs").header(header::AUTHORIZATION, AUTHORIZATION);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    fixture.send(request.body(Body::from("{}")).expect("a request")).await
}

/// No header that opens the API to other origins.
fn assert_closed(headers: &HeaderMap) {
    assert!(headers.keys().all(|name| !name.as_str().starts_with("access-control")), "{headers:?}");
}

#[tokio::test]
async fn pages_of_other_origins_are_refused_even_with_credentials() {
    let fixture = Fixture::new().await;
    let here = ("host", "tarn.internal:8113");
    for foreign in [
        &[here, ("origin", "https://evil.example")][..],
        &[here, ("origin", "http://tarn.internal:8114")],
        &[here, ("origin", "null")],
        &[here, ("origin", "http://tarn.internal:8113\u{e9}")],
        &[here, ("sec-fetch-site", "cross-site")],
        &[here, ("sec-fetch-site", "same-site")],
        // The same name without TLS, as browsers tell it.
        &[("host", "tarn.internal"), ("origin", "http://tarn.internal"), ("sec-fetch-site", "cross-site")],
    ] {
        let reply = call(&fixture, foreign).await;
        assert_eq!(reply.refusal(), (403, 7, vec![]), "{foreign:?}");
        assert_closed(&reply.headers);
    }
}

#[tokio::test]
async fn own_pages_and_programs_are_served() {
    let fixture = Fixture::new().await;
    for own in [
        [("host", "tarn.internal:8113"), ("origin", "http://tarn.internal:8113")],
        [("host", "tarn.internal:8113"), ("origin", "https://tarn.internal:8113")],
        [("host", "tarn.internal:8113"), ("sec-fetch-site", "same-origin")],
        [("host", "tarn.internal:8113"), ("sec-fetch-site", "none")],
        [("host", "tarn.internal:8113"), ("user-agent", "curl/8")],
    ] {
        call(&fixture, &own).await.ok();
    }
}

#[tokio::test]
async fn a_preflight_gets_no_permission() {
    let fixture = Fixture::new().await;
    let request = Request::builder()
        .method(Method::OPTIONS)
        .uri("/api/v1/peers/create")
        .header("host", "tarn.internal:8113")
        .header("origin", "https://evil.example")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization");
    let reply = fixture.send(request.body(Body::empty()).expect("a request")).await;
    assert!(!reply.status.is_success(), "{}", reply.status);
    assert_closed(&reply.headers);
}

#[tokio::test]
async fn without_a_password_only_names_of_this_machine_are_answered_to() {
    let fixture = Fixture::new().await;
    let router = router(fixture.control.clone(), &Credentials::Open, &Limits::default());
    for (host, status) in [
        ("localhost:8113", 200),
        ("127.0.0.1:8113", 200),
        ("[::1]:8113", 200),
        ("LOCALHOST", 200),
        ("evil.example:8113", 403),
        ("127.0.0.1.evil.example", 403),
        ("192.0.2.1:8113", 403),
        ("", 403),
    ] {
        let request = Request::get("/api/v1/version").header("host", host).body(Body::empty());
        let answer = router.clone().oneshot(request.expect("a request")).await.expect("an answer");
        assert_eq!(answer.status(), status, "{host}");
    }
}

#[tokio::test]
async fn every_answer_tells_a_browser_to_be_careful() {
    let fixture = Fixture::new().await;
    let answers = [
        fixture.get("peers/list").await,
        fixture.get("nowhere").await,
        fixture.post("peers/create", json!({"peer": 5})).await,
        fixture.send(Request::get("/").body(Body::empty()).expect("a request")).await,
        call(&fixture, &[("origin", "https://evil.example")]).await,
    ];
    for answer in answers {
        for (name, value) in [
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::CACHE_CONTROL, "no-store"),
            (header::X_FRAME_OPTIONS, "DENY"),
            (header::REFERRER_POLICY, "no-referrer"),
        ] {
            assert_eq!(answer.header(name), value, "{}", answer.text);
        }
        assert!(answer.header(header::CONTENT_SECURITY_POLICY).contains("frame-ancestors 'none'"));
    }
}
