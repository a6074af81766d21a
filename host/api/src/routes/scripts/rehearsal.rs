//! Trying a script out.

mod outcome;

use std::collections::BTreeMap;

use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tarn_control::{AsMessages, Control, RehearsalInput, RehearsalRequest, RehearsalScript};
use tarn_json::{InputError, from_value};
use tarn_trial::{Json, Kind, Record};
use utoipa::ToSchema;

use self::outcome::ScriptTested;
use super::NO_ID;
use crate::answer::Exact;
use crate::error::{ApiError, Code};
use crate::operation::{Operation, example};
use crate::request::ExactBody;

pub(super) fn operation() -> Operation {
    Operation::post("/api/v1/scripts/test", example!("test_script"), test)
        .about(
            "Runs a script, stored or not, on the records given or on the last ones of a mirror's table, and its \
             tests. Nothing is stored. Numbers have all their digits in the answer, and rows the order of their \
             columns.",
        )
        .takes::<TestScriptRequest>()
        .answers::<ScriptTested>()
        .refuses(&[Code::PermissionDenied, Code::NotFound, Code::FailedPrecondition])
}

/// A script to try out.
#[derive(Deserialize, ToSchema)]
pub(super) struct TestScriptRequest {
    /// The script: a stored one by its id, or one by its lang and source.
    #[schema(required)]
    script: Option<TestedScript>,
    /// The records; left out, the tests run alone.
    #[serde(default)]
    #[schema(value_type = Option<TestedRecords>)]
    records: Value,
    /// The columns of tables by name (public.users), in their order: a name, a type as PostgreSQL names it, and
    /// key for those of the key, as in "id bigint key". The columns of a table that is left out are those of its
    /// records: whole numbers of 64 bits are bigint, others numeric, with an exponent double precision, texts
    /// text, lists and objects jsonb.
    #[serde(default)]
    tables: BTreeMap<String, Vec<String>>,
    /// What the destination takes: rows, or messages for a queue. Of recent records, the mirror says it.
    #[serde(default)]
    output: String,
    /// Tests to run, as of an upload; left out, those of a stored script.
    tests: Option<String>,
}

/// A stored script, or one that is not.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
struct TestedScript {
    /// The id of a stored one.
    id: Option<i64>,
    /// The version of a stored one; the newest where it is left out.
    version: u32,
    /// What one that is not stored is written in.
    lang: String,
    /// Its name; it needs none.
    name: String,
    /// Its code.
    source: String,
}

/// Records, or where they are.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
enum TestedRecords {
    /// Records themselves.
    Given(Vec<GivenRecord>),
    /// The last records of a mirror that keeps them.
    Recent(KeptRecords),
}

/// A record.
#[derive(Deserialize, ToSchema)]
#[serde(default)]
#[derive(Default)]
struct GivenRecord {
    /// insert where it is left out, update, delete, message or relation.
    kind: String,
    /// The table at the source, public.users; may be left out where there is one.
    source: String,
    /// What it is called at the destination; the table's own name where it is left out.
    target: String,
    /// The row after the change. In an update a column that is left out was not sent, else it is NULL.
    #[schema(value_type = Option<Object>)]
    new: Value,
    /// The row before the change; with fewer columns than the table has, its key.
    #[schema(value_type = Option<Object>)]
    old: Value,
    /// What a message was called with.
    prefix: String,
    /// What a message says.
    content: String,
    /// The table's columns, where this record has others than its table.
    columns: Option<Vec<String>>,
    /// When it was committed, with its zone.
    commit_time: Option<String>,
    /// Where in the source's log.
    checkpoint: Option<u64>,
    /// In which transaction.
    transaction_id: Option<u64>,
}

/// The last records of a mirror's table.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
struct KeptRecords {
    /// The mirror.
    flow_job_name: String,
    /// The table at the source.
    table: String,
    /// How many at most; 10 where it is left out.
    limit: u32,
}

async fn test(State(control): State<Control>, body: ExactBody) -> Result<Exact<ScriptTested>, ApiError> {
    control.allow_scripts()?;
    let request: TestScriptRequest = body.read()?;
    let input = input_of(&request, &body)?;
    let script = script_of(request.script.ok_or_else(|| ApiError::missing("script"))?);
    let rehearsal = RehearsalRequest { script, input, tests: request.tests };
    Ok(Exact(control.rehearse_script(rehearsal).await?.into()))
}

fn script_of(script: TestedScript) -> RehearsalScript {
    let TestedScript { id, version, lang, name, source } = script;
    match id.filter(|id| *id != NO_ID) {
        Some(id) => RehearsalScript::Stored { id, version: Some(version).filter(|version| *version > 0) },
        None => RehearsalScript::Draft { lang, name, source },
    }
}

fn input_of(request: &TestScriptRequest, body: &ExactBody) -> Result<RehearsalInput, ApiError> {
    match records(&request.records)? {
        None => Ok(RehearsalInput::Nothing),
        Some(TestedRecords::Given(given)) => Ok(RehearsalInput::Records {
            records: exactly(given, body)?,
            tables: request.tables.clone(),
            as_messages: match request.output.as_str() {
                "" | "rows" => AsMessages::No,
                "messages" => AsMessages::Yes,
                _ => return Err(InputError::new("output", "must be rows or messages").into()),
            },
        }),
        Some(TestedRecords::Recent(KeptRecords { flow_job_name, table, limit })) => {
            Ok(RehearsalInput::Recent { mirror: flow_job_name, table, limit })
        }
    }
}

/// Records as they are given, but for the digits of their values.
fn records(value: &Value) -> Result<Option<TestedRecords>, InputError> {
    match value {
        Value::Null => Ok(None),
        Value::Array(items) => {
            let item = |(at, item): (usize, &Value)| {
                from_value(item).map_err(|error| error.within(&format!("records[{at}]")))
            };
            items.iter().enumerate().map(item).collect::<Result<_, _>>().map(TestedRecords::Given).map(Some)
        }
        other => {
            let expected = "expected a list of records, or flow_job_name and table";
            let recent: KeptRecords = match other {
                Value::Object(_) => from_value(other).map_err(|error| error.within("records"))?,
                _ => KeptRecords::default(),
            };
            if recent.flow_job_name.is_empty() || recent.table.is_empty() {
                return Err(InputError::new("records", expected));
            }
            Ok(Some(TestedRecords::Recent(recent)))
        }
    }
}

/// The rows of a record, as they were written.
#[derive(Deserialize)]
struct Rows {
    new: Option<Json>,
    old: Option<Json>,
}

/// The records with the digits of their values.
fn exactly(given: Vec<GivenRecord>, body: &ExactBody) -> Result<Vec<Record>, ApiError> {
    #[derive(Deserialize)]
    struct Exactly<'a> {
        #[serde(borrow)]
        records: &'a RawValue,
    }
    let Exactly { records } = body.exactly()?;
    let rows: Vec<Rows> =
        serde_json::from_str(records.get()).map_err(|error| InputError::new("records", error.to_string()))?;
    let record = |(at, (given, Rows { new, old })): (usize, (GivenRecord, Rows))| {
        let kind = match given.kind.as_str() {
            "" | "insert" => Kind::Insert,
            "update" => Kind::Update,
            "delete" => Kind::Delete,
            "message" => Kind::Message,
            "relation" => Kind::Relation,
            _ => {
                let message = "must be insert, update, delete, message or relation";
                return Err(InputError::new(&format!("records[{at}].kind"), message).into());
            }
        };
        let GivenRecord {
            source,
            target,
            prefix,
            content,
            columns,
            commit_time,
            checkpoint,
            transaction_id,
            ..
        } = given;
        Ok(Record {
            kind,
            source,
            target,
            new,
            old,
            prefix,
            content,
            columns,
            commit_time,
            checkpoint,
            transaction_id,
        })
    };
    given.into_iter().zip(rows).enumerate().map(record).collect()
}
