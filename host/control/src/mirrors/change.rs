//! Changing a mirror's state. Every request is decided by [`tarn_model::decide`] and stored by
//! compare-and-set, so that of contradicting requests at the same time each gets a true answer.

use tarn_catalog::MirrorMove;
use tarn_model::{
    DropOptions, Enumerated as _, Mirror, MirrorEdit, MirrorSpec, MirrorState, Problem, RecordErrorPolicy,
    StateRequest, TableMapping, Verdict, decide, refusal,
};

use super::create::check_schema_changes;
use super::{changed_tables, rules};
use crate::config::EDIT_ATTEMPTS_MAX;
use crate::error::one_line;
use crate::hooks::{Purpose, Validation};
use crate::{Control, ControlError};

/// A request to change a mirror's state.
#[derive(Clone, Debug, Default)]
pub struct StateChange {
    /// The mirror.
    pub mirror: String,
    /// The state asked for; `None` when the client named none.
    pub requested: Option<MirrorState>,
    /// Changed settings.
    pub edit: Option<MirrorEdit>,
    /// How to drop, where it drops.
    pub drop_options: DropOptions,
}

/// The answer to a state change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// Recorded, or so already.
    Done,
    /// The edit is recorded.
    Edited,
    /// Why not, for a person.
    Refused(String),
}

/// Why nothing was stored.
enum NoMove {
    Answer(ChangeOutcome),
    /// The mirror took another request while the edit was checked.
    Changed,
}

impl Control {
    /// Pauses, resumes, edits, drops or resyncs a mirror. It returns when the desired state is recorded.
    ///
    /// # Errors
    /// [`ControlError::Catalog`]. Everything else is in the outcome.
    pub async fn change_state(&self, change: StateChange) -> Result<ChangeOutcome, ControlError> {
        let request = match request_of(&change) {
            Ok(request) => request,
            Err(message) => return Ok(ChangeOutcome::Refused(message)),
        };
        let outcome = match (&change.edit, request) {
            (Some(edit), StateRequest::Edit) => self.edit(&change.mirror, edit).await?,
            _ => self.move_state(&change, request).await?,
        };
        let outcome = outcome
            .unwrap_or_else(|| ChangeOutcome::Refused(format!("there is no mirror {}", change.mirror)));
        Ok(outcome)
    }

    async fn move_state(
        &self,
        change: &StateChange,
        request: StateRequest,
    ) -> Result<Option<ChangeOutcome>, ControlError> {
        let drop_options = (request == StateRequest::Drop).then_some(change.drop_options);
        let step = |mirror: &Mirror| {
            if request == StateRequest::Resync && !mirror.spec.do_initial_snapshot {
                return Err(ChangeOutcome::Refused(
                    "the mirror has no initial snapshot, so there is nothing to load again".into(),
                ));
            }
            match decide(mirror.state, mirror.resume_at, request) {
                Verdict::Move { desired, state } => {
                    Ok(MirrorMove { desired, state, edit: None, drop_options })
                }
                Verdict::Already => Err(ChangeOutcome::Done),
                Verdict::Refused { from } => {
                    Err(ChangeOutcome::Refused(refusal(request, mirror.state, from)))
                }
            }
        };
        Ok(match self.catalog().request(&change.mirror, step).await? {
            None => None,
            Some(Err(answer)) => Some(answer),
            Some(Ok(_)) => {
                // First: the client may go away while the note is written.
                self.wake();
                self.note(&change.mirror, noted(request)).await;
                Some(ChangeOutcome::Done)
            }
        })
    }

    async fn edit(&self, name: &str, edit: &MirrorEdit) -> Result<Option<ChangeOutcome>, ControlError> {
        for _ in 0..EDIT_ATTEMPTS_MAX {
            let Some(seen) = self.catalog().mirror(name).await? else { return Ok(None) };
            if let Verdict::Refused { from } = decide(seen.state, seen.resume_at, StateRequest::Edit) {
                let message = refusal(StateRequest::Edit, seen.state, from);
                return Ok(Some(ChangeOutcome::Refused(message)));
            }
            let problems = self.problems_of_edit(&seen, edit).await?;
            if !problems.is_empty() {
                return Ok(Some(ChangeOutcome::Refused(one_line(&problems))));
            }
            match self.catalog().request(name, |mirror| edited(mirror, &seen, edit)).await? {
                None => return Ok(None),
                Some(Ok(now)) => {
                    self.wake();
                    self.note(name, &noted_edit(&seen.spec, &now.spec)).await;
                    return Ok(Some(ChangeOutcome::Edited));
                }
                Some(Err(NoMove::Answer(answer))) => return Ok(Some(answer)),
                Some(Err(NoMove::Changed)) => {}
            }
        }
        Ok(Some(ChangeOutcome::Refused("the mirror kept changing while the edit was checked".into())))
    }

    async fn problems_of_edit(
        &self,
        mirror: &Mirror,
        edit: &MirrorEdit,
    ) -> Result<Vec<Problem>, ControlError> {
        let spec = edit.apply_to(&mirror.spec);
        let mut problems = rules::of_edited_numbers(&spec);
        rules::of_tables(&edit.additional_tables, "additional_tables", &mut problems);
        of_lists(&mirror.spec, edit, &mut problems);
        changed_tables::problems(&mirror.spec, edit, &mut problems);
        if spec.tables.is_empty() {
            problems.push(Problem::new("removed_tables", "leaves no table", "drop the mirror instead"));
        }
        self.check_policy(mirror, edit, &mut problems).await?;
        if let Some(destination) = self.catalog().peer(&spec.destination_peer).await? {
            check_schema_changes(spec.schema_changes, &destination, &mut problems);
        }
        if edit.remove_script && !edit.script.is_empty() {
            let message = "is set, and script names another one";
            problems.push(Problem::new("remove_script", message, "leave one of them out"));
        } else if !edit.script.is_empty() {
            self.check_script(&spec, &mut problems).await?;
        }
        if problems.is_empty() && !edit.additional_tables.is_empty() {
            let tables = MirrorSpec { tables: edit.additional_tables.clone(), ..spec.clone() };
            problems = self.look_at(tables, "additional_tables").await?;
        }
        if problems.is_empty() && !edit.changed_tables.is_empty() {
            problems =
                self.look_at(changed_tables::alone(&mirror.spec, &spec, edit), "changed_tables").await?;
            changed_tables::require_gone(&mirror.spec, edit, &mut problems);
            changed_tables::forget_known(&mirror.spec, edit, &mut problems);
        }
        Ok(problems)
    }

    /// Only under DEAD_LETTER is a change held back that leaves out what a letter has.
    async fn check_policy(
        &self,
        mirror: &Mirror,
        edit: &MirrorEdit,
        problems: &mut Vec<Problem>,
    ) -> Result<(), ControlError> {
        let kept = RecordErrorPolicy::DeadLetter;
        let leaves = edit.record_error_policy.is_some_and(|policy| policy != kept);
        if mirror.spec.record_error_policy == kept && leaves {
            let waiting = self.catalog().record_errors(mirror.id).await?.waiting;
            if waiting > 0 {
                let message = format!("cannot change while {waiting} dead letters wait");
                problems.push(Problem::new("record_error_policy", message, "replay or discard them first"));
            }
        }
        Ok(())
    }

    /// Lets the stores say what they think of tables, which a list of the edit has.
    async fn look_at(&self, spec: MirrorSpec, list: &str) -> Result<Vec<Problem>, ControlError> {
        let source = self.catalog().peer(&spec.source_peer).await?;
        let destination = self.catalog().peer(&spec.destination_peer).await?;
        let Some((source, destination)) = source.zip(destination) else {
            return Ok(vec![Problem::new(list, "a peer of the mirror is gone", "create it again")]);
        };
        let validation = Validation {
            spec: &spec,
            source: &source,
            destination: &destination,
            purpose: Purpose::AddTables,
        };
        let mut problems = self.parts().validator.validate(validation).await;
        for problem in &mut problems {
            problem.path = problem.path.replacen("table_mappings", list, 1);
        }
        Ok(problems)
    }
}

/// What a client asks for, or why that cannot be asked.
fn request_of(change: &StateChange) -> Result<StateRequest, String> {
    use MirrorState::{Paused, Resync, Running, Terminated, Terminating};
    match (change.requested, &change.edit) {
        (None | Some(Running), Some(_)) => Ok(StateRequest::Edit),
        (Some(state), Some(_)) => {
            Err(format!("an edit resumes the mirror: request STATUS_RUNNING with it, not {}", state.name()))
        }
        (Some(Paused), None) => Ok(StateRequest::Pause),
        (Some(Running), None) => Ok(StateRequest::Resume),
        (Some(Terminated | Terminating), None) => Ok(StateRequest::Drop),
        (Some(Resync), None) => Ok(StateRequest::Resync),
        (other, None) => {
            let name = other.map_or("no state", |state| state.name());
            Err(format!(
                "{name} cannot be requested; request STATUS_PAUSED, STATUS_RUNNING, STATUS_TERMINATED or STATUS_RESYNC"
            ))
        }
    }
}

/// The move of an edit that was checked against `seen`.
fn edited(mirror: &Mirror, seen: &Mirror, edit: &MirrorEdit) -> Result<MirrorMove, NoMove> {
    match decide(mirror.state, mirror.resume_at, StateRequest::Edit) {
        Verdict::Refused { from } => {
            let message = refusal(StateRequest::Edit, mirror.state, from);
            Err(NoMove::Answer(ChangeOutcome::Refused(message)))
        }
        Verdict::Already => Err(NoMove::Answer(ChangeOutcome::Edited)),
        Verdict::Move { .. } if mirror.epoch != seen.epoch => Err(NoMove::Changed),
        Verdict::Move { desired, state } => {
            let pending = mirror.edit.clone().unwrap_or_default().then(edit);
            Ok(MirrorMove {
                desired,
                state,
                edit: Some((edit.apply_to(&mirror.spec), pending)),
                drop_options: None,
            })
        }
    }
}

/// Problems between the lists of an edit and the tables of the mirror.
fn of_lists(spec: &MirrorSpec, edit: &MirrorEdit, problems: &mut Vec<Problem>) {
    let has = |tables: &[TableMapping], source: &str| tables.iter().any(|table| table.source == source);
    for (index, table) in edit.additional_tables.iter().enumerate() {
        let path = format!("additional_tables[{index}]");
        if has(&edit.removed_tables, &table.source) {
            let message = format!("{} is in both lists", table.source);
            let hint = "a table cannot be added and removed by one request";
            problems.push(Problem::new(format!("{path}.source_table_identifier"), message, hint));
            continue;
        }
        if has(&spec.tables, &table.source) {
            let message = format!("{} is in the mirror already", table.source);
            problems.push(Problem::new(format!("{path}.source_table_identifier"), message, "leave it out"));
        }
        let target = |other: &&TableMapping| {
            other.destination == table.destination && !has(&edit.removed_tables, &other.source)
        };
        if let Some(other) = spec.tables.iter().find(target).filter(|other| other.source != table.source) {
            let message = format!("{} is the target of {} already", table.destination, other.source);
            let hint = "give each table a target of its own";
            problems.push(Problem::new(format!("{path}.destination_table_identifier"), message, hint));
        }
    }
    for (index, table) in edit.removed_tables.iter().enumerate() {
        if !has(&spec.tables, &table.source) && !has(&edit.additional_tables, &table.source) {
            let message = format!("{} is not in the mirror", table.source);
            let path = format!("removed_tables[{index}].source_table_identifier");
            problems.push(Problem::new(path, message, "leave it out"));
        }
    }
}

/// What the log says of an edit: what transforms the records from now on is part of how they came out.
fn noted_edit(before: &MirrorSpec, after: &MirrorSpec) -> String {
    let noted = noted(StateRequest::Edit);
    let script = match (before.script.as_str(), after.script.as_str()) {
        (before, after) if before == after => String::new(),
        (before, "") => format!(": without script {before} from here on"),
        ("", after) => format!(": with script {after} from here on"),
        (before, after) => format!(": with script {after} instead of {before} from here on"),
    };
    let mut text = format!("{noted}{script}");
    for table in &after.tables {
        let known = before.tables.iter().find(|known| known.source == table.source);
        let Some(known) = known else { continue };
        let new = table.exclude.iter().filter(|column| !known.exclude.contains(column));
        let new: Vec<_> = new.map(String::as_str).collect();
        if !new.is_empty() {
            text.push_str(&format!("; {} without {} from here on", table.source, new.join(", ")));
        }
    }
    text
}

fn noted(request: StateRequest) -> &'static str {
    match request {
        StateRequest::Pause => "a pause was requested",
        StateRequest::Resume => "a resume was requested",
        StateRequest::Edit => "an edit was requested",
        StateRequest::Drop => "a drop was requested",
        StateRequest::Resync => "a resync was requested",
    }
}
