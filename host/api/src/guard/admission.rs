//! How much is under way at the same time.

use std::sync::Arc;

use axum::body::HttpBody as _;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::is_open;
use crate::config::{Limits, RETRY_WHEN_BUSY_SECONDS};
use crate::error::{ApiError, Code};
use crate::request::body_bytes_max;

/// Places for requests, and room for their bodies.
pub(crate) struct Room {
    requests: Arc<Semaphore>,
    /// In KiB, because a semaphore counts to 32 bits at a time.
    bodies: Arc<Semaphore>,
    limits: Arc<Limits>,
}

impl Room {
    pub(crate) fn new(limits: &Arc<Limits>) -> Self {
        Self {
            requests: Arc::new(Semaphore::new(limits.requests_max)),
            bodies: Arc::new(Semaphore::new(limits.bodies_bytes_max / 1024)),
            limits: Arc::clone(limits),
        }
    }

    /// A place for a request and room for its body, until both are dropped; a body whose length is not
    /// announced counts as the largest that its path takes.
    fn take(&self, request: &Request) -> Option<[OwnedSemaphorePermit; 2]> {
        let place = Arc::clone(&self.requests).try_acquire_owned().ok()?;
        let bytes_max = body_bytes_max(request.uri().path()) as u64;
        let bytes = request.body().size_hint().upper().unwrap_or(bytes_max).min(bytes_max);
        let kib = u32::try_from(bytes.div_ceil(1024)).ok()?;
        let room = Arc::clone(&self.bodies).try_acquire_many_owned(kib).ok()?;
        Some([place, room])
    }
}

/// Lets requests through while there are places; the others are told to come back. A health check is answered
/// also then.
pub(crate) async fn admitted(State(room): State<Arc<Room>>, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(Arc::clone(&room.limits));
    if is_open(&request) {
        return next.run(request).await;
    }
    let Some(_taken) = room.take(&request) else {
        let message = "the server has as many requests under way as it takes; try again";
        let refusal = ApiError::new(Code::Unavailable, message).with_retry_after(RETRY_WHEN_BUSY_SECONDS);
        return refusal.into_response();
    };
    next.run(request).await
}
