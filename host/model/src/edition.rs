//! What an edition of the service allows.

use crate::enumerated::{Enumerated, serde_by_name};

/// The edition a server runs as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edition {
    /// Everything on.
    #[default]
    OpenSource,
    /// Everything on.
    Enterprise,
    /// Scripts off; the staging bucket is the service's own.
    Hosted,
}

impl Enumerated for Edition {
    const EXPECTED: &'static str = "an edition";
    const ALL: &'static [(Self, u32, &'static str)] = &[
        (Self::OpenSource, 1, "open-source"),
        (Self::Enterprise, 2, "enterprise"),
        (Self::Hosted, 3, "hosted"),
    ];
}

serde_by_name!(Edition);

impl Edition {
    /// Whether scripts are on where the setting `scripts_enabled` says nothing.
    pub fn scripts_by_default(self) -> bool {
        self != Self::Hosted
    }

    /// Whether a peer's own staging bucket is used.
    pub fn allows_own_bucket(self) -> bool {
        self != Self::Hosted
    }
}
