//! Dead letters as people see them, and what they do about them.

use tarn_catalog::LetterQuery;
use tarn_model::{DeadLetter, DeadLetterState, Mirror, MirrorState, RecordErrors, ShownRecord};

use crate::config::{LETTER_PAGE_BYTES_MAX, LETTER_PAGE_MAX, REPLAY_LETTERS_MAX};
use crate::hooks::ReplayOutcome;
use crate::records::shown;
use crate::{Control, ControlError};

/// Which letters to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LetterRequest {
    /// The mirror.
    pub mirror: String,
    /// Only those in this state.
    pub state: Option<DeadLetterState>,
    /// Only those after this one.
    pub after_id: i64,
    /// Most letters, 0 for as many as a page has.
    pub limit: u32,
    /// Whether records come along.
    pub with_records: bool,
}

/// A page of letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetterList {
    /// Oldest first.
    pub letters: Vec<ShownLetter>,
    /// How many the mirror has.
    pub errors: RecordErrors,
    /// Whether there may be more after the last one.
    pub has_more: bool,
}

/// A letter, and its record where it was asked for and still waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownLetter {
    /// What is known of it.
    pub letter: DeadLetter,
    /// The record.
    pub record: Option<ShownRecord>,
}

impl Control {
    /// Lists letters of a mirror, dropped ones included, oldest first.
    ///
    /// # Errors
    /// [`ControlError::NotFound`], [`ControlError::Catalog`].
    pub async fn list_dead_letters(&self, request: LetterRequest) -> Result<LetterList, ControlError> {
        let mirror = self.mirror_of(&request.mirror).await?;
        let limit = match request.limit {
            0 => LETTER_PAGE_MAX,
            limit => limit.min(LETTER_PAGE_MAX),
        };
        let query = LetterQuery { state: request.state, after: request.after_id, limit };
        let found = self.catalog().letters(mirror.id, query).await?;
        let mut has_more = found.len() == limit as usize;
        let (mut letters, mut bytes) = (Vec::new(), 0);
        for letter in found {
            let mut record = None;
            if request.with_records && letter.state == DeadLetterState::Waiting {
                if bytes > LETTER_PAGE_BYTES_MAX {
                    has_more = true;
                    break;
                }
                if let Some((_, Some(stored))) = self.catalog().letter(mirror.id, letter.id).await? {
                    bytes += stored.len();
                    record = Some(readable(&stored)?);
                }
            }
            letters.push(ShownLetter { letter, record });
        }
        let errors = self.catalog().record_errors(mirror.id).await?;
        Ok(LetterList { letters, errors, has_more })
    }

    /// A letter of a mirror with its record.
    ///
    /// # Errors
    /// [`ControlError::NotFound`], [`ControlError::Catalog`].
    pub async fn dead_letter(&self, mirror: &str, id: i64) -> Result<ShownLetter, ControlError> {
        let mirror = self.mirror_of(mirror).await?;
        let missing =
            || ControlError::missing("id", format!("mirror {} has no dead letter {id}", mirror.spec.name));
        let (letter, record) = self.catalog().letter(mirror.id, id).await?.ok_or_else(missing)?;
        Ok(ShownLetter { letter, record: record.as_deref().map(readable).transpose()? })
    }

    /// Runs letters through the mirror's scripts and to the destination: these, or without ids the oldest that
    /// wait, at most 500.
    ///
    /// # Errors
    /// [`ControlError::NotFound`]; [`ControlError::FailedPrecondition`] where the mirror is dropped, or its stores
    /// or scripts cannot be used; [`ControlError::Catalog`].
    pub async fn replay_dead_letters(
        &self,
        mirror: &str,
        ids: &[i64],
    ) -> Result<(Vec<ReplayOutcome>, RecordErrors), ControlError> {
        let mirror = self.mirror_of(mirror).await?;
        if matches!(mirror.state, MirrorState::Terminating | MirrorState::Terminated) {
            let message =
                format!("mirror {} is dropped: its dead letters can only be read", mirror.spec.name);
            return Err(ControlError::precondition("flow_job_name", message));
        }
        if !mirror.spec.script.is_empty() {
            self.allow_scripts()?;
        }
        if ids.len() > REPLAY_LETTERS_MAX as usize {
            let message = format!("names more than {REPLAY_LETTERS_MAX} letters");
            return Err(ControlError::invalid("ids", message));
        }
        let replayed = self.parts().replayer.replay(&mirror, ids, REPLAY_LETTERS_MAX).await;
        let outcomes =
            replayed.map_err(|failure| ControlError::precondition("flow_job_name", failure.to_string()))?;
        let count = outcomes.iter().filter(|outcome| outcome.state == DeadLetterState::Replayed).count();
        self.note(
            &mirror.spec.name,
            &format!("replayed {count} dead letters; {} wait on", outcomes.len() - count),
        )
        .await;
        Ok((outcomes, self.catalog().record_errors(mirror.id).await?))
    }

    /// Gives letters up; how many waited. Their records are gone then.
    ///
    /// # Errors
    /// [`ControlError::NotFound`], [`ControlError::InvalidArgument`], [`ControlError::Catalog`].
    pub async fn discard_dead_letters(
        &self,
        mirror: &str,
        ids: &[i64],
        all: bool,
    ) -> Result<(u64, RecordErrors), ControlError> {
        let mirror = self.mirror_of(mirror).await?;
        if ids.is_empty() && !all {
            return Err(ControlError::invalid(
                "ids",
                "is empty; name letters, or set all to give up every one",
            ));
        }
        let book = self.parts().books.of(mirror.id);
        let turn = book.turn_alone().await;
        let gone = if ids.is_empty() {
            self.catalog().void_letters(mirror.id, None, None).await?
        } else {
            self.catalog().settle_letters(mirror.id, ids, DeadLetterState::Discarded).await?
        };
        book.forget(gone.iter().map(|mark| mark.identity.as_str()));
        drop(turn);
        self.note(&mirror.spec.name, &format!("discarded {} dead letters", gone.len())).await;
        Ok((gone.len() as u64, self.catalog().record_errors(mirror.id).await?))
    }

    async fn mirror_of(&self, name: &str) -> Result<Mirror, ControlError> {
        let missing = || ControlError::missing("flow_job_name", format!("there is no mirror {name}"));
        self.catalog().mirror(name).await?.ok_or_else(missing)
    }
}

fn readable(record: &[u8]) -> Result<ShownRecord, ControlError> {
    shown(record)
        .map_err(|error| ControlError::Internal(format!("a dead letter's record cannot be read: {error}")))
}
