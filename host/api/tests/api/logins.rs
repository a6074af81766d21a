//! An address that fails to log in too often has to wait.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Request, header};
use tarn_api::{Limits, PeerAddress};

use crate::fixture::{AUTHORIZATION, Fixture, Reply};

const WRONG: &str = "Basic Ondyb25n";
const LOOPBACK: &str = "127.0.0.1";

/// A request by a socket of an address.
async fn login(fixture: &Fixture, address: &str, authorization: Option<&str>) -> Reply {
    let address: IpAddr = address.parse().expect("an address");
    let mut request = Request::builder().uri("/api/v1/version").extension(PeerAddress(address));
    if let Some(value) = authorization {
        request = request.header(header::AUTHORIZATION, value);
    }
    fixture.send(request.body(Body::empty()).expect("a request")).await
}

async fn exhaust(fixture: &Fixture, address: &str) {
    for _ in 0..Limits::default().failed_logins_max {
        assert_eq!(login(fixture, address, Some(WRONG)).await.refusal(), (401, 16, vec![]));
    }
}

#[tokio::test]
async fn after_too_many_failures_an_address_waits_whatever_it_presents() {
    let fixture = Fixture::new().await;
    exhaust(&fixture, LOOPBACK).await;
    // The right password, too: else the answer would tell that it is.
    for authorization in [WRONG, AUTHORIZATION, "Bearer x"] {
        let reply = login(&fixture, LOOPBACK, Some(authorization)).await;
        assert_eq!(reply.refusal(), (429, 8, vec![]), "{authorization}");
        let seconds: u64 = reply.header(header::RETRY_AFTER).parse().expect("seconds");
        assert!((1..=10).contains(&seconds), "{seconds}");
    }
}

#[tokio::test]
async fn other_addresses_and_requests_that_present_nothing_are_served_on() {
    let fixture = Fixture::new().await;
    exhaust(&fixture, LOOPBACK).await;
    login(&fixture, "127.0.0.2", Some(AUTHORIZATION)).await.ok();
    login(&fixture, "::1", Some(AUTHORIZATION)).await.ok();
    assert_eq!(login(&fixture, LOOPBACK, None).await.refusal(), (401, 16, vec![]));
    let request = Request::get("/healthz").extension(PeerAddress(LOOPBACK.parse().expect("an address")));
    fixture.send(request.body(Body::empty()).expect("a request")).await.ok();
}

#[tokio::test]
async fn presenting_nothing_is_no_failure_and_success_is_none_either() {
    let fixture = Fixture::new().await;
    for _ in 0..50 {
        assert_eq!(login(&fixture, LOOPBACK, None).await.refusal().0, 401);
        login(&fixture, LOOPBACK, Some(AUTHORIZATION)).await.ok();
    }
}

#[tokio::test]
async fn an_address_is_let_in_again_once_a_failure_is_forgiven() {
    let forgiven = Duration::from_millis(300);
    let limits = Limits { failed_logins_max: 3, failed_login_forgiven: forgiven, ..Limits::default() };
    let fixture = Fixture::within(limits).await;
    let begun = Instant::now();
    while login(&fixture, LOOPBACK, Some(WRONG)).await.status != 429 {}
    while login(&fixture, LOOPBACK, Some(AUTHORIZATION)).await.status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(20), "it has to wait for ever");
        tokio::task::yield_now().await;
    }
    assert!(begun.elapsed() >= forgiven, "it had to wait for {:?} only", begun.elapsed());
}

#[tokio::test]
async fn the_address_is_the_sockets_whatever_headers_say() {
    let fixture = Fixture::new().await;
    for number in 0..Limits::default().failed_logins_max {
        let request = Request::get("/api/v1/version")
            .extension(PeerAddress(LOOPBACK.parse().expect("an address")))
            .header(header::AUTHORIZATION, WRONG)
            .header("x-forwarded-for", format!("192.0.2.{number}"))
            .header("forwarded", format!("for=192.0.2.{number}"))
            .header("x-real-ip", format!("192.0.2.{number}"));
        fixture.send(request.body(Body::empty()).expect("a request")).await;
    }
    assert_eq!(login(&fixture, LOOPBACK, Some(AUTHORIZATION)).await.status, 429);
    login(&fixture, "192.0.2.1", Some(AUTHORIZATION)).await.ok();
}
