//! Where a run gets its source, transform and destination from.

use std::future::Future;

use tarn_model::Failure;

use crate::batch::Batch;
use crate::destination::Destination;
use crate::source::SnapshotSource;
use crate::transform::{Transform, Transformed};

/// Makes configured instances. Each worker of a snapshot has its own; one that failed is replaced by
/// a new one.
pub trait Instances: Send + Sync + 'static {
    /// What workers read with.
    type Source: SnapshotSource;
    /// What they transform with.
    type Transform: Transform;
    /// What they write with.
    type Destination: Destination;

    /// A configured source.
    fn source(&self) -> impl Future<Output = Result<Self::Source, Failure>> + Send;
    /// A transform ready to apply; `None` when the mirror has no script.
    fn transform(&self) -> impl Future<Output = Result<Option<Self::Transform>, Failure>> + Send;
    /// A configured destination whose tables exist.
    fn destination(&self) -> impl Future<Output = Result<Self::Destination, Failure>> + Send;
}

/// The transform of a mirror without script. It has no values.
pub enum NoTransform {}

impl Transform for NoTransform {
    async fn apply(&mut self, _batch: Batch) -> Result<Transformed, Failure> {
        match *self {}
    }
}
