//! What every request passes: a deadline, a net under panics, authentication.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::time::timeout;

use crate::auth::Authenticator;
use crate::config::REQUEST_DEADLINE;
use crate::error::{ApiError, Code};

/// Paths that anyone may read: they say whether the server lives, and nothing else.
const OPEN_PATHS: &[&str] = &["/healthz", "/readyz"];

/// Lets requests with the right credentials through.
pub(crate) async fn authenticated(
    State(authenticator): State<Arc<Authenticator>>,
    request: Request,
    next: Next,
) -> Response {
    let header = request.headers().get(header::AUTHORIZATION).map(|value| value.as_bytes());
    if OPEN_PATHS.contains(&request.uri().path()) || authenticator.accepts(header) {
        return next.run(request).await;
    }
    ApiError::new(Code::Unauthenticated, "name and password by HTTP Basic are required").into_response()
}

/// Answers in time, whatever happens behind.
pub(crate) async fn bounded(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let answer = match timeout(REQUEST_DEADLINE, without_panic(next.run(request))).await {
        Ok(Ok(response)) => response,
        Ok(Err(panic)) => {
            tracing::error!(%method, path, panic, "a request ended in a panic");
            let message = "the request failed inside the server; its log says where";
            ApiError::new(Code::Internal, message).into_response()
        }
        Err(_) => {
            let message = format!("the request took longer than {} s", REQUEST_DEADLINE.as_secs());
            ApiError::new(Code::Unavailable, message).into_response()
        }
    };
    tracing::debug!(%method, path, status = answer.status().as_u16(), "answered");
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
