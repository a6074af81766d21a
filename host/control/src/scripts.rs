//! Scripts: compiled when they are uploaded, held to their cases, versioned, kept while a mirror uses them.

mod cases;
mod component;
mod rehearsal;
mod rollback;

pub use cases::{CaseReport, CaseVerdict};
pub use component::ScriptComponent;
pub use rehearsal::{
    AsMessages, RecordOutcome, RecordReport, RehearsalInput, RehearsalReport, RehearsalRequest,
    RehearsalScript,
};
pub use rollback::RolledBack;

use tarn_catalog::{NewScript, ScriptDropped, ScriptStored};
use tarn_model::{Enumerated as _, Problem, Script, ScriptLanguage, peer_name_problem};

use crate::config::{SCRIPT_SOURCE_BYTES_MAX, SCRIPT_TESTS_BYTES_MAX};
use crate::hooks::{CompileError, ScriptSource};
use crate::{Control, ControlError};

/// A script as a client sends it.
#[derive(Clone, Debug, Default)]
pub struct ScriptUpload {
    /// The script to update; `None` makes a new one.
    pub id: Option<i64>,
    /// What it is written in, as the client named it.
    pub lang: String,
    /// Its name.
    pub name: String,
    /// Its code.
    pub source: String,
    /// Its cases; `None` keeps those of the version before, an empty text is none.
    pub tests: Option<String>,
    /// The user who uploads it.
    pub by: String,
}

impl Control {
    /// Every script, or the one of that id, at its newest version; an unknown id gives none.
    ///
    /// # Errors
    /// [`ControlError::Catalog`].
    pub async fn list_scripts(&self, id: Option<i64>) -> Result<Vec<Script>, ControlError> {
        Ok(self.catalog().scripts(id).await?)
    }

    /// A script at a version, or at the newest. `path` names the script in errors, and `version_path` the version.
    async fn script_at(
        &self,
        id: i64,
        version: Option<u32>,
        path: &str,
        version_path: &str,
    ) -> Result<Script, ControlError> {
        let newest = self.catalog().scripts(Some(id)).await?.into_iter().next();
        let newest = newest.ok_or_else(|| unknown_script(path, id))?;
        let Some(version) = version.filter(|version| *version != newest.version) else { return Ok(newest) };
        let missing = || ControlError::missing(version_path, format!("the script has no version {version}"));
        self.catalog().script_version(id, version).await?.ok_or_else(missing)
    }

    /// Every version of a script, newest first; an unknown id gives none.
    ///
    /// # Errors
    /// [`ControlError::Catalog`].
    pub async fn script_versions(&self, id: i64) -> Result<Vec<Script>, ControlError> {
        Ok(self.catalog().script_versions(id).await?)
    }

    /// Compiles a script, holds it to its cases, stores it, and returns its id. A refused one leaves nothing.
    ///
    /// # Errors
    /// [`ControlError::PermissionDenied`] where scripts are disabled; [`ControlError::InvalidArgument`]
    /// for its fields, when it does not compile or a case fails; [`ControlError::AlreadyExists`] for its name;
    /// [`ControlError::NotFound`] for its id; [`ControlError::Catalog`].
    pub async fn store_script(&self, upload: ScriptUpload) -> Result<i64, ControlError> {
        self.allow_scripts()?;
        let language = checked(&upload)?;
        let before = match upload.id {
            None => None,
            Some(id) => {
                let known = self.catalog().scripts(Some(id)).await?.into_iter().next();
                Some(known.ok_or_else(|| unknown_script("script.id", id))?)
            }
        };
        // Cases that are kept must be those of the version that this one follows.
        let follows = before.as_ref().map(|before| before.version).filter(|_| upload.tests.is_none());
        let tests = upload.tests.or(before.map(|before| before.tests)).unwrap_or_default();
        let modules = self.modules(language, &upload.name).await?;
        let source = ScriptSource { name: &upload.name, language, source: &upload.source, modules: &modules };
        let component = self.parts().compiler.compile(source).await.map_err(refused)?;
        if language == ScriptLanguage::Wasm {
            self.must_open(&upload.name, &component).await?;
        }
        self.must_pass(&upload.name, &component, &tests, "script.tests").await?;
        let name = upload.name.clone();
        let new = NewScript {
            name: upload.name,
            language,
            source: upload.source,
            component,
            tests,
            created_by: upload.by,
            rolled_back_from: None,
            follows,
        };
        match self.catalog().store_script(upload.id, &new).await? {
            ScriptStored::Done(id) => {
                tracing::info!(script = name, id, "stored a script");
                self.wake();
                Ok(id)
            }
            ScriptStored::NameTaken => {
                Err(ControlError::exists("script.name", format!("a script named {name} already exists")))
            }
            ScriptStored::Unknown => Err(unknown_script("script.id", upload.id.unwrap_or_default())),
            ScriptStored::Overtaken => Err(overtaken("script.id")),
            ScriptStored::NameInUse => Err(ControlError::precondition(
                "script.name",
                "mirrors use the script by its present name; drop them before it is renamed",
            )),
        }
    }

    /// What a script may require: every other one of its language, at its newest version. What it requires
    /// becomes part of it, so a later version of that takes effect when the script is stored again.
    async fn modules(
        &self,
        language: ScriptLanguage,
        name: &str,
    ) -> Result<Vec<(String, String)>, ControlError> {
        if language == ScriptLanguage::Wasm {
            return Ok(Vec::new());
        }
        let scripts = self.catalog().scripts(None).await?;
        let others = scripts.into_iter().filter(|script| script.language == language && script.name != name);
        Ok(others.map(|script| (script.name, script.source)).collect())
    }

    /// Deletes a script that no mirror uses, with its versions.
    ///
    /// # Errors
    /// [`ControlError::NotFound`]; [`ControlError::FailedPrecondition`] naming the mirrors;
    /// [`ControlError::Catalog`].
    pub async fn drop_script(&self, id: i64) -> Result<(), ControlError> {
        match self.catalog().drop_script(id).await? {
            ScriptDropped::Done => {
                tracing::info!(id, "deleted a script");
                Ok(())
            }
            ScriptDropped::Unknown => Err(unknown_script("id", id)),
            ScriptDropped::InUse(mirrors) => {
                let message = format!("the script is used by {}; drop them first", mirrors.join(", "));
                Err(ControlError::precondition("id", message))
            }
        }
    }

    /// Refuses where the edition, or the setting over it, has scripts off.
    ///
    /// # Errors
    /// [`ControlError::PermissionDenied`] naming the setting.
    pub fn allow_scripts(&self) -> Result<(), ControlError> {
        let allowance = self.settings().allowance;
        if allowance.scripts() {
            Ok(())
        } else {
            Err(ControlError::PermissionDenied(allowance.scripts_denied()))
        }
    }
}

fn checked(upload: &ScriptUpload) -> Result<ScriptLanguage, ControlError> {
    let language = ScriptLanguage::from_name(&upload.lang);
    let mut problems = Vec::new();
    if language.is_none() {
        problems.push(Problem::new("script.lang", "must be lua, javascript or wasm", ""));
    }
    if let Some(problem) = peer_name_problem(&upload.name) {
        problems.push(Problem::new("script.name", problem, ""));
    }
    if upload.source.is_empty() {
        problems.push(Problem::new("script.source", "is missing", ""));
    }
    if upload.source.len() > SCRIPT_SOURCE_BYTES_MAX {
        let message = format!("has more than {SCRIPT_SOURCE_BYTES_MAX} bytes");
        problems.push(Problem::new("script.source", message, ""));
    }
    if upload.tests.as_ref().is_some_and(|tests| tests.len() > SCRIPT_TESTS_BYTES_MAX) {
        let message = format!("has more than {SCRIPT_TESTS_BYTES_MAX} bytes");
        problems.push(Problem::new("script.tests", message, ""));
    }
    match (language, problems.is_empty()) {
        (Some(language), true) => Ok(language),
        _ => Err(ControlError::InvalidArgument { message: crate::error::one_line(&problems), problems }),
    }
}

fn refused(error: CompileError) -> ControlError {
    refused_at("script.source", error)
}

/// Why a text is refused that stands in this field.
fn refused_at(path: &str, error: CompileError) -> ControlError {
    match error {
        CompileError::Rejected { message, line, column } => {
            let place = match (line, column) {
                (0, _) => String::new(),
                (line, 0) => format!("line {line}: "),
                (line, column) => format!("line {line}, column {column}: "),
            };
            ControlError::invalid(path, format!("{place}{message}"))
        }
        CompileError::Failed(_) => ControlError::Internal(error.to_string()),
    }
}

fn overtaken(path: &str) -> ControlError {
    ControlError::precondition(
        path,
        "another version of the script was stored meanwhile; look at it, and try again",
    )
}

fn unknown_script(path: &str, id: i64) -> ControlError {
    ControlError::missing(path, format!("there is no script with the id {id}"))
}
