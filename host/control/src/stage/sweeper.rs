//! Removes what is nobody's from the places of stages.
//!
//! A put that was given up may end late, a delete may fail, and a mirror may be dropped while its bucket is away. What
//! such things leave is never read, but takes room. An entry is nobody's if its name has an earlier life than the
//! mirror's latest, and the catalog does not know it: only the latest life can still add to the catalog. No clock is
//! asked, and no other name is touched.

use std::collections::HashSet;

use tarn_catalog::Catalog;
use tarn_model::Failure;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{Place, Stages, folder, life_in};
use crate::config::STAGE_SWEEP_INTERVAL;
use crate::control::Control;

/// Sweeps now and then.
pub struct StageSweeper {
    catalog: Catalog,
    stages: Stages,
}

impl StageSweeper {
    /// Over the stages of `control`.
    pub fn new(control: &Control) -> Self {
        Self::over(control.catalog(), &control.parts().stages)
    }

    pub(super) fn over(catalog: &Catalog, stages: &Stages) -> Self {
        Self { catalog: catalog.clone(), stages: stages.clone() }
    }

    /// Sweeps until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        let sweeps = async {
            loop {
                self.sweep().await;
                sleep(STAGE_SWEEP_INTERVAL).await;
            }
        };
        // What is removed was nobody's, and the rest is removed the next time.
        stop.run_until_cancelled(sweeps).await;
    }

    pub(super) async fn sweep(&self) {
        let places = match self.stages.all_places(&self.catalog).await {
            Ok(places) => places,
            Err(failure) => {
                tracing::warn!(%failure, "the places of stages are not known");
                return;
            }
        };
        for place in places {
            match self.sweep_place(&place).await {
                Ok(0) => {}
                Ok(removed) => {
                    tracing::info!(place = place.id(), removed, "removed what was left of earlier lives");
                }
                Err(failure) => tracing::info!(%failure, "a place of stages could not be swept"),
            }
        }
    }

    async fn sweep_place(&self, place: &Place) -> Result<usize, Failure> {
        let mut removed = 0;
        for folder in place.mirrors().await? {
            let Ok(mirror) = folder.parse::<i64>() else { continue };
            let there = place.list(&folder).await?;
            // Read after the listing: what was added in between is known by now.
            let (latest, known) = self.catalog.stage_names(mirror).await?;
            let known: HashSet<_> = known.into_iter().collect();
            let rubbish: Vec<_> = there
                .into_iter()
                .map(|(name, _)| name)
                .filter(|name| {
                    let whole = folder::whole_name(name);
                    life_in(whole).is_some_and(|life| life < latest) && !known.contains(whole)
                })
                .collect();
            removed += rubbish.len();
            place.delete(&folder, rubbish).await?;
        }
        Ok(removed)
    }
}
