//! The components that scripts were compiled into, for whoever wants to run or keep them elsewhere.

use crate::{Control, ControlError};

/// A script's component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptComponent {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Their SHA-256, in hexadecimal.
    pub digest: String,
}

impl Control {
    /// The component of a script at a version, the newest unless one is named.
    ///
    /// # Errors
    /// [`ControlError::NotFound`] for the id or the version; [`ControlError::Catalog`].
    pub async fn script_component(
        &self,
        id: i64,
        version: Option<u32>,
    ) -> Result<ScriptComponent, ControlError> {
        let script = self.script_at(id, version, "id", "version").await?;
        let bytes = self.catalog().component(&script.digest).await?;
        let lost =
            || ControlError::Internal(format!("the component {} is not in the catalog", script.digest));
        Ok(ScriptComponent { bytes: bytes.ok_or_else(lost)?, digest: script.digest })
    }
}
