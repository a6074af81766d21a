//! The API's limits, each with its reason.

use std::time::Duration;

/// Largest body of a request: a script that is a component, in base64, within JSON.
pub(crate) const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Longest time a request may take, its body included: creating a mirror looks at two stores, each
/// within half a minute. Clients give up after a minute.
pub(crate) const REQUEST_DEADLINE: Duration = Duration::from_secs(60);

/// After how many seconds a client should try again when the catalog is away.
pub(crate) const RETRY_AFTER_SECONDS: u32 = 5;
