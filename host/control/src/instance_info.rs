//! What this server is.

use tarn_model::Allowance;

use crate::Control;
use crate::plugins::ConnectorSummary;

/// The server, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceInfo {
    /// What its edition and switches allow.
    pub allowance: Allowance,
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
            allowance: settings.allowance,
            version: settings.version.clone(),
            connectors: self.parts().connectors.clone(),
        }
    }
}
