//! What an edition of the service allows: the only place that decides it.

use crate::enumerated::{Enumerated, serde_by_name};
use crate::peer::PeerConfig;
use crate::secret::Secret;

/// The edition a server runs as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edition {
    /// For everyone who runs it.
    #[default]
    OpenSource,
    /// For companies that run it.
    Enterprise,
    /// For a service that runs it for others.
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

/// Whose bucket a destination's batches are staged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StagingBucket {
    /// The one that a peer names.
    Peer,
    /// The service's own, whatever a peer names.
    Service,
}

impl Enumerated for StagingBucket {
    const EXPECTED: &'static str = "an owner of a bucket";
    const ALL: &'static [(Self, u32, &'static str)] =
        &[(Self::Peer, 1, "peer"), (Self::Service, 2, "service")];
}

serde_by_name!(StagingBucket);

/// The bounds of a script's call, for one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Time that it may run, in milliseconds.
    pub batch_ms: u32,
    /// Time that it may run for a single record, where one is looked for that stops it.
    pub record_ms: u32,
    /// Memory that it may fill, in MiB.
    pub memory_mib: u32,
    /// What it may return at once, in MiB.
    pub output_mib: u32,
    /// Lines that it may write to the mirror's log.
    pub log_lines: u32,
}

/// What an operator set over the edition's defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitSettings {
    /// See [`ScriptLimits::batch_ms`].
    pub script_batch_ms: Option<u32>,
    /// See [`ScriptLimits::record_ms`].
    pub script_record_ms: Option<u32>,
    /// See [`ScriptLimits::memory_mib`].
    pub script_memory_mib: Option<u32>,
    /// See [`ScriptLimits::output_mib`].
    pub script_output_mib: Option<u32>,
    /// See [`ScriptLimits::log_lines`].
    pub script_log_lines: Option<u32>,
    /// Room for the dead letters of one mirror, in MiB.
    pub dead_letter_mib: Option<u32>,
}

/// What a server allows: its edition's defaults with the operator's switches over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    edition: Edition,
    scripts: bool,
    limits: LimitSettings,
}

impl Allowance {
    /// What an edition allows; `scripts` overrides its default, either way.
    pub fn new(edition: Edition, scripts: Option<bool>) -> Self {
        let by_default = match edition {
            Edition::OpenSource | Edition::Enterprise => true,
            Edition::Hosted => false,
        };
        Self { edition, scripts: scripts.unwrap_or(by_default), limits: LimitSettings::default() }
    }

    /// The same with limits that an operator set.
    #[must_use]
    pub fn with_limits(self, limits: LimitSettings) -> Self {
        Self { limits, ..self }
    }

    /// The bounds of a script's call.
    pub fn script_limits(self) -> ScriptLimits {
        let default = match self.edition {
            Edition::OpenSource | Edition::Enterprise => ScriptLimits {
                // A batch takes some hundredths of a second; a hundred times that is a loop.
                batch_ms: 10_000,
                // A thousand times what the largest records take.
                record_ms: 1_000,
                // Four times what the Lua runtime gives its scripts: a batch comes in, and one goes out.
                memory_mib: 384,
                // The largest row that can be moved.
                output_mib: 128,
                // Enough to see what a script does, too few to fill a disk at some calls a second.
                log_lines: 1_000,
            },
            // One person's script shares the machine with others' mirrors.
            Edition::Hosted => ScriptLimits {
                batch_ms: 2_000,
                record_ms: 500,
                memory_mib: 256,
                output_mib: 64,
                log_lines: 100,
            },
        };
        let LimitSettings {
            script_batch_ms,
            script_record_ms,
            script_memory_mib,
            script_output_mib,
            script_log_lines,
            ..
        } = self.limits;
        ScriptLimits {
            batch_ms: script_batch_ms.unwrap_or(default.batch_ms),
            record_ms: script_record_ms.unwrap_or(default.record_ms),
            memory_mib: script_memory_mib.unwrap_or(default.memory_mib),
            output_mib: script_output_mib.unwrap_or(default.output_mib),
            log_lines: script_log_lines.unwrap_or(default.log_lines),
        }
    }

    /// Room for the dead letters of one mirror, in bytes: some tens of thousands of records, and little beside what
    /// else the catalog holds. A mirror stops when it is full.
    pub fn dead_letter_bytes_max(self) -> u64 {
        let default = match self.edition {
            Edition::OpenSource | Edition::Enterprise => 64,
            Edition::Hosted => 16,
        };
        u64::from(self.limits.dead_letter_mib.unwrap_or(default)) << 20
    }

    /// The edition.
    pub fn edition(self) -> Edition {
        self.edition
    }

    /// Whether scripts may be uploaded and used.
    pub fn scripts(self) -> bool {
        self.scripts
    }

    /// Whose bucket stages.
    pub fn staging_bucket(self) -> StagingBucket {
        match self.edition {
            Edition::OpenSource | Edition::Enterprise => StagingBucket::Peer,
            Edition::Hosted => StagingBucket::Service,
        }
    }

    /// What a person reads whom scripts are denied; it names the setting.
    pub fn scripts_denied(self) -> String {
        format!(
            "scripts are disabled in the {} edition; set scripts_enabled (TARN_SCRIPTS_ENABLED) to use them",
            self.edition.name()
        )
    }

    /// Takes out of a peer's settings what the edition ignores, and returns the names of what was there.
    pub fn strike_ignored(self, config: &mut PeerConfig) -> Vec<&'static str> {
        let (PeerConfig::Clickhouse(config), StagingBucket::Service) = (config, self.staging_bucket()) else {
            return Vec::new();
        };
        let mut ignored = Vec::new();
        for (name, text) in [
            ("s3_path", &mut config.s3_path),
            ("region", &mut config.region),
            ("endpoint", &mut config.endpoint),
            ("s3_root_ca", &mut config.s3_root_ca),
        ] {
            if !text.is_empty() {
                text.clear();
                ignored.push(name);
            }
        }
        for (name, key) in [
            ("access_key_id", &mut config.access_key_id),
            ("secret_access_key", &mut config.secret_access_key),
        ] {
            if !key.is_empty() {
                *key = Secret::default();
                ignored.push(name);
            }
        }
        ignored
    }
}

impl Default for Allowance {
    fn default() -> Self {
        Self::new(Edition::default(), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::{ClickHouseConfig, PostgresConfig};

    #[test]
    fn scripts_are_on_but_in_the_hosted_edition_and_the_setting_overrides_it_either_way() {
        for (edition, by_default) in
            [(Edition::OpenSource, true), (Edition::Enterprise, true), (Edition::Hosted, false)]
        {
            assert_eq!(Allowance::new(edition, None).scripts(), by_default);
            for set in [true, false] {
                assert_eq!(Allowance::new(edition, Some(set)).scripts(), set);
            }
        }
    }

    #[test]
    fn a_bucket_is_ignored_in_the_hosted_edition_and_nothing_else_is() {
        let sent = ClickHouseConfig {
            host: "h".into(),
            password: Secret::new("p"),
            s3_path: "s3://b".into(),
            region: "r".into(),
            endpoint: "e".into(),
            s3_root_ca: "pem".into(),
            access_key_id: Secret::new("k"),
            secret_access_key: Secret::new("s"),
            ..ClickHouseConfig::default()
        };
        for edition in [Edition::OpenSource, Edition::Enterprise] {
            let mut config = PeerConfig::Clickhouse(sent.clone());
            assert_eq!(Allowance::new(edition, None).strike_ignored(&mut config), [""; 0]);
            assert_eq!(config, PeerConfig::Clickhouse(sent.clone()));
        }
        let hosted = Allowance::new(Edition::Hosted, Some(true));
        let mut config = PeerConfig::Clickhouse(sent);
        let ignored = hosted.strike_ignored(&mut config);
        assert_eq!(
            ignored,
            ["s3_path", "region", "endpoint", "s3_root_ca", "access_key_id", "secret_access_key"]
        );
        let kept =
            ClickHouseConfig { host: "h".into(), password: Secret::new("p"), ..ClickHouseConfig::default() };
        assert_eq!(config, PeerConfig::Clickhouse(kept));
        let mut postgres = PeerConfig::Postgres(PostgresConfig::default());
        assert_eq!(hosted.strike_ignored(&mut postgres), [""; 0]);
    }
}
