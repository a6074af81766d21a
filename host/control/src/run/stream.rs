//! Streaming changes.

use std::sync::Arc;
use std::time::Duration;

use tarn_model::{Failure, MirrorSpec};
use tarn_replication::{
    Instances as _, RecordPolicy, Run, StreamBounds, StreamParts, StreamSettings, stream,
};

use super::MirrorRun;
use crate::instances::MirrorInstances;

impl MirrorRun {
    /// Streams from the last checkpoint until asked to stop. `loading` are the tables that another task
    /// loads meanwhile.
    pub(super) async fn stream(
        &self,
        instances: &Arc<MirrorInstances>,
        loading: &[String],
        run: Run,
    ) -> Result<(), Failure> {
        let catalog = &self.workshop.catalog;
        let Some(resume) = catalog.resume(self.mirror.id).await? else {
            return Err(Failure::retry("start_missing", "the mirror has no start of its stream"));
        };
        let parts = StreamParts {
            source: instances.source_beside(loading).await?,
            transform: instances.transform().await?,
            destination: instances.destination().await?,
            checkpoints: catalog.checkpoints(self.mirror.id),
        };
        let settings = StreamSettings {
            batch_rows_max: self.mirror.spec.max_batch_size,
            idle_timeout: Duration::from_secs(self.mirror.spec.idle_timeout_seconds),
            records: record_policy(&self.mirror.spec),
            bounds: StreamBounds::default(),
        };
        let stopped = stream(parts, resume, settings, run).await?;
        if let Some(trouble) = stopped.trouble {
            self.watch.warn(format!("met trouble while stopping: {trouble}"));
        }
        Ok(())
    }
}

/// A record that the script cannot take stops the mirror.
pub(super) fn record_policy(spec: &MirrorSpec) -> RecordPolicy {
    RecordPolicy::Stop { script: spec.script.clone() }
}
