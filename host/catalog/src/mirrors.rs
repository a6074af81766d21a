//! Mirrors and their two states. What moves a state is a compare-and-set: requests compare state and
//! epoch, runs compare the epoch they began with.

use sqlx::any::AnyRow;
use sqlx::{Any, Transaction};
use tarn_model::{
    DesiredState, DropOptions, Enumerated as _, Failure, Mirror, MirrorSpec, MirrorState, PendingEdit,
    ScriptChain, Timestamp,
};

use crate::config::COMPARE_AND_SET_ATTEMPTS_MAX;
use crate::database::{integer, next, now, optional_text, text, unsigned};
use crate::{Catalog, CatalogError};

/// What creating a mirror did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MirrorCreated {
    /// It is stored, in state SETUP.
    Done(i64),
    /// A mirror of the name that is not TERMINATED is in the way.
    Exists(MirrorState),
    /// A peer or script went away meanwhile: the field that named it.
    Gone(&'static str),
    /// The slot is that of the named mirror, which is not TERMINATED.
    SlotTaken(String),
}

/// The mirrors, and what could not be understood of them: one that is damaged, or was written by a later
/// version, is no trouble of the others.
#[derive(Debug, Default)]
pub struct MirrorList {
    /// By id.
    pub mirrors: Vec<Mirror>,
    /// The id and what is wrong with its row.
    pub unreadable: Vec<(i64, CatalogError)>,
}

/// A move that a person's request makes: what to store if the mirror is still as it was seen.
#[derive(Clone, Debug)]
pub struct MirrorMove {
    /// The new desired state.
    pub desired: DesiredState,
    /// The new observed state.
    pub state: MirrorState,
    /// Changed specification, with what the run has to do about it.
    pub edit: Option<(MirrorSpec, PendingEdit)>,
    /// How to drop, where the move drops.
    pub drop_options: Option<DropOptions>,
}

/// What reporting a state did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// It is stored.
    Stored,
    /// A later request took the mirror elsewhere, or the move is not one a run may make: the run
    /// stops and looks at the mirror again.
    Superseded,
}

/// A query of the columns that `mirror` reads.
macro_rules! select_mirrors {
    ($rest:literal) => {
        concat!(
            "SELECT id, spec, desired, state, resume_at, epoch, failure, edit, drop_options, created_us, \
             rows_synced FROM mirrors ",
            $rest
        )
    };
}

impl Catalog {
    /// Stores a new mirror in state SETUP. What is left of a TERMINATED one of the name goes; its log
    /// stays.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn create_mirror(&self, spec: &MirrorSpec) -> Result<MirrorCreated, CatalogError> {
        let failed = || CatalogError::query("creation of a mirror");
        let mut transaction = self.database().begin().await?;
        if let Some(gone) = hold_what_it_uses(&mut transaction, spec).await? {
            return Ok(MirrorCreated::Gone(gone));
        }
        if let Some(other) = slot_user(&mut transaction, spec).await? {
            return Ok(MirrorCreated::SlotTaken(other));
        }
        sqlx::query("DELETE FROM mirrors WHERE name = $1 AND state = 'STATUS_TERMINATED'")
            .bind(&spec.name)
            .execute(&mut *transaction)
            .await
            .map_err(failed())?;
        let id = next(&mut transaction, "mirrors", 1).await?;
        let done = sqlx::query(
            "INSERT INTO mirrors (id, name, source_peer, destination_peer, script, spec, desired, state,
                 resume_at, epoch, drop_options, generation, rows_synced, created_us, updated_us)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, 1, $9, 0, 0, $10, $10)
             ON CONFLICT (name) DO NOTHING",
        )
        .bind(id)
        .bind(&spec.name)
        .bind(&spec.source_peer)
        .bind(&spec.destination_peer)
        .bind(script_names(spec))
        .bind(json(spec)?)
        .bind(desired_name(DesiredState::Running))
        .bind(MirrorState::Setup.name())
        .bind(json(&DropOptions::default())?)
        .bind(now().micros())
        .execute(&mut *transaction)
        .await
        .map_err(failed())?;
        if done.rows_affected() == 0 {
            drop(transaction);
            let state = self.mirror(&spec.name).await?.map_or(MirrorState::Unknown, |mirror| mirror.state);
            return Ok(MirrorCreated::Exists(state));
        }
        transaction.commit().await.map_err(failed())?;
        Ok(MirrorCreated::Done(id))
    }

    /// A mirror by name, also a TERMINATED one.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn mirror(&self, name: &str) -> Result<Option<Mirror>, CatalogError> {
        let row = sqlx::query(select_mirrors!("WHERE name = $1"))
            .bind(name)
            .fetch_optional(self.database().reader())
            .await
            .map_err(CatalogError::query("mirror"))?;
        row.map(|row| mirror(&row)).transpose()
    }

    /// A mirror by id.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn mirror_by_id(&self, id: i64) -> Result<Option<Mirror>, CatalogError> {
        let row = sqlx::query(select_mirrors!("WHERE id = $1"))
            .bind(id)
            .fetch_optional(self.database().reader())
            .await
            .map_err(CatalogError::query("mirror"))?;
        row.map(|row| mirror(&row)).transpose()
    }

    /// Every mirror that is not TERMINATED.
    ///
    /// # Errors
    /// [`CatalogError`] when they could not be read at all.
    pub async fn mirrors(&self) -> Result<MirrorList, CatalogError> {
        let rows = sqlx::query(select_mirrors!("WHERE state <> 'STATUS_TERMINATED' ORDER BY id"))
            .fetch_all(self.database().reader())
            .await
            .map_err(CatalogError::query("mirror list"))?;
        let mut list = MirrorList::default();
        for row in &rows {
            match mirror(row) {
                Ok(mirror) => list.mirrors.push(mirror),
                Err(error) => list.unreadable.push((integer(row, 0)?, error)),
            }
        }
        Ok(list)
    }

    /// Decides on a request and stores its move, against all others at the same time: `decide` sees the
    /// mirror and returns the move to make, or its own answer when there is none to make. It is called
    /// again when another request came first. `None` when there is no such mirror.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn request<A>(
        &self,
        name: &str,
        mut decide: impl FnMut(&Mirror) -> Result<MirrorMove, A>,
    ) -> Result<Option<Result<Mirror, A>>, CatalogError> {
        for _ in 0..COMPARE_AND_SET_ATTEMPTS_MAX {
            let Some(seen) = self.mirror(name).await? else { return Ok(None) };
            let step = match decide(&seen) {
                Ok(step) => step,
                Err(answer) => return Ok(Some(Err(answer))),
            };
            if let Some(moved) = self.make_move(&seen, step).await? {
                return Ok(Some(Ok(moved)));
            }
        }
        Err(CatalogError::Contention)
    }

    async fn make_move(&self, seen: &Mirror, step: MirrorMove) -> Result<Option<Mirror>, CatalogError> {
        let failed = || CatalogError::query("change of a mirror");
        let mut moved = Mirror {
            desired: step.desired,
            state: step.state,
            epoch: seen.epoch + 1,
            failure: None,
            drop_options: step.drop_options.unwrap_or(seen.drop_options),
            ..seen.clone()
        };
        if let Some((spec, edit)) = step.edit {
            (moved.spec, moved.edit) = (spec, Some(edit));
        }
        let mut transaction = self.database().begin().await?;
        let done = sqlx::query(
            "UPDATE mirrors SET desired = $1, state = $2, epoch = $3, failure = NULL, spec = $4,
                 edit = $5, drop_options = $6, updated_us = $7, script = $11
             WHERE id = $8 AND epoch = $9 AND state = $10",
        )
        .bind(desired_name(moved.desired))
        .bind(moved.state.name())
        .bind(moved.epoch)
        .bind(json(&moved.spec)?)
        .bind(moved.edit.as_ref().map(json).transpose()?)
        .bind(json(&moved.drop_options)?)
        .bind(now().micros())
        .bind(seen.id)
        .bind(seen.epoch)
        .bind(seen.state.name())
        .bind(script_names(&moved.spec))
        .execute(&mut *transaction)
        .await
        .map_err(failed())?;
        if done.rows_affected() == 0 {
            return Ok(None);
        }
        // A script that an edit names must not be dropped at the same time.
        let takes_script = moved.spec.script != seen.spec.script;
        if takes_script && hold_what_it_uses(&mut transaction, &moved.spec).await?.is_some() {
            return Ok(None);
        }
        transaction.commit().await.map_err(failed())?;
        Ok(Some(moved))
    }

    /// Stores what a run sees, under the epoch the run began with. TERMINATED also removes what the
    /// mirror no longer needs: ledger and checkpoint, and batches and counts if the drop asked for it.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn observe(
        &self,
        id: i64,
        epoch: i64,
        state: MirrorState,
        failure: Option<&Failure>,
    ) -> Result<Observed, CatalogError> {
        let failed = || CatalogError::query("state of a mirror");
        for _ in 0..COMPARE_AND_SET_ATTEMPTS_MAX {
            let Some(seen) = self.mirror_by_id(id).await? else { return Ok(Observed::Superseded) };
            if seen.epoch != epoch || !seen.state.may_become(state) {
                return Ok(Observed::Superseded);
            }
            let working = matches!(state, MirrorState::Setup | MirrorState::Snapshot | MirrorState::Running);
            let resume_at = if working { state } else { seen.resume_at };
            let mut transaction = self.database().begin().await?;
            let done = sqlx::query(
                "UPDATE mirrors SET state = $1, resume_at = $2, failure = $3, updated_us = $4
                 WHERE id = $5 AND epoch = $6 AND state = $7",
            )
            .bind(state.name())
            .bind(resume_at.name())
            .bind(failure.map(json).transpose()?)
            .bind(now().micros())
            .bind(id)
            .bind(epoch)
            .bind(seen.state.name())
            .execute(&mut *transaction)
            .await
            .map_err(failed())?;
            if done.rows_affected() == 0 {
                continue;
            }
            if state == MirrorState::Terminated {
                remove_remains(&mut transaction, id, seen.drop_options).await?;
            }
            transaction.commit().await.map_err(failed())?;
            return Ok(Observed::Stored);
        }
        Err(CatalogError::Contention)
    }

    /// Stores that the recorded edit is carried out.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn edit_done(&self, id: i64, epoch: i64) -> Result<Observed, CatalogError> {
        let mut transaction = self.database().begin().await?;
        let done = sqlx::query("UPDATE mirrors SET edit = NULL WHERE id = $1 AND epoch = $2")
            .bind(id)
            .bind(epoch)
            .execute(&mut *transaction)
            .await
            .map_err(CatalogError::query("edit of a mirror"))?;
        transaction.commit().await.map_err(CatalogError::query("edit of a mirror"))?;
        Ok(if done.rows_affected() == 0 { Observed::Superseded } else { Observed::Stored })
    }
}

/// Holds the rows of peers and script against a drop at the same time; names the field of a missing one.
async fn hold_what_it_uses(
    transaction: &mut Transaction<'static, Any>,
    spec: &MirrorSpec,
) -> Result<Option<&'static str>, CatalogError> {
    let peer = "UPDATE peers SET updated_us = updated_us WHERE name = $1";
    let script = "UPDATE scripts SET version = version WHERE name = $1";
    let mut uses = vec![
        ("source_name", peer, spec.source_peer.clone()),
        ("destination_name", peer, spec.destination_peer.clone()),
    ];
    let scripts = script_names(spec);
    uses.extend(names_of(&scripts).map(|name| ("script", script, name.to_owned())));
    for (field, statement, name) in uses {
        let held = sqlx::query(statement)
            .bind(name)
            .execute(&mut **transaction)
            .await
            .map_err(CatalogError::query("creation of a mirror"))?;
        if held.rows_affected() == 0 {
            return Ok(Some(field));
        }
    }
    Ok(None)
}

/// The mirror that has the slot at the same source: two would take each other's changes away. The source's
/// row is held by then, so no other creation comes between this look and its insert.
async fn slot_user(
    transaction: &mut Transaction<'static, Any>,
    spec: &MirrorSpec,
) -> Result<Option<String>, CatalogError> {
    let rows = sqlx::query(
        "SELECT name, spec FROM mirrors
         WHERE source_peer = $1 AND name <> $2 AND state <> 'STATUS_TERMINATED'",
    )
    .bind(&spec.source_peer)
    .bind(&spec.name)
    .fetch_all(&mut **transaction)
    .await
    .map_err(CatalogError::query("creation of a mirror"))?;
    for row in rows {
        let other = parsed::<MirrorSpec>(&text(&row, 1)?, "mirrors.spec");
        if other.is_ok_and(|other| other.slot() == spec.slot()) {
            return Ok(Some(text(&row, 0)?));
        }
    }
    Ok(None)
}

async fn remove_remains(
    transaction: &mut Transaction<'static, Any>,
    id: i64,
    options: DropOptions,
) -> Result<(), CatalogError> {
    let always: &[&'static str] = &[
        "DELETE FROM checkpoints WHERE mirror_id = $1",
        "DELETE FROM snapshot_tables WHERE mirror_id = $1",
        "DELETE FROM loads_beside WHERE mirror_id = $1",
        "DELETE FROM staged_mirrors WHERE mirror_id = $1",
        "DELETE FROM schema_changes WHERE mirror_id = $1",
    ];
    let statistics: &[&'static str] = &[
        "DELETE FROM cdc_batches WHERE mirror_id = $1",
        "DELETE FROM table_counts WHERE mirror_id = $1",
        "DELETE FROM written_hours WHERE mirror_id = $1",
        "DELETE FROM dead_letters WHERE mirror_id = $1",
        "DELETE FROM skipped_records WHERE mirror_id = $1",
        "UPDATE mirrors SET rows_synced = 0 WHERE id = $1",
    ];
    let statistics = if options.drop_mirror_stats { statistics } else { &[] };
    for statement in always.iter().chain(statistics) {
        sqlx::query(*statement)
            .bind(id)
            .execute(&mut **transaction)
            .await
            .map_err(CatalogError::query("drop of a mirror"))?;
    }
    Ok(())
}

fn mirror(row: &AnyRow) -> Result<Mirror, CatalogError> {
    let state = |column| {
        let name = text(row, column)?;
        MirrorState::from_name(&name).ok_or(name).map_err(CatalogError::content("mirrors.state"))
    };
    Ok(Mirror {
        id: integer(row, 0)?,
        spec: parsed(&text(row, 1)?, "mirrors.spec")?,
        desired: desired(&text(row, 2)?)?,
        state: state(3)?,
        resume_at: state(4)?,
        epoch: integer(row, 5)?,
        failure: optional_text(row, 6)?.map(|text| parsed(&text, "mirrors.failure")).transpose()?,
        edit: optional_text(row, 7)?.map(|text| parsed(&text, "mirrors.edit")).transpose()?,
        drop_options: parsed(&text(row, 8)?, "mirrors.drop_options")?,
        created_at: Timestamp::from_micros(integer(row, 9)?),
        rows_synced: unsigned(row, 10)?,
    })
}

fn desired_name(state: DesiredState) -> &'static str {
    match state {
        DesiredState::Running => "running",
        DesiredState::Paused => "paused",
        DesiredState::Terminated => "terminated",
    }
}

fn desired(name: &str) -> Result<DesiredState, CatalogError> {
    let all = [DesiredState::Running, DesiredState::Paused, DesiredState::Terminated];
    let found = all.into_iter().find(|state| desired_name(*state) == name);
    found.ok_or(name.to_owned()).map_err(CatalogError::content("mirrors.desired"))
}

/// The names of a mirror's scripts with commas between them, as the column `script` holds them.
fn script_names(spec: &MirrorSpec) -> String {
    match ScriptChain::parse(&spec.script) {
        Ok(chain) => {
            let names: Vec<_> = chain.references().iter().map(|script| script.name.as_str()).collect();
            names.join(",")
        }
        Err(_) => spec.script.clone(),
    }
}

/// The names in a column `script`.
pub(crate) fn names_of(scripts: &str) -> impl Iterator<Item = &str> {
    scripts.split(',').filter(|name| !name.is_empty())
}

fn json<T: serde::Serialize>(value: &T) -> Result<String, CatalogError> {
    serde_json::to_string(value).map_err(CatalogError::content("mirrors"))
}

fn parsed<T: serde::de::DeserializeOwned>(text: &str, place: &'static str) -> Result<T, CatalogError> {
    serde_json::from_str(text).map_err(CatalogError::content(place))
}
