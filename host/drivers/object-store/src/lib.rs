//! A bucket of S3, of AWS or of a service that speaks like it.
//!
//! Objects are small enough to be held whole: one request puts, gets, lists or deletes. Requests, signatures and
//! retries with growing random pauses are the library's; connections are the transport crate's, so that TLS and
//! deadlines are those of every store.
//!
//! Not here: what objects mean, and in which order they are used. Invariants: a put that returned is durable; every
//! call ends at a deadline; no error holds a credential, nor the answer of the service beyond its code and message.

mod bucket;
mod config;
mod error;
mod http;
mod settings;

pub use bucket::{Bucket, Object};
pub use error::{Error, Refusal};
pub use settings::BucketSettings;
