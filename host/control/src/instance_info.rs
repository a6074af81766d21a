//! What this server is.

use tarn_model::Edition;

use crate::Control;
use crate::plugins::ConnectorSummary;

/// The server, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceInfo {
    /// The edition it runs as.
    pub edition: Edition,
    /// Whether scripts may be uploaded and used.
    pub scripts_enabled: bool,
    /// Its version.
    pub version: String,
    /// The installed connectors.
    pub connectors: Vec<ConnectorSummary>,
}

impl Control {
    /// What this server is and allows.
    pub fn instance_info(&self) -> InstanceInfo {
        let settings = self.settings();
        InstanceInfo {
            edition: settings.edition,
            scripts_enabled: settings.scripts_enabled,
            version: settings.version.clone(),
            connectors: self.parts().connectors.clone(),
        }
    }
}
