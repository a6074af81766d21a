//! Who may come in.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::time::Instant;

use super::is_open;
use crate::auth::{self, Authenticator, Throttle};
use crate::error::{ApiError, Code};

/// The address of the TCP connection that a request came by, as the socket says. What headers say about
/// addresses is not looked at: anyone can write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddress(pub IpAddr);

/// The name that a request was let in with; empty where the login has none, or everyone is let in.
#[derive(Clone, Debug)]
pub(crate) struct Login(pub(crate) String);

/// Requests that came by no socket share one address.
const NO_SOCKET: PeerAddress = PeerAddress(IpAddr::V4(Ipv4Addr::UNSPECIFIED));

/// What a login is judged by.
pub(crate) struct Door {
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) throttle: Throttle,
}

/// Lets requests with the right credentials through, and those for the health routes.
pub(crate) async fn authenticated(
    State(door): State<Arc<Door>>,
    mut request: Request,
    next: Next,
) -> Response {
    if is_open(&request) {
        return next.run(request).await;
    }
    match door.judge(&request) {
        Ok(login) => {
            request.extensions_mut().insert(login);
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

impl Door {
    /// Showing nothing is no try: clients do it to learn what is asked for.
    fn judge(&self, request: &Request) -> Result<Login, ApiError> {
        let header = request.headers().get(header::AUTHORIZATION).map(|value| value.as_bytes());
        let PeerAddress(address) = request.extensions().get().copied().unwrap_or(NO_SOCKET);
        if header.is_some() {
            let waiting = self.throttle.admit(address, Instant::now());
            waiting.map_err(|wait| {
                let seconds = wait.seconds();
                let message = format!("too many failed logins from this address; try again in {seconds} s");
                ApiError::new(Code::ResourceExhausted, message).with_retry_after(seconds)
            })?;
        }
        if self.authenticator.accepts(header) {
            // Where everyone is let in, a name is only said.
            let user = if self.authenticator.is_open() { String::new() } else { auth::user(header) };
            return Ok(Login(user));
        }
        if header.is_some() && self.throttle.note_failure(address, Instant::now()) {
            tracing::warn!(%address, "too many failed logins from an address: it has to wait");
        }
        Err(ApiError::new(Code::Unauthenticated, "name and password by HTTP Basic are required"))
    }
}
