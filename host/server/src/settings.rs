//! The server's settings: from a TOML file and the environment, the environment winning.
//!
//! Every setting has one name in the file (`data_dir`) and one in the environment (`TARN_DATA_DIR`), and is
//! described in `setting`. All mistakes are found before anything starts and reported together.

mod reader;
mod setting;

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tarn_catalog::CatalogOptions;
use tarn_control::Sealing;
use tarn_model::{Allowance, Edition, Enumerated, LimitSettings, Secret};
use tarn_object_store::{Bucket, BucketSettings, Error as BucketError};
use tracing_subscriber::EnvFilter;

use self::reader::Reader;
pub use self::setting::{Preset, SETTINGS};
use crate::config::{
    DEAD_LETTER_MIB_TOP, SCRIPT_BATCH_MS_TOP, SCRIPT_LOG_LINES_TOP, SCRIPT_MEMORY_MIB_TOP, STAGE_MIB_TOP,
};

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For a terminal.
    Human,
    /// One JSON object a line.
    Json,
}

/// Everything an operator can set; what each field is for, and its default, is in [`SETTINGS`].
#[derive(Clone, Debug)]
pub struct Settings {
    pub listen: SocketAddr,
    /// Certificate and key together; without them the API speaks HTTP.
    pub tls: Option<TlsFiles>,
    pub data_dir: PathBuf,
    pub username: String,
    pub password: Option<Secret>,
    /// Room for what one mirror's destination cannot take while it is away.
    pub stage_bytes_max: u64,
    /// How it rests.
    pub stage_sealing: Sealing,
    /// The service's own bucket for it.
    pub stage_bucket: Option<BucketSettings>,
    /// File of the authorities to trust for that bucket's service.
    pub stage_root_ca: Option<PathBuf>,
    /// Edition and switches together.
    pub allowance: Allowance,
    pub catalog_url: Option<Secret>,
    pub sealing_key: Option<Secret>,
    pub sealing_key_previous: Option<Secret>,
    pub log_format: Option<LogFormat>,
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

impl Settings {
    /// Reads the file, if one is named, then the `TARN_…` variables over it.
    ///
    /// # Errors
    /// [`SettingsError`] with every mistake: unreadable file, unknown names, values that do not parse.
    pub fn load(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, SettingsError> {
        let mut reader = Reader::default();
        if let Some(file) = file {
            reader.take_file(file);
        }
        reader.take_environment(environment);
        let settings = read(&mut reader);
        let mistakes = reader.into_mistakes();
        match settings {
            Some(settings) if mistakes.is_empty() => Ok(settings),
            _ => Err(SettingsError(mistakes)),
        }
    }

    /// Where the catalog is and what seals it.
    pub fn catalog_options(&self) -> CatalogOptions {
        CatalogOptions {
            data_dir: self.data_dir.clone(),
            url: self.catalog_url.clone(),
            key: self.sealing_key.clone(),
            previous_key: self.sealing_key_previous.clone(),
        }
    }
}

/// The settings; none only together with a mistake.
fn read(reader: &mut Reader) -> Option<Settings> {
    let listen = reader.parse(&setting::LISTEN, |text| text.parse().ok());
    let edition = reader.parse(&setting::EDITION, Edition::from_name);
    let scripts = reader.parse(&setting::SCRIPTS_ENABLED, |text| text.parse().ok());
    let is_postgres = |url: &str| url.starts_with("postgres://") || url.starts_with("postgresql://");
    let catalog_url =
        reader.parse(&setting::CATALOG_URL, |text| is_postgres(text).then(|| Secret::new(text)));
    let log_format = reader.parse(&setting::LOG_FORMAT, |text| match text {
        "human" => Some(LogFormat::Human),
        "json" => Some(LogFormat::Json),
        _ => None,
    });
    let log = reader.parse(&setting::LOG, |text| EnvFilter::try_new(text).is_ok().then(|| text.to_owned()));
    let tls = tls(reader);
    let limits = limits(reader);
    let stage_mib = reader
        .parse(&setting::STAGE_MIB_MAX, |text| text.parse().ok().filter(|mib: &u32| *mib <= STAGE_MIB_TOP));
    let stage_sealing = reader.parse(&setting::STAGE_ENCRYPTION, |text| match text {
        "on" => Some(Sealing::On),
        "off" => Some(Sealing::Off),
        _ => None,
    });
    let stage_bucket = stage_bucket(reader);
    let stage_root_ca = reader.text(&setting::STAGE_S3_ROOT_CA).map(PathBuf::from);
    if stage_root_ca.is_some() && stage_bucket.is_none() {
        reader.mistake("stage_s3_root_ca is set and stage_s3_path is not");
    }
    let secret = |setting| reader.text(setting).map(Secret::new);
    Some(Settings {
        listen: listen?,
        tls,
        data_dir: reader.text(&setting::DATA_DIR)?.into(),
        username: reader.text(&setting::USERNAME).unwrap_or_default(),
        password: secret(&setting::PASSWORD),
        allowance: Allowance::new(edition?, scripts).with_limits(limits),
        catalog_url,
        sealing_key: secret(&setting::SEALING_KEY),
        sealing_key_previous: secret(&setting::SEALING_KEY_PREVIOUS),
        stage_bytes_max: u64::from(stage_mib?) << 20,
        stage_sealing: stage_sealing?,
        stage_bucket,
        stage_root_ca,
        log_format,
        log: log?,
    })
}

/// Limits that are set.
fn limits(reader: &mut Reader) -> LimitSettings {
    let mut number = |setting, most: u32| {
        reader.parse(setting, |text| text.parse().ok().filter(|number| (1..=most).contains(number)))
    };
    LimitSettings {
        script_batch_ms: number(&setting::SCRIPT_BATCH_MS_MAX, SCRIPT_BATCH_MS_TOP),
        script_record_ms: number(&setting::SCRIPT_RECORD_MS_MAX, SCRIPT_BATCH_MS_TOP),
        script_memory_mib: number(&setting::SCRIPT_MEMORY_MIB_MAX, SCRIPT_MEMORY_MIB_TOP),
        script_output_mib: number(&setting::SCRIPT_OUTPUT_MIB_MAX, SCRIPT_MEMORY_MIB_TOP),
        script_log_lines: number(&setting::SCRIPT_LOG_LINES_MAX, SCRIPT_LOG_LINES_TOP),
        dead_letter_mib: number(&setting::DEAD_LETTER_MIB_MAX, DEAD_LETTER_MIB_TOP),
    }
}

/// The service's own bucket, with everything that it needs, or none of it.
fn stage_bucket(reader: &mut Reader) -> Option<BucketSettings> {
    let text = |setting| reader.text(setting).unwrap_or_default();
    let bucket = BucketSettings {
        path: text(&setting::STAGE_S3_PATH),
        access_key_id: Secret::new(text(&setting::STAGE_S3_ACCESS_KEY_ID)),
        secret_access_key: Secret::new(text(&setting::STAGE_S3_SECRET_ACCESS_KEY)),
        region: text(&setting::STAGE_S3_REGION),
        endpoint: text(&setting::STAGE_S3_ENDPOINT),
        // The file is read when the server starts.
        root_ca: String::new(),
    };
    if bucket == BucketSettings::default() {
        return None;
    }
    if let Err(error) = Bucket::new(&bucket) {
        // The fields of a peer, with another beginning.
        let mistake = match error {
            BucketError::Settings { field, reason } => format!("stage_{} {reason}", with_s3(field)),
            error => error.report(),
        };
        reader.mistake(&mistake);
    }
    Some(bucket)
}

/// What a field of a peer's bucket is called after `stage_`.
fn with_s3(field: &str) -> String {
    if field.starts_with("s3_") { field.to_owned() } else { format!("s3_{field}") }
}

/// Both files or neither.
fn tls(reader: &mut Reader) -> Option<TlsFiles> {
    let files = (reader.text(&setting::TLS_CERTIFICATE), reader.text(&setting::TLS_PRIVATE_KEY));
    match files {
        (Some(certificate), Some(key)) => {
            Some(TlsFiles { certificate: certificate.into(), private_key: key.into() })
        }
        (None, None) => None,
        (Some(_), None) => {
            reader.mistake("tls_certificate is set and tls_private_key is not");
            None
        }
        (None, Some(_)) => {
            reader.mistake("tls_private_key is set and tls_certificate is not");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::setting::Setting;
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    #[test]
    fn nothing_set_gives_the_defaults() {
        let settings = Settings::load(None, []).expect("defaults");
        assert_eq!(settings.listen.to_string(), "127.0.0.1:8113");
        assert!(settings.password.is_none() && settings.allowance.scripts());
    }

    #[test]
    fn every_setting_is_read_under_both_its_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("tarn.toml");
        for setting in SETTINGS {
            let value_of = |setting: &Setting| match setting.default {
                Preset::Value(text) => text,
                Preset::Otherwise(_) if setting.form == "true or false" => "true",
                Preset::Otherwise(_) if setting.form.contains("postgres://") => "postgres://x",
                Preset::Otherwise(_) if setting.form.contains("https://") => "https://s3.internal:9000",
                Preset::Otherwise(_) => setting.form.split(' ').next().unwrap_or_default(),
            };
            // Certificate and key, or everything of a bucket, are good together only.
            let with = |known: &&&Setting| {
                let are_of = |group| [known, &setting].iter().all(|s| s.name.starts_with(group));
                known.name == setting.name || are_of("tls_") || are_of("stage_s3_")
            };
            let (mut text, mut variables) = (String::new(), Vec::new());
            for setting in SETTINGS.iter().filter(with) {
                let value = value_of(setting);
                text.push_str(&format!("{} = {value:?}\n", setting.name));
                variables.push((setting.variable(), value.to_owned()));
            }
            std::fs::write(&file, text).expect("written");
            Settings::load(Some(&file), []).expect(setting.name);
            Settings::load(None, variables).expect(setting.name);
            std::fs::write(&file, format!("{} = [1]\n", setting.name)).expect("written");
            let error = Settings::load(Some(&file), []).expect_err("no list").to_string();
            assert!(error.contains(setting.form), "{error}");
        }
    }

    #[test]
    fn a_bucket_for_all_is_whole_or_the_mistake_names_the_setting() {
        let whole = [
            ("TARN_STAGE_S3_PATH", "s3://rows/prefix"),
            ("TARN_STAGE_S3_ACCESS_KEY_ID", "planted-key"),
            ("TARN_STAGE_S3_SECRET_ACCESS_KEY", "planted-secret"),
        ];
        let settings = Settings::load(None, environment(&whole)).expect("good");
        let bucket = settings.stage_bucket.expect("there is one");
        assert_eq!((bucket.place().as_str(), settings.stage_sealing), ("s3://rows/prefix", Sealing::On));
        for (left_out, mistake) in [
            (0, "stage_s3_path is not of the form"),
            (1, "stage_s3_access_key_id is empty"),
            (2, "stage_s3_secret_access_key is empty"),
        ] {
            let mut parts = whole.to_vec();
            parts.remove(left_out);
            let error = Settings::load(None, environment(&parts)).expect_err("a part is missing").to_string();
            assert!(error.contains(mistake) && !error.contains("planted"), "{error}");
        }
        let error = Settings::load(None, environment(&[("TARN_STAGE_S3_ROOT_CA", "ca.pem")]));
        let error = error.expect_err("authorities of nothing").to_string();
        assert!(error.contains("stage_s3_root_ca is set and stage_s3_path is not"), "{error}");
        let wrong = [&whole[..], &[("TARN_STAGE_S3_ENDPOINT", "minio:9000")]].concat();
        let error = Settings::load(None, environment(&wrong)).expect_err("no URL").to_string();
        assert!(error.contains("stage_s3_endpoint is not of the form"), "{error}");
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
                ("TARN_LOG", "tarn=loudly"),
            ]),
        )
        .expect_err("four mistakes")
        .to_string();
        for part in ["TARN_LISTEN", "TARN_EDITION", "TARN_CATALOG_URL", "TARN_LOG", "4 of the settings"] {
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
        assert!(!hosted.allowance.scripts());
        let on = environment(&[("TARN_EDITION", "hosted"), ("TARN_SCRIPTS_ENABLED", "true")]);
        assert!(Settings::load(None, on).expect("good").allowance.scripts());
    }
}
