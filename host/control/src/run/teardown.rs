//! Dropping a mirror: nothing of it stays at the source. The destination's tables are the user's.

use tarn_model::{Failure, MirrorState};
use tarn_replication::Instances as _;
use tarn_wasm::SourceInstance;
use tokio::time::timeout;

use super::MirrorRun;
use crate::config::TEARDOWN_DEADLINE;
use crate::instances::MirrorInstances;

impl MirrorRun {
    /// Removes what the mirror made at the source, as far as the source can be reached, and ends it.
    pub(super) async fn tear_down(&self) -> Result<(), Failure> {
        let spec = &self.mirror.spec;
        let removed = timeout(TEARDOWN_DEADLINE, self.try_to_remove()).await;
        let trouble = match removed {
            Ok(Ok(())) => None,
            Ok(Err(failure)) => Some(failure.to_string()),
            Err(_) => Some(format!("no answer within {} s", TEARDOWN_DEADLINE.as_secs())),
        };
        if let Some(trouble) = trouble {
            let mut left = format!("slot {}", spec.slot());
            if spec.publication_managed() {
                left.push_str(&format!(" and publication {}", spec.publication()));
            }
            self.watch.warn(format!(
                "could not remove {left} at peer {}: {trouble}; remove them there",
                spec.source_peer
            ));
        }
        if self.observe(MirrorState::Terminated).await? {
            self.watch.info("dropped; the destination's tables stay");
        }
        Ok(())
    }

    async fn try_to_remove(&self) -> Result<(), Failure> {
        let workshop = &self.workshop;
        // A script plays no part here, and may be gone.
        let spec = tarn_model::MirrorSpec { script: String::new(), ..self.mirror.spec.clone() };
        let instances =
            MirrorInstances::new(&workshop.catalog, &workshop.plugins, &spec, &self.watch).await?;
        let mut source = instances.source().await?;
        self.remove_from_source(&mut source).await
    }

    /// Removes slot and publication.
    ///
    /// # Errors
    /// Passing trouble that names what is left.
    pub(super) async fn remove_from_source(&self, source: &mut SourceInstance) -> Result<(), Failure> {
        let left = source.teardown().await?;
        if left.is_empty() {
            return Ok(());
        }
        let named: Vec<_> =
            left.iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect();
        Err(Failure::retry("teardown_incomplete", named.join("; ")))
    }
}
