//! Scripts of one instance each, one after another.

use tarn_model::Failure;
use tarn_replication::{Batch, Transform, Transformed};

use super::link::Link;
use super::sharing::{Applied, places};

/// See the module's documentation.
pub(crate) struct Series<T> {
    links: Vec<Link<T>>,
}

impl<T: Transform> Series<T> {
    /// A series of at least one script.
    pub(crate) fn new(links: Vec<Link<T>>) -> Self {
        Self { links }
    }

    /// The script, where there is but one.
    pub(super) fn only(&mut self) -> Option<&mut Link<T>> {
        match &mut self.links[..] {
            [link] => Some(link),
            _ => None,
        }
    }

    /// The name of the last script.
    pub(super) fn last_name(&self) -> String {
        self.links.last().map(|link| link.name.clone()).unwrap_or_default()
    }

    /// What the scripts make of rows whose ordinals are places.
    pub(super) async fn run(&mut self, share: Batch) -> Result<Applied, Failure> {
        let mut applied = Applied { batch: share, dropped: 0, rejected: Vec::new() };
        for link in &mut self.links {
            if applied.batch.rows == 0 {
                break;
            }
            let given = applied.batch.clone();
            let Transformed { batch, dropped, mut rejected } = link.apply(applied.batch).await?;
            if !rejected.is_empty() {
                let places = places(&given)?;
                for rejection in &mut rejected {
                    let place = usize::try_from(rejection.row).ok().and_then(|row| places.get(row));
                    rejection.row = *place.ok_or_else(|| misnumbered(&link.name))?;
                }
            }
            applied.batch = batch;
            applied.dropped = applied.dropped.saturating_add(dropped);
            applied.rejected.append(&mut rejected);
        }
        Ok(applied)
    }
}

/// The failure of a script that does not hand rows on as it should.
pub(super) fn misnumbered(script: &str) -> Failure {
    Failure::permanent(
        "script_version_changed",
        format!("script {script} changed the versions or the order of rows, which belong to the source"),
    )
    .with_hint("hand rows on with the version that they came with, in their order")
}
