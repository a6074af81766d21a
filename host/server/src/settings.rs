//! The server's settings: from a TOML file and the environment, the environment winning.
//!
//! Every setting has one name in the file (`data_dir`) and one in the environment (`TARN_DATA_DIR`). All
//! mistakes are found before anything starts and reported together.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tarn_model::{Edition, Enumerated, Secret};

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For a terminal.
    Human,
    /// One JSON object a line.
    Json,
}

/// Everything an operator can set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Address of the API. Default `127.0.0.1:8113`.
    pub listen: SocketAddr,
    /// Files (PEM) of the certificate and its key that the API is served over HTTPS with. Default: HTTP.
    pub tls: Option<TlsFiles>,
    /// Folder of the catalog, the sealing key and the compile cache. Default `./tarn-data`.
    pub data_dir: PathBuf,
    /// User name of the API. Default empty: clients send `:PASSWORD`.
    pub username: String,
    /// Password of the API. Default: made at the first start and shown once.
    pub password: Option<Secret>,
    /// Default `open-source`.
    pub edition: Edition,
    /// Catalog in a PostgreSQL database, `postgres://…`. Default: SQLite in the data folder.
    pub catalog_url: Option<Secret>,
    /// Key that seals secrets in the catalog, 32 bytes as base64. Default: a file in the data folder, made
    /// at the first start.
    pub sealing_key: Option<Secret>,
    /// Whether scripts may be uploaded and used. Default: by edition.
    pub scripts_enabled: bool,
    /// `human` or `json`. Default: human on a terminal, JSON elsewhere.
    pub log_format: Option<LogFormat>,
    /// Filter of log lines, `tracing` syntax. Default `info`.
    pub log: String,
}

/// Where the API's certificate is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by those that lead to its authority.
    pub certificate: PathBuf,
    /// Its private key, unencrypted; its owner's alone.
    pub private_key: PathBuf,
}

impl Default for Settings {
    fn default() -> Self {
        Self::load(None, []).expect("the defaults are good")
    }
}

/// All mistakes of one start.
#[derive(Debug, PartialEq, Eq)]
pub struct SettingsError(Vec<String>);

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of the settings cannot be used:", self.0.len())?;
        for mistake in &self.0 {
            write!(f, "\n  - {mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SettingsError {}

const NAMES: [&str; 12] = [
    "listen",
    "tls_certificate",
    "tls_private_key",
    "data_dir",
    "username",
    "password",
    "edition",
    "catalog_url",
    "sealing_key",
    "scripts_enabled",
    "log_format",
    "log",
];

impl Settings {
    /// Reads the file, if one is named, then the `TARN_…` variables over it.
    ///
    /// # Errors
    /// [`SettingsError`] with every mistake: unreadable file, unknown names, values that do not parse.
    pub fn load(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, SettingsError> {
        let mut mistakes = Vec::new();
        let mut values = file.map(|path| read_file(path, &mut mistakes)).unwrap_or_default();
        for (variable, value) in environment {
            let Some(name) = variable.strip_prefix("TARN_").map(str::to_ascii_lowercase) else { continue };
            if NAMES.contains(&name.as_str()) {
                values.insert(name, (value, variable));
            }
        }
        let settings = Reader { values, mistakes: &mut mistakes }.settings();
        if mistakes.is_empty() { Ok(settings) } else { Err(SettingsError(mistakes)) }
    }
}

/// A setting's text with where it came from.
type Values = BTreeMap<String, (String, String)>;

fn read_file(path: &Path, mistakes: &mut Vec<String>) -> Values {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            mistakes.push(format!("file {}: {error}", path.display()));
            return Values::new();
        }
    };
    let table: toml::Table = match text.parse() {
        Ok(table) => table,
        Err(error) => {
            mistakes.push(format!("file {}: {}", path.display(), error.message()));
            return Values::new();
        }
    };
    let mut values = Values::new();
    for (name, value) in table {
        let origin = format!("{name} in {}", path.display());
        if !NAMES.contains(&name.as_str()) {
            mistakes.push(format!("{origin}: no such setting; there are {}", NAMES.join(", ")));
            continue;
        }
        let text = match value {
            toml::Value::String(text) => text,
            toml::Value::Boolean(flag) => flag.to_string(),
            _ => {
                mistakes.push(format!("{origin}: a text or true/false is expected"));
                continue;
            }
        };
        values.insert(name, (text, origin));
    }
    values
}

struct Reader<'a> {
    values: Values,
    mistakes: &'a mut Vec<String>,
}

impl Reader<'_> {
    fn settings(mut self) -> Settings {
        let edition = self
            .parse("edition", "open-source, enterprise or hosted", |text| {
                Edition::ALL.iter().find(|(_, _, name)| *name == text).map(|(edition, ..)| *edition)
            })
            .unwrap_or_default();
        Settings {
            listen: self
                .parse("listen", "an address with port, such as 127.0.0.1:8113", |text| text.parse().ok())
                .unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 8113))),
            tls: self.tls(),
            data_dir: self.text("data_dir").map_or_else(|| PathBuf::from("tarn-data"), PathBuf::from),
            username: self.text("username").unwrap_or_default(),
            password: self.text("password").map(Secret::new),
            edition,
            catalog_url: self
                .parse("catalog_url", "a postgres:// URL", |text| {
                    (text.starts_with("postgres://") || text.starts_with("postgresql://"))
                        .then(|| Secret::new(text))
                })
                .filter(|url| !url.is_empty()),
            sealing_key: self.text("sealing_key").map(Secret::new),
            scripts_enabled: self
                .parse("scripts_enabled", "true or false", |text| text.parse().ok())
                .unwrap_or_else(|| edition.scripts_by_default()),
            log_format: self.parse("log_format", "human or json", |text| match text {
                "human" => Some(LogFormat::Human),
                "json" => Some(LogFormat::Json),
                _ => None,
            }),
            log: self.text("log").unwrap_or_else(|| "info".into()),
        }
    }

    /// Both files or neither.
    fn tls(&mut self) -> Option<TlsFiles> {
        match (self.text("tls_certificate"), self.text("tls_private_key")) {
            (Some(certificate), Some(key)) => {
                Some(TlsFiles { certificate: certificate.into(), private_key: key.into() })
            }
            (None, None) => None,
            (Some(_), None) => {
                self.mistakes.push("tls_certificate is set and tls_private_key is not".to_owned());
                None
            }
            (None, Some(_)) => {
                self.mistakes.push("tls_private_key is set and tls_certificate is not".to_owned());
                None
            }
        }
    }

    /// The text of a setting; an empty one counts as absent.
    fn text(&mut self, name: &str) -> Option<String> {
        self.values.get(name).map(|(text, _)| text.clone()).filter(|text| !text.is_empty())
    }

    /// A parsed setting. A mistake never quotes the value, which may be a secret.
    fn parse<T>(&mut self, name: &str, expected: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let text = self.text(name)?;
        let parsed = parse(&text);
        if parsed.is_none() {
            let origin = &self.values[name].1;
            self.mistakes.push(format!("{origin}: {expected} is expected"));
        }
        parsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    #[test]
    fn nothing_set_gives_the_defaults() {
        let settings = Settings::load(None, []).expect("defaults");
        assert_eq!(settings.listen.to_string(), "127.0.0.1:8113");
        assert!(settings.password.is_none() && settings.scripts_enabled);
    }

    #[test]
    fn the_environment_wins_over_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("tarn.toml");
        std::fs::write(&file, "listen = \"127.0.0.1:1\"\nusername = \"ann\"\n").expect("written");
        let settings = Settings::load(Some(&file), environment(&[("TARN_LISTEN", "127.0.0.1:2")]))
            .expect("both are good");
        assert_eq!((settings.listen.port(), settings.username.as_str()), (2, "ann"));
    }

    #[test]
    fn all_mistakes_are_reported_at_once_and_no_value_is_quoted() {
        let error = Settings::load(
            None,
            environment(&[
                ("TARN_LISTEN", "nowhere"),
                ("TARN_EDITION", "gold"),
                ("TARN_CATALOG_URL", "s3cret"),
            ]),
        )
        .expect_err("three mistakes")
        .to_string();
        for part in ["TARN_LISTEN", "TARN_EDITION", "TARN_CATALOG_URL", "3 of the settings"] {
            assert!(error.contains(part), "{part} in {error}");
        }
        assert!(!error.contains("s3cret"));
    }

    #[test]
    fn certificate_and_key_are_set_together() {
        for one in ["TARN_TLS_CERTIFICATE", "TARN_TLS_PRIVATE_KEY"] {
            let error = Settings::load(None, environment(&[(one, "/x")])).expect_err("half");
            assert!(error.to_string().contains("is set and"), "{error}");
        }
        let both = [("TARN_TLS_CERTIFICATE", "/c"), ("TARN_TLS_PRIVATE_KEY", "/k")];
        let tls = Settings::load(None, environment(&both)).expect("both").tls.expect("set");
        assert_eq!((tls.certificate.to_str(), tls.private_key.to_str()), (Some("/c"), Some("/k")));
    }

    #[test]
    fn scripts_are_off_in_the_hosted_edition_unless_switched_on() {
        let hosted = Settings::load(None, environment(&[("TARN_EDITION", "hosted")])).expect("good");
        assert!(!hosted.scripts_enabled);
        let on = environment(&[("TARN_EDITION", "hosted"), ("TARN_SCRIPTS_ENABLED", "true")]);
        assert!(Settings::load(None, on).expect("good").scripts_enabled);
    }
}
