//! The source's log that a load leads to, while nobody reads it yet.

use tarn_model::{Failure, FailureClass};
use tarn_replication::{Instances as _, Source as _};

use super::MirrorRun;
use crate::instances::MirrorInstances;

impl MirrorRun {
    /// Waits until the source says that it cannot serve the stream that is to follow the load.
    ///
    /// The looks at slots tell when to ask, and the source decides, as it would at the load's end: a look may be of the time
    /// before a resync, or of another server while a failover is under way. A source that does not answer, or refuses the
    /// stream for another reason, leaves the load alone: that may have passed until the load ends.
    pub(super) async fn slot_lost(&self, instances: &MirrorInstances) -> Failure {
        if self.mirror.spec.initial_snapshot_only {
            // What it loads is all that it is for.
            return std::future::pending().await;
        }
        let mut looks = self.workshop.slot_healths.looks(self.mirror.id);
        loop {
            looks.find_gone().await;
            match self.try_stream(instances).await {
                Err(failure) if failure.class == FailureClass::PositionLost => return failure,
                Err(failure) => tracing::debug!(%failure, "a source does not say whether a slot is lost"),
                Ok(()) => {}
            }
        }
    }

    /// Opens the stream where it is to begin, and reads nothing of it.
    async fn try_stream(&self, instances: &MirrorInstances) -> Result<(), Failure> {
        let start = self.resume().await?.position;
        instances.source().await?.open(&start).await
    }
}
