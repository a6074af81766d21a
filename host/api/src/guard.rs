//! What every request passes before its route sees it, from the outside in:
//!
//! 1. [`bounded`]: a deadline, a net under panics, and the headers that protect browsers;
//! 2. [`head::measured`]: limits on the head;
//! 3. [`origin::same`]: no page of another origin;
//! 4. [`login::authenticated`]: name and password, and a limit on wrong ones;
//! 5. [`admission::admitted`]: a limit on what is under way.

pub(crate) mod admission;
pub(crate) mod head;
pub(crate) mod login;
pub(crate) mod origin;

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::time::timeout;

use crate::config::Limits;
use crate::error::{ApiError, Cause, Code};

/// Paths that anyone may read: they say whether the server lives, and nothing else.
const OPEN_PATHS: &[&str] = &["/healthz", "/readyz"];

/// Whether a request is for one of the health routes.
fn is_open(request: &Request) -> bool {
    OPEN_PATHS.contains(&request.uri().path())
}

/// What an answer tells a browser, unless its route says otherwise: not to guess what it is, not to keep it,
/// not to show it within another page, not to run or load anything for it, not to name it to others. There is
/// no header that opens the API to pages of other origins, and none that asks for HTTPS from now on: that
/// would also hold for whatever else is served under the name.
const PROTECTION: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::REFERRER_POLICY, "no-referrer"),
];

/// Answers in time, whatever happens behind.
pub(crate) async fn bounded(State(limits): State<Arc<Limits>>, request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let deadline = limits.request_deadline;
    let mut answer = match timeout(deadline, without_panic(next.run(request))).await {
        Ok(Ok(response)) => response,
        Ok(Err(panic)) => {
            let message = "the request failed inside the server; its log says where";
            ApiError::new(Code::Internal, message).with_cause(format!("it panicked: {panic}")).into_response()
        }
        Err(_) => {
            let message = format!("the request took longer than {} s", deadline.as_secs_f32());
            ApiError::new(Code::Unavailable, message).into_response()
        }
    };
    for (name, value) in PROTECTION {
        answer.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    let status = answer.status().as_u16();
    match answer.extensions_mut().remove() {
        Some(Cause(cause)) => tracing::error!(%method, path, status, cause, "a request failed"),
        None => tracing::debug!(%method, path, status, "answered"),
    }
    answer
}

/// Awaits a future; a panic in it becomes the panic's text. What the future holds is dropped with it.
async fn without_panic<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    poll_fn(move |context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(panic) => Poll::Ready(Err(text_of(panic.as_ref()))),
    })
    .await
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_its_text_and_other_outcomes_pass() {
        assert_eq!(without_panic(async { 5 }).await, Ok(5));
        let panic = without_panic(async {
            tokio::task::yield_now().await;
            panic!("found by number {}", 3)
        });
        assert_eq!(panic.await, Err::<(), _>("found by number 3".to_owned()));
    }
}
