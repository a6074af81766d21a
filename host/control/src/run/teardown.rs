//! Dropping a mirror: nothing of it stays at the source. The destination's tables are the user's.

use tarn_model::{Failure, MirrorState};
use tarn_replication::Instances as _;
use tarn_wasm::SourceInstance;
use tokio::time::{Instant, sleep, timeout_at};

use super::{MirrorRun, Workshop};
use crate::config::{TEARDOWN_ATTEMPTS_MAX, TEARDOWN_DEADLINE, TEARDOWN_PAUSE};
use crate::instances::MirrorInstances;

impl MirrorRun {
    /// Removes what the mirror made at the source, as far as the source can be reached, and ends it.
    pub(super) async fn tear_down(&self) -> Result<(), Failure> {
        let spec = &self.mirror.spec;
        if let Some(trouble) = self.remove().await {
            let mut left = format!("slot {}", spec.slot());
            if spec.publication_managed() {
                left.push_str(&format!(" and publication {}", spec.publication()));
            }
            self.watch.warn(format!(
                "could not remove {left} at peer {}: {trouble}; remove them there",
                spec.source_peer
            ));
        }
        self.remove_beside().await;
        self.forget_stage().await?;
        self.workshop.progress.forget(self.mirror.id);
        self.workshop.latencies.forget(self.mirror.id);
        self.workshop.retries.forget(self.mirror.id);
        self.workshop.recent.forget(self.mirror.id);
        if self.observe(MirrorState::Terminated).await? {
            self.watch.info("dropped; the destination's tables stay");
        }
        Ok(())
    }

    /// Gives up what waits for the destination. What cannot be removed from where it was counts for nothing any more,
    /// and is removed later.
    pub(super) async fn forget_stage(&self) -> Result<(), Failure> {
        let Workshop { stages, catalog, .. } = &self.workshop;
        let left = stages.forget(catalog, self.mirror.id, &self.mirror.spec.destination_peer).await?;
        if let Some(failure) = left {
            self.watch.warn(format!(
                "what waited for the destination is given up, and could not be removed yet: {failure}"
            ));
        }
        Ok(())
    }

    /// Removes slot and publication, in several attempts: a restart of the source must not leave a slot
    /// behind. Returns what was in the way of the last one.
    async fn remove(&self) -> Option<String> {
        let deadline = Instant::now() + TEARDOWN_DEADLINE;
        let mut trouble = None;
        for attempt in 1..=TEARDOWN_ATTEMPTS_MAX {
            match timeout_at(deadline, self.try_to_remove()).await {
                Ok(Ok(())) => return None,
                Ok(Err(failure)) => trouble = Some(failure.to_string()),
                Err(_) => {
                    return trouble
                        .or_else(|| Some(format!("no answer within {} s", TEARDOWN_DEADLINE.as_secs())));
                }
            }
            if attempt < TEARDOWN_ATTEMPTS_MAX {
                sleep(TEARDOWN_PAUSE).await;
            }
        }
        trouble
    }

    async fn try_to_remove(&self) -> Result<(), Failure> {
        let instances = self.instances_without_scripts().await?;
        self.take_back(&instances).await
    }

    /// Instances of source and destination only.
    pub(super) async fn instances_without_scripts(&self) -> Result<MirrorInstances, Failure> {
        let workshop = &self.workshop;
        // A script plays no part here, and may be gone.
        let spec = tarn_model::MirrorSpec { script: String::new(), ..self.mirror.spec.clone() };
        let (catalog, plugins) = (&workshop.catalog, &workshop.plugins);
        MirrorInstances::new(catalog, plugins, self.mirror.id, &spec, &self.watch, self.sieve(&spec)).await
    }

    /// Removes slot and publication of a mirror that only loads.
    pub(super) async fn take_back(&self, instances: &MirrorInstances) -> Result<(), Failure> {
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
