//! Taking up an older version of a script again.

use tarn_catalog::{NewScript, ScriptStored};

use super::{overtaken, unknown_script};
use crate::{Control, ControlError};

/// What a roll back made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RolledBack {
    /// The new version.
    pub version: u32,
    /// The version that it took up again.
    pub rolled_back_from: u32,
}

impl Control {
    /// Stores a new version with the code, the cases and the very component of an older one, so that mirrors
    /// that use the newest run what they ran then. Its cases must pass, as for every version.
    ///
    /// # Errors
    /// [`ControlError::PermissionDenied`] where scripts are disabled; [`ControlError::NotFound`] for the id
    /// or the version; [`ControlError::FailedPrecondition`] when it is the newest already;
    /// [`ControlError::InvalidArgument`] when a case fails; [`ControlError::Catalog`].
    pub async fn roll_back_script(
        &self,
        id: i64,
        version: u32,
        by: &str,
    ) -> Result<RolledBack, ControlError> {
        self.allow_scripts()?;
        let newest = self.script_at(id, None, "id", "version").await?;
        if newest.version == version {
            return Err(ControlError::precondition("version", "is the newest version already"));
        }
        let old = self.script_at(id, Some(version), "id", "version").await?;
        let component = self.script_component(id, Some(version)).await?.bytes;
        self.must_pass(&newest.name, &component, &old.tests, "version").await?;
        let new = NewScript {
            name: newest.name.clone(),
            language: old.language,
            source: old.source,
            component,
            tests: old.tests,
            created_by: by.to_owned(),
            rolled_back_from: Some(version),
            follows: Some(newest.version),
        };
        match self.catalog().store_script(Some(id), &new).await? {
            ScriptStored::Done(_) => {}
            ScriptStored::Overtaken => return Err(overtaken("version")),
            ScriptStored::Unknown | ScriptStored::NameTaken | ScriptStored::NameInUse => {
                return Err(unknown_script("id", id));
            }
        }
        tracing::info!(script = new.name, id, version, "rolled a script back");
        self.wake();
        Ok(RolledBack { version: newest.version + 1, rolled_back_from: version })
    }
}
