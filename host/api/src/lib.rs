//! The HTTP API: routes, JSON shapes, errors and authentication over [`tarn_control::Control`].
//!
//! The edge translates and the middle does not know: what a request looks like is decided here, what it
//! does is decided in `tarn-control`. Invariants: every answer that is not a success has the body
//! `{code, message, details}`; no answer quotes a value that a client sent where a secret could stand;
//! nothing but the health routes is served without credentials.

mod answer;
mod auth;
mod config;
mod error;
mod guard;
mod openapi;
mod operation;
mod request;
mod routes;

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use tarn_control::Control;

pub use auth::{Credentials, password_digest};
pub use openapi::openapi;

/// The API's router, to be served by axum.
pub fn router(control: Control, credentials: &Credentials) -> Router {
    let authenticator = Arc::new(auth::Authenticator::new(credentials));
    routes::all()
        .with_state(control)
        .layer(from_fn_with_state(authenticator, guard::authenticated))
        .layer(from_fn(guard::bounded))
}
