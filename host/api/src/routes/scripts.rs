//! Scripts.

mod component;
mod rehearsal;
mod rollback;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::{Control, ScriptUpload};
use tarn_model::{Script, ScriptLanguage, Timestamp};

use utoipa::ToSchema;

use crate::answer::{Answer, Answered, Nothing};
use crate::error::{ApiError, Code};
use crate::operation::{Operation, example};
use crate::request::{By, Id, Input};

pub(super) fn operations() -> Vec<Operation> {
    let mut operations = vec![
        Operation::post("/api/v1/scripts", example!("store_script"), store)
            .about(
                "Compiles a script, runs its tests and stores it: a new one, or a new version of one. A script that \
                 fails a test is refused, and the version before stays the newest.",
            )
            .takes::<StoreScriptRequest>()
            .answers::<ScriptStored>()
            .refuses(&[Code::PermissionDenied, Code::NotFound, Code::AlreadyExists]),
        Operation::get("/api/v1/scripts/{id}", example!("list_scripts"), list)
            .about("Reads a script at its newest version; none where the id is not known.")
            .numbers("id", "The script's id; -1 for all.")
            .answers::<ScriptList>(),
        Operation::get("/api/v1/scripts/{id}/versions", example!("list_script_versions"), versions)
            .about("Lists every version of a script, newest first.")
            .numbers("id", "The script's id.")
            .answers::<ScriptVersions>(),
        Operation::delete("/api/v1/scripts/{id}", example!("delete_script"), remove)
            .about("Deletes a script that no mirror uses, with its versions.")
            .numbers("id", "The script's id.")
            .answers::<Nothing>()
            .refuses(&[Code::NotFound, Code::FailedPrecondition]),
    ];
    operations.extend([rehearsal::operation(), rollback::operation(), component::operation()]);
    operations
}

/// Stands for every script in a path, and for a new one in an upload.
const NO_ID: i64 = -1;

/// A script to store.
#[derive(Deserialize, ToSchema)]
pub(super) struct StoreScriptRequest {
    /// The script.
    #[schema(value_type = Upload, required)]
    script: Option<Upload>,
}

/// A script as a client sends it.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = ScriptUpload)]
struct Upload {
    /// The script to update; -1 makes a new one.
    id: i64,
    /// What it is written in: lua, javascript or wasm.
    lang: String,
    /// Its unique name.
    name: String,
    /// Its code; of wasm, base64 of a component or a core module.
    source: String,
    /// Cases that it must pass: JSON, or a Lua chunk that returns the same as a table (examples/scripts has the
    /// form). Left out, those of the version before stay; an empty text is none.
    tests: Option<String>,
}

/// A script that was stored.
#[derive(Serialize, ToSchema)]
pub(super) struct ScriptStored {
    /// Its id.
    id: u32,
}

pub(super) async fn store(
    State(control): State<Control>,
    By(by): By,
    Input(request): Input<StoreScriptRequest>,
) -> Answered<ScriptStored> {
    control.allow_scripts()?;
    let Upload { id, lang, name, source, tests } =
        request.script.ok_or_else(|| ApiError::missing("script"))?;
    let upload = ScriptUpload { id: (id != NO_ID).then_some(id), lang, name, source, tests, by };
    Ok(Answer(ScriptStored { id: small(control.store_script(upload).await?) }))
}

/// Scripts.
#[derive(Serialize, ToSchema)]
pub(super) struct ScriptList {
    /// By id.
    scripts: Vec<Item>,
}

/// A script at its newest version.
#[derive(Serialize, ToSchema)]
#[schema(as = Script)]
struct Item {
    /// Its id.
    id: u32,
    /// What it is written in.
    lang: ScriptLanguage,
    /// Its name.
    name: String,
    /// Its code.
    source: String,
    /// Its cases; empty without any.
    tests: String,
    /// Counts its versions from 1.
    version: u32,
}

impl From<Script> for Item {
    fn from(script: Script) -> Self {
        Self {
            id: small(script.id),
            lang: script.language,
            name: script.name,
            source: script.source,
            tests: script.tests,
            version: script.version,
        }
    }
}

pub(super) async fn list(State(control): State<Control>, Id(id): Id) -> Answered<ScriptList> {
    let scripts = control.list_scripts((id != NO_ID).then_some(id)).await?;
    Ok(Answer(ScriptList { scripts: scripts.into_iter().map(Item::from).collect() }))
}

/// Versions of a script.
#[derive(Serialize, ToSchema)]
pub(super) struct ScriptVersions {
    /// Newest first.
    versions: Vec<Version>,
}

/// A version of a script.
#[derive(Serialize, ToSchema)]
#[schema(as = ScriptVersion)]
struct Version {
    /// Counts from 1.
    version: u32,
    /// What it is written in.
    lang: ScriptLanguage,
    /// The script's name then.
    name: String,
    /// Its code.
    source: String,
    /// Hexadecimal SHA-256 of the component it was compiled into.
    digest: String,
    /// When it was stored.
    created_at: Timestamp,
    /// Its cases; empty without any.
    tests: String,
    /// The user who stored it; empty where the login has no name.
    created_by: String,
    /// The older version that it took up again; 0 where it took up none.
    rolled_back_from: u32,
}

pub(super) async fn versions(State(control): State<Control>, Id(id): Id) -> Answered<ScriptVersions> {
    let versions = control.script_versions(id).await?.into_iter().map(|script| Version {
        version: script.version,
        lang: script.language,
        name: script.name,
        source: script.source,
        digest: script.digest,
        created_at: script.created_at,
        tests: script.tests,
        created_by: script.created_by,
        rolled_back_from: script.rolled_back_from.unwrap_or(0),
    });
    Ok(Answer(ScriptVersions { versions: versions.collect() }))
}

pub(super) async fn remove(State(control): State<Control>, Id(id): Id) -> Answered<Nothing> {
    control.drop_script(id).await?;
    Ok(Answer(Nothing {}))
}

/// Ids are counted from 1, one a script: they stay far below the 32 bits that clients read.
fn small(id: i64) -> u32 {
    u32::try_from(id).unwrap_or(u32::MAX)
}
