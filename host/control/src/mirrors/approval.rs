//! Changes of columns that a mirror stopped at, and approving or refusing them.

use tarn_catalog::MirrorMove;
use tarn_model::{DesiredState, Mirror, MirrorEdit, MirrorState, SchemaChange, TablePlan};

use super::change::{ChangeOutcome, StateChange};
use crate::described::told_name;
use crate::schema_gate::WAITS;
use crate::{Control, ControlError};

/// What came of an approval, or a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The change.
    pub change: SchemaChange,
    /// Changes of the mirror that wait still.
    pub waiting: u64,
    /// Whether the mirror goes on.
    pub resumed: bool,
}

impl Control {
    /// The changes of columns that wait, or are approved and not made yet.
    ///
    /// # Errors
    /// [`ControlError::NotFound`], [`ControlError::Catalog`].
    pub async fn schema_changes(&self, mirror: &str) -> Result<Vec<SchemaChange>, ControlError> {
        let mirror = self.changing_mirror(mirror).await?;
        Ok(self.catalog().schema_changes(mirror.id).await?)
    }

    /// Approves the change of a digest. A mirror that failed because of it goes on once no other one waits. Repeatable
    /// until the change is made.
    ///
    /// # Errors
    /// [`ControlError::NotFound`]; [`ControlError::FailedPrecondition`] where it does not wait at such a change;
    /// [`ControlError::Catalog`].
    pub async fn approve_schema_change(&self, mirror: &str, digest: &str) -> Result<Approval, ControlError> {
        let Mirror { id, .. } = self.changing_mirror(mirror).await?;
        let known = self.catalog().schema_changes(id).await?;
        let is_first = known.iter().any(|change| change.digest == digest && !change.approved);
        if !self.catalog().approve_schema_change(id, digest).await? {
            return Err(unknown_change(mirror, digest));
        }
        let changes = self.catalog().schema_changes(id).await?;
        let waiting = changes.iter().filter(|change| !change.approved).count() as u64;
        let gone = || ControlError::precondition("digest", format!("the change {digest} was made meanwhile"));
        let change = changes.into_iter().find(|change| change.digest == digest).ok_or_else(gone)?;
        self.note(mirror, &format!("the change {digest} of {} was approved", change.plan.table)).await;
        let resumed = waiting == 0 && self.resume_waiting(mirror, is_first).await?;
        Ok(Approval { change, waiting, resumed })
    }

    /// Refuses the change of a digest: columns that are new are left out of the mirror from here on, and those that were
    /// renamed keep their names at the destination. It is an edit, so that a mirror that failed goes on.
    ///
    /// # Errors
    /// [`ControlError::NotFound`]; [`ControlError::FailedPrecondition`] where it does not wait at such a change, where
    /// rows would have values without a place, and where the edit is refused; [`ControlError::Catalog`].
    pub async fn refuse_schema_change(&self, mirror: &str, digest: &str) -> Result<Approval, ControlError> {
        let Mirror { id, spec, .. } = self.changing_mirror(mirror).await?;
        let changes = self.catalog().schema_changes(id).await?;
        let Some(change) = changes.into_iter().find(|change| change.digest == digest) else {
            return Err(unknown_change(mirror, digest));
        };
        let TablePlan { table, .. } = &change.plan;
        let Some(mapping) = spec.tables.iter().find(|mapping| told_name(&mapping.source) == *table) else {
            return Err(ControlError::precondition(
                "digest",
                format!("{table} is not in the mirror any more"),
            ));
        };
        let refusing = change.plan.refused_by(mapping).map_err(|step| {
            let message = format!(
                "rows of {table} have values that the destination would have no place for without {step}: approve the \
                 change, or leave the column out by `tarn mirror edit {mirror} --exclude {table}:…`"
            );
            ControlError::precondition("digest", message)
        })?;
        let edit = MirrorEdit { changed_tables: vec![refusing], ..MirrorEdit::default() };
        let edit = StateChange { mirror: mirror.to_owned(), edit: Some(edit), ..StateChange::default() };
        if let ChangeOutcome::Refused(message) = self.change_state(edit).await? {
            return Err(ControlError::precondition("flow_job_name", message));
        }
        self.catalog().forget_schema_change(id, table).await?;
        self.note(mirror, &format!("the change {digest} of {table} was refused")).await;
        let waiting =
            self.catalog().schema_changes(id).await?.iter().filter(|change| !change.approved).count();
        Ok(Approval { change, waiting: waiting as u64, resumed: true })
    }

    /// Lets a mirror go on that failed because a change waited. Where the change was approved for the first time and the
    /// run is not known to have failed, it may be about to: it came to the change before. A run is asked for anew then,
    /// which makes the failure of this one void.
    async fn resume_waiting(&self, name: &str, is_first: bool) -> Result<bool, ControlError> {
        let mirror = self.changing_mirror(name).await?;
        let waits = mirror.failure.is_some_and(|failure| failure.code == WAITS);
        if mirror.state == MirrorState::Failed && waits {
            let requested = Some(MirrorState::Running);
            let change = StateChange { mirror: name.to_owned(), requested, ..StateChange::default() };
            return Ok(self.change_state(change).await? == ChangeOutcome::Done);
        }
        if !is_first {
            return Ok(false);
        }
        let again = |mirror: &Mirror| {
            let Mirror { desired, state, .. } = *mirror;
            let is_at_work = desired == DesiredState::Running
                && !matches!(state, MirrorState::Failed | MirrorState::Completed);
            let step = MirrorMove { desired, state, edit: None, drop_options: None };
            if is_at_work { Ok(step) } else { Err(state) }
        };
        match self.catalog().request(name, again).await? {
            Some(Ok(_)) => {
                self.wake();
                Ok(true)
            }
            // It failed in between.
            Some(Err(MirrorState::Failed)) => Box::pin(self.resume_waiting(name, false)).await,
            Some(Err(_)) | None => Ok(false),
        }
    }

    async fn changing_mirror(&self, name: &str) -> Result<Mirror, ControlError> {
        let missing = || ControlError::missing("flow_job_name", format!("there is no mirror {name}"));
        self.catalog().mirror(name).await?.ok_or_else(missing)
    }
}

fn unknown_change(mirror: &str, digest: &str) -> ControlError {
    let message = format!("mirror {mirror} waits at no change {digest}; another one may have come");
    ControlError::precondition("digest", message)
}
