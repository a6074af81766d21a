//! Dead letters: records that could not be taken and are kept aside.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::{Control, LetterRequest, ShownLetter};
use tarn_model::{DeadLetter, DeadLetterState, RecordErrors, RecordStage, ShownRecord, Timestamp};
use utoipa::ToSchema;

use crate::answer::{Answer, Answered};
use crate::error::Code;
use crate::operation::{Operation, example};
use crate::request::Input;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/api/v1/mirrors/dead_letters", example!("list_dead_letters"), list)
            .about("Lists records that a mirror kept aside, oldest first.")
            .takes::<DeadLettersRequest>()
            .answers::<DeadLetterList>()
            .refuses(&[Code::NotFound]),
        Operation::post("/api/v1/mirrors/dead_letters/show", example!("show_dead_letter"), show)
            .about("Reads a dead letter with its record, which it has as long as it waits.")
            .takes::<DeadLetterRequest>()
            .answers::<Letter>()
            .refuses(&[Code::NotFound]),
        Operation::post("/api/v1/mirrors/dead_letters/replay", example!("replay_dead_letters"), replay)
            .about(
                "Runs dead letters through the mirror's present scripts and writes them with their original \
                 versions, so that later rows stay. At most 500 by one request.",
            )
            .takes::<ReplayRequest>()
            .answers::<Replayed>()
            .refuses(&[Code::NotFound, Code::FailedPrecondition, Code::PermissionDenied]),
        Operation::post("/api/v1/mirrors/dead_letters/discard", example!("discard_dead_letters"), discard)
            .about("Gives dead letters up. Their records are gone then.")
            .takes::<DiscardRequest>()
            .answers::<Discarded>()
            .refuses(&[Code::NotFound]),
    ]
}

/// Which dead letters to list.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct DeadLettersRequest {
    /// The mirror.
    flow_job_name: String,
    /// Only letters in this state; null for all.
    state: Option<DeadLetterState>,
    /// Only letters after this one.
    after_id: i64,
    /// Most letters; 0, and more than 1,000, count as 1,000.
    limit: u32,
    /// Whether the records come along: fewer letters may be in the answer then.
    include_records: bool,
}

/// Dead letters of a mirror.
#[derive(Serialize, ToSchema)]
pub(super) struct DeadLetterList {
    /// Oldest first.
    dead_letters: Vec<Letter>,
    /// How many records of the mirror could not be taken.
    record_errors: RecordErrors,
    /// Whether there may be more after the last one.
    has_more: bool,
}

/// A record that could not be taken.
#[derive(Serialize, ToSchema)]
#[schema(as = DeadLetter)]
pub(super) struct Letter {
    /// Its id, which grows from letter to letter.
    id: i64,
    /// What happened to it.
    state: DeadLetterState,
    /// The source table.
    table: String,
    /// The row's key as text.
    key: String,
    /// What happened to the row: insert, update, delete, truncate, message or relation.
    kind: String,
    /// Who could not take it.
    stage: RecordStage,
    /// Where its transaction committed, as the source counts.
    position: u64,
    /// Which row of the transaction it is; of a row that a load read, which of its points.
    ordinal: u64,
    /// When its transaction committed; null of a row that a load read.
    commit_time: Option<Timestamp>,
    /// The script that could not take it; empty for a destination.
    script: String,
    /// That script's version.
    script_version: u32,
    /// The line in the script, 0 when unknown.
    line: u32,
    /// The function in the script, empty when unknown.
    function: String,
    /// What went wrong.
    message: String,
    /// What the script logged last.
    log_lines: Vec<String>,
    /// What it takes of the mirror's room, in bytes.
    bytes: u64,
    /// When it was kept.
    created_at: Timestamp,
    /// When it was replayed or given up.
    settled_at: Option<Timestamp>,
    /// The record, where it was asked for and the letter waits.
    record: Option<ShownRecord>,
}

impl From<ShownLetter> for Letter {
    fn from(shown: ShownLetter) -> Self {
        let ShownLetter { letter, record } = shown;
        let DeadLetter {
            id,
            table,
            key,
            kind,
            stage,
            position,
            ordinal,
            commit_time,
            script,
            script_version,
            line,
            function,
            message,
            log_lines,
            bytes,
            state,
            created_at,
            settled_at,
        } = letter;
        Self {
            id,
            state,
            table,
            key,
            kind,
            stage,
            position,
            ordinal,
            commit_time,
            script,
            script_version,
            line,
            function,
            message,
            log_lines,
            bytes,
            created_at,
            settled_at,
            record,
        }
    }
}

pub(super) async fn list(
    State(control): State<Control>,
    Input(request): Input<DeadLettersRequest>,
) -> Answered<DeadLetterList> {
    let list = control
        .list_dead_letters(LetterRequest {
            mirror: request.flow_job_name,
            state: request.state,
            after_id: request.after_id,
            limit: request.limit,
            with_records: request.include_records,
        })
        .await?;
    Ok(Answer(DeadLetterList {
        dead_letters: list.letters.into_iter().map(Letter::from).collect(),
        record_errors: list.errors,
        has_more: list.has_more,
    }))
}

/// A dead letter of a mirror.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct DeadLetterRequest {
    /// The mirror.
    flow_job_name: String,
    /// The letter.
    id: i64,
}

pub(super) async fn show(
    State(control): State<Control>,
    Input(request): Input<DeadLetterRequest>,
) -> Answered<Letter> {
    Ok(Answer(control.dead_letter(&request.flow_job_name, request.id).await?.into()))
}

/// Dead letters to replay.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct ReplayRequest {
    /// The mirror.
    flow_job_name: String,
    /// The letters; empty for the oldest that wait.
    ids: Vec<i64>,
}

/// What became of dead letters.
#[derive(Serialize, ToSchema)]
#[schema(as = DeadLettersReplayed)]
pub(super) struct Replayed {
    /// Letter by letter, of those that waited.
    outcomes: Vec<Outcome>,
    /// How many records of the mirror could not be taken.
    record_errors: RecordErrors,
}

/// What became of a dead letter.
#[derive(Serialize, ToSchema)]
#[schema(as = DeadLetterOutcome)]
struct Outcome {
    /// The letter.
    id: i64,
    /// REPLAYED, or WAITING where it still cannot be taken.
    state: DeadLetterState,
    /// Why it waits; empty where there is nothing to say.
    message: String,
}

pub(super) async fn replay(
    State(control): State<Control>,
    Input(request): Input<ReplayRequest>,
) -> Answered<Replayed> {
    let (outcomes, record_errors) = control.replay_dead_letters(&request.flow_job_name, &request.ids).await?;
    let outcomes = outcomes.into_iter().map(|outcome| Outcome {
        id: outcome.id,
        state: outcome.state,
        message: outcome.message,
    });
    Ok(Answer(Replayed { outcomes: outcomes.collect(), record_errors }))
}

/// Dead letters to give up.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct DiscardRequest {
    /// The mirror.
    flow_job_name: String,
    /// The letters.
    ids: Vec<i64>,
    /// Give up every one that waits, where no ids are given.
    all: bool,
}

/// What was given up.
#[derive(Serialize, ToSchema)]
#[schema(as = DeadLettersDiscarded)]
pub(super) struct Discarded {
    /// How many letters waited and do no more.
    discarded: u64,
    /// How many records of the mirror could not be taken.
    record_errors: RecordErrors,
}

pub(super) async fn discard(
    State(control): State<Control>,
    Input(request): Input<DiscardRequest>,
) -> Answered<Discarded> {
    let DiscardRequest { flow_job_name, ids, all } = request;
    let (discarded, record_errors) = control.discard_dead_letters(&flow_job_name, &ids, all).await?;
    Ok(Answer(Discarded { discarded, record_errors }))
}
