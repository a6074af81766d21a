//! Scripts.

use axum::extract::State;
use axum::http::{Method, Uri};
use serde::{Deserialize, Serialize};
use tarn_control::{Control, ScriptUpload};
use tarn_model::{Script, ScriptLanguage, Timestamp};

use super::later;
use crate::answer::{Answer, Answered, Nothing};
use crate::error::ApiError;
use crate::request::{Id, Input};

/// Stands for every script in a path, and for a new one in an upload.
const NO_ID: i64 = -1;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct StoreRequest {
    script: Option<Upload>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Upload {
    id: i64,
    lang: String,
    name: String,
    source: String,
}

#[derive(Serialize)]
pub(super) struct Stored {
    id: u32,
}

pub(super) async fn store(
    State(control): State<Control>,
    Input(request): Input<StoreRequest>,
) -> Answered<Stored> {
    control.allow_scripts()?;
    let Upload { id, lang, name, source } = request.script.ok_or_else(|| ApiError::missing("script"))?;
    let upload = ScriptUpload { id: (id != NO_ID).then_some(id), lang, name, source };
    Ok(Answer(Stored { id: small(control.store_script(upload).await?) }))
}

#[derive(Serialize)]
pub(super) struct List {
    scripts: Vec<Item>,
}

#[derive(Serialize)]
struct Item {
    id: u32,
    lang: ScriptLanguage,
    name: String,
    source: String,
}

impl From<Script> for Item {
    fn from(script: Script) -> Self {
        Self { id: small(script.id), lang: script.language, name: script.name, source: script.source }
    }
}

pub(super) async fn list(State(control): State<Control>, Id(id): Id) -> Answered<List> {
    let scripts = control.list_scripts((id != NO_ID).then_some(id)).await?;
    Ok(Answer(List { scripts: scripts.into_iter().map(Item::from).collect() }))
}

#[derive(Serialize)]
pub(super) struct Versions {
    versions: Vec<Version>,
}

#[derive(Serialize)]
struct Version {
    version: u32,
    lang: ScriptLanguage,
    name: String,
    source: String,
    digest: String,
    created_at: Timestamp,
}

pub(super) async fn versions(State(control): State<Control>, Id(id): Id) -> Answered<Versions> {
    let versions = control.script_versions(id).await?.into_iter().map(|script| Version {
        version: script.version,
        lang: script.language,
        name: script.name,
        source: script.source,
        digest: script.digest,
        created_at: script.created_at,
    });
    Ok(Answer(Versions { versions: versions.collect() }))
}

pub(super) async fn remove(State(control): State<Control>, Id(id): Id) -> Answered<Nothing> {
    control.drop_script(id).await?;
    Ok(Answer(Nothing {}))
}

pub(super) async fn test(
    State(control): State<Control>,
    method: Method,
    uri: Uri,
) -> Result<Answer<Nothing>, ApiError> {
    control.allow_scripts()?;
    Err(later::unimplemented(method, uri).await)
}

/// Ids are counted from 1, one a script: they stay far below the 32 bits that clients read.
fn small(id: i64) -> u32 {
    u32::try_from(id).unwrap_or(u32::MAX)
}
