//! Every verification under way, and whose turn it is.

use std::collections::HashMap;

use tarn_catalog::CatalogError;
use tarn_model::Verification;
use tokio::sync::watch;
use tokio::task::{Id, JoinSet};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::run::verify;
use crate::config::{VERIFICATIONS_AT_ONCE, VERIFIER_LOOK_INTERVAL};
use crate::control::Control;
use crate::journal::Journal;
use crate::plugins::Plugins;
use crate::run::Workshop;

/// Runs the verifications of this process.
pub struct Verifier {
    workshop: Workshop,
    /// Changes whenever a request was stored.
    wake: watch::Receiver<u64>,
    runs: JoinSet<()>,
    running: HashMap<i64, Id>,
}

impl Verifier {
    /// A verifier over the mirrors of `control`. Nothing runs yet.
    pub fn new(control: &Control, plugins: Plugins, journal: Journal) -> Self {
        let workshop = Workshop::new(control, plugins, journal);
        Self { workshop, wake: control.changes(), runs: JoinSet::new(), running: HashMap::new() }
    }

    /// Verifies until `stop`. What is under way then goes on after the next start.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            if let Err(error) = self.look().await {
                tracing::warn!(error = error.chain(), "the verifications could not be read");
            }
            tokio::select! {
                () = stop.cancelled() => break,
                changed = self.wake.changed() => {
                    if changed.is_err() {
                        break;
                    }
                }
                Some(ended) = self.runs.join_next_with_id() => {
                    let task = match &ended {
                        Ok((task, ())) => *task,
                        Err(fault) => fault.id(),
                    };
                    self.running.retain(|_, running| *running != task);
                    if let Err(fault) = ended {
                        tracing::error!(%fault, "a verification ended by a fault, and goes on");
                    }
                }
                () = sleep(VERIFIER_LOOK_INTERVAL) => {}
            }
        }
        self.runs.shutdown().await;
    }

    /// Begins what has its turn.
    async fn look(&mut self) -> Result<(), CatalogError> {
        for verification in self.workshop.catalog.verifications_under_way().await? {
            if self.running.len() >= VERIFICATIONS_AT_ONCE {
                break;
            }
            if !self.running.contains_key(&verification.id) {
                self.start(verification);
            }
        }
        Ok(())
    }

    fn start(&mut self, verification: Verification) {
        let id = verification.id;
        let task = self.runs.spawn(verify(self.workshop.clone(), verification)).id();
        self.running.insert(id, task);
    }
}
