//! The HTTP API: routes, JSON shapes, errors and authentication over [`tarn_control::Control`], and the
//! connections that requests come by.
//!
//! The edge translates and the middle does not know: what a request looks like is decided here, what it
//! does is decided in `tarn-control`. Invariants: every answer that is not a success has the body
//! `{code, message, details}`; no answer quotes a value that a client sent where a secret could stand;
//! nothing but the health routes is served without credentials; whatever a client does, connections, requests,
//! bytes and time have a bound.

mod answer;
mod auth;
mod config;
mod error;
mod guard;
mod listener;
mod openapi;
mod operation;
mod request;
mod routes;

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use tarn_control::Control;

pub use auth::{Credentials, password_digest};
pub use config::Limits;
pub use guard::login::PeerAddress;
pub use listener::{ServerTls, TlsError, serve};
pub use openapi::openapi;

/// The API's router, to be served by [`serve`].
pub fn router(control: Control, credentials: &Credentials, limits: &Limits) -> Router {
    let limits = Arc::new(limits.clone());
    let authenticator = Arc::new(auth::Authenticator::new(credentials));
    let door = guard::login::Door {
        authenticator: Arc::clone(&authenticator),
        throttle: auth::Throttle::new(&limits),
    };
    routes::all()
        .with_state(control)
        // The last is the outermost.
        .layer(from_fn_with_state(Arc::new(guard::admission::Room::new(&limits)), guard::admission::admitted))
        .layer(from_fn_with_state(Arc::new(door), guard::login::authenticated))
        .layer(from_fn_with_state(authenticator, guard::origin::same))
        .layer(from_fn(guard::head::measured))
        .layer(from_fn_with_state(limits, guard::bounded))
}
