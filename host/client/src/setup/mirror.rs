//! A mirror of a setup.

use serde_json::Value;
use tarn_json::from_value_strictly;
use tarn_model::MirrorSpec;

use super::within;
use crate::reference::Resolver;

/// The mirror that a file holds with the defaults filled in, or none and a problem.
pub(super) fn read(value: &Value, at: &str, resolver: &mut Resolver<'_>) -> Option<MirrorSpec> {
    let resolved = resolver.resolved(at, value);
    match from_value_strictly::<MirrorSpec>(&resolved) {
        Ok(mut spec) => {
            spec.fill_defaults();
            Some(spec)
        }
        Err(error) => {
            resolver.problem(within(at, &error));
            None
        }
    }
}
