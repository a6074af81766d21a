use axum::body::Body;
use axum::http::{Request, header};

use crate::fixture::{AUTHORIZATION, Fixture};

fn request(path: &str, authorization: Option<&str>) -> Request<Body> {
    let mut request = Request::builder().uri(path);
    if let Some(value) = authorization {
        request = request.header(header::AUTHORIZATION, value);
    }
    request.body(Body::empty()).expect("a request")
}

#[tokio::test]
async fn every_route_but_the_health_routes_needs_credentials() {
    let fixture = Fixture::new().await;
    for path in ["/api/v1/peers/list", "/api/v1/mirrors/list", "/api/v1/nowhere", "/nowhere", "/"] {
        for wrong in [None, Some("Basic OnBsYW50ZWQ="), Some("Bearer x"), Some("Basic"), Some("")] {
            let reply = fixture.send(request(path, wrong)).await;
            assert_eq!(reply.refusal(), (401, 16, vec![]), "{path} {wrong:?}");
            assert!(reply.header(header::WWW_AUTHENTICATE).starts_with("Basic"));
        }
    }
    for path in ["/healthz", "/readyz"] {
        fixture.send(request(path, None)).await.ok();
    }
}

#[tokio::test]
async fn the_usual_client_sends_an_empty_user_and_the_password() {
    let fixture = Fixture::new().await;
    fixture.send(request("/api/v1/peers/list", Some(AUTHORIZATION))).await.ok();
}

#[tokio::test]
async fn a_malformed_request_without_credentials_is_unauthenticated_first() {
    let fixture = Fixture::new().await;
    let request = Request::post("/api/v1/peers/create").body(Body::from("{")).expect("a request");
    assert_eq!(fixture.send(request).await.refusal(), (401, 16, vec![]));
}
