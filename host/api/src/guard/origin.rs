//! No page of another origin calls the API, whatever the browser would let it send: it could use the
//! credentials that the browser keeps, or, on a server without a password, none.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::auth::Authenticator;
use crate::error::{ApiError, Code};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Lets requests through that no page sent, or one that this server served.
pub(crate) async fn same(
    State(authenticator): State<Arc<Authenticator>>,
    request: Request,
    next: Next,
) -> Response {
    let refused = |message: &str| ApiError::new(Code::PermissionDenied, message).into_response();
    if is_foreign(&request) {
        return refused("pages of other origins may not call the API");
    }
    // A name that somebody else owns may be made to lead here. Where a password is asked for, that page does
    // not have it.
    if authenticator.is_open() && !host(&request).is_none_or(is_loopback) {
        return refused("without a password the server answers to loopback addresses and to localhost only");
    }
    next.run(request).await
}

/// Whether the browser says so, or the page's origin. The latter says less: a page that came without TLS from the
/// name that the API has with TLS is of another origin, and looks the same but for a scheme that a proxy may have
/// changed on the way.
fn is_foreign(request: &Request) -> bool {
    let headers = request.headers();
    if matches!(text(headers, &SEC_FETCH_SITE), Some("cross-site" | "same-site")) {
        return true;
    }
    headers.get(header::ORIGIN).is_some_and(|origin| {
        let of_page = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        of_page.is_none_or(|(_, authority)| host(request) != Some(authority))
    })
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Host and port that the request is for, as the client wrote them.
fn host(request: &Request) -> Option<&str> {
    text(request.headers(), &header::HOST).or_else(|| request.uri().authority().map(|host| host.as_str()))
}

fn is_loopback(host: &str) -> bool {
    let Ok(uri) = format!("http://{host}").parse::<Uri>() else { return false };
    let Some(name) = uri.host() else { return false };
    name.eq_ignore_ascii_case("localhost")
        || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
