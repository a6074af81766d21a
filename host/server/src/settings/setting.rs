//! Every setting there is, described once: the reader takes names, forms and defaults from here, and so does
//! the operator's page.

/// One thing an operator can set.
#[derive(Debug)]
pub struct Setting {
    /// Its name in the file; in the environment it is [`Setting::variable`].
    pub name: &'static str,
    /// What a value looks like, with its unit.
    pub form: &'static str,
    /// What holds where it is not set.
    pub default: Preset,
    /// What it is for.
    pub meaning: &'static str,
}

/// What holds where a setting is not set.
#[derive(Debug)]
pub enum Preset {
    /// This value.
    Value(&'static str),
    /// No value; what happens then.
    Otherwise(&'static str),
}

impl Setting {
    /// Its name in the environment.
    pub fn variable(&self) -> String {
        format!("TARN_{}", self.name.to_ascii_uppercase())
    }
}

pub const LISTEN: Setting = Setting {
    name: "listen",
    form: "an address with port, such as 127.0.0.1:8113",
    default: Preset::Value("127.0.0.1:8113"),
    meaning: "where the API listens",
};

pub const TLS_CERTIFICATE: Setting = Setting {
    name: "tls_certificate",
    form: "a file in PEM",
    default: Preset::Otherwise("none: the API speaks HTTP"),
    meaning: "certificate that the API is served over HTTPS with, followed by those that lead to its authority",
};

pub const TLS_PRIVATE_KEY: Setting = Setting {
    name: "tls_private_key",
    form: "a file in PEM",
    default: Preset::Otherwise("none"),
    meaning: "the certificate's private key, unencrypted; the file must be its owner's alone",
};

pub const DATA_DIR: Setting = Setting {
    name: "data_dir",
    form: "a folder",
    default: Preset::Value("tarn-data"),
    meaning: "catalog, sealing key, compiled components and what waits for destinations; for one process at a time",
};

pub const USERNAME: Setting = Setting {
    name: "username",
    form: "a text",
    default: Preset::Otherwise("empty: clients send `:PASSWORD`"),
    meaning: "user name of the API",
};

pub const PASSWORD: Setting = Setting {
    name: "password",
    form: "a text",
    default: Preset::Otherwise("made at the first start and shown once"),
    meaning: "password of the API; it is stored nowhere",
};

pub const EDITION: Setting = Setting {
    name: "edition",
    form: "open-source, enterprise or hosted",
    default: Preset::Value("open-source"),
    meaning: "what the server allows, see above",
};

pub const SCRIPTS_ENABLED: Setting = Setting {
    name: "scripts_enabled",
    form: "true or false",
    default: Preset::Otherwise("by edition"),
    meaning: "whether scripts may be uploaded and used, whatever the edition says",
};

pub const SCRIPT_BATCH_MS_MAX: Setting = Setting {
    name: "script_batch_ms_max",
    form: "1 to 600000 milliseconds",
    default: Preset::Otherwise("by edition"),
    meaning: "time that a script may run for one batch, waiting not counted; one that runs longer is stopped",
};

pub const SCRIPT_RECORD_MS_MAX: Setting = Setting {
    name: "script_record_ms_max",
    form: "1 to 600000 milliseconds",
    default: Preset::Otherwise("by edition"),
    meaning: "time that a script may run for a record, where a record is looked for that stops it",
};

pub const SCRIPT_MEMORY_MIB_MAX: Setting = Setting {
    name: "script_memory_mib_max",
    form: "1 to 1024 MiB",
    default: Preset::Otherwise("by edition"),
    meaning: "memory that an instance of a script may fill; the stream has one, or as many as the mirror's script_workers, and each worker of a load one",
};

pub const SCRIPT_OUTPUT_MIB_MAX: Setting = Setting {
    name: "script_output_mib_max",
    form: "1 to 1024 MiB",
    default: Preset::Otherwise("by edition"),
    meaning: "what a script may make of one batch",
};

pub const SCRIPT_LOG_LINES_MAX: Setting = Setting {
    name: "script_log_lines_max",
    form: "1 to 100000 lines",
    default: Preset::Otherwise("by edition"),
    meaning: "lines that a script may write to the mirror's log for one batch; more are counted and left out",
};

pub const DEAD_LETTER_MIB_MAX: Setting = Setting {
    name: "dead_letter_mib_max",
    form: "1 to 16384 MiB",
    default: Preset::Otherwise("by edition"),
    meaning: "room for the dead letters of one mirror; it stops when they take more",
};

pub const STAGE_MIB_MAX: Setting = Setting {
    name: "stage_mib_max",
    form: "0 to 1048576 MiB",
    default: Preset::Value("1024"),
    meaning: "room for what one mirror's destination cannot take while it is away, in the data folder or a bucket; 0 for none",
};

pub const STAGE_ENCRYPTION: Setting = Setting {
    name: "stage_encryption",
    form: "on or off",
    default: Preset::Value("on"),
    meaning: "whether what waits in a stage is sealed, each entry with a key of its own that the catalog keeps",
};

pub const STAGE_S3_PATH: Setting = Setting {
    name: "stage_s3_path",
    form: "s3://bucket/prefix",
    default: Preset::Otherwise("the data folder"),
    meaning: "bucket that what waits is put into, for destinations that name none of their own; in the hosted edition for all",
};

pub const STAGE_S3_ACCESS_KEY_ID: Setting = Setting {
    name: "stage_s3_access_key_id",
    form: "a text",
    default: Preset::Otherwise("none"),
    meaning: "access key of that bucket",
};

pub const STAGE_S3_SECRET_ACCESS_KEY: Setting = Setting {
    name: "stage_s3_secret_access_key",
    form: "a text",
    default: Preset::Otherwise("none"),
    meaning: "its secret",
};

pub const STAGE_S3_REGION: Setting = Setting {
    name: "stage_s3_region",
    form: "a region's name",
    default: Preset::Otherwise("us-east-1"),
    meaning: "region of that bucket",
};

pub const STAGE_S3_ENDPOINT: Setting = Setting {
    name: "stage_s3_endpoint",
    form: "https://host:port or http://host:port",
    default: Preset::Otherwise("that of AWS"),
    meaning: "service of that bucket, where it is not AWS",
};

pub const STAGE_S3_ROOT_CA: Setting = Setting {
    name: "stage_s3_root_ca",
    form: "a file in PEM",
    default: Preset::Otherwise("the machine's"),
    meaning: "authorities to trust for that service",
};

pub const CATALOG_URL: Setting = Setting {
    name: "catalog_url",
    form: "a postgres:// URL",
    default: Preset::Otherwise("SQLite in the data folder"),
    meaning: "PostgreSQL database that holds the catalog",
};

pub const SEALING_KEY: Setting = Setting {
    name: "sealing_key",
    form: "32 bytes as base64",
    default: Preset::Otherwise("a file in the data folder, made at the first start"),
    meaning: "key that seals the secrets in the catalog",
};

pub const SEALING_KEY_PREVIOUS: Setting = Setting {
    name: "sealing_key_previous",
    form: "32 bytes as base64",
    default: Preset::Otherwise("none"),
    meaning: "the key before `sealing_key`, while the secrets are moved from the one to the other",
};

pub const LOG: Setting = Setting {
    name: "log",
    form: "a filter of `tracing`, such as info,tarn_control=debug",
    default: Preset::Value("info"),
    meaning: "which lines the server's log has",
};

pub const LOG_FORMAT: Setting = Setting {
    name: "log_format",
    form: "human or json",
    default: Preset::Otherwise("human on a terminal, json elsewhere"),
    meaning: "what lines of the server's log look like",
};

/// All of them, in the order of the operator's page.
pub const SETTINGS: [&Setting; 27] = [
    &LISTEN,
    &TLS_CERTIFICATE,
    &TLS_PRIVATE_KEY,
    &DATA_DIR,
    &USERNAME,
    &PASSWORD,
    &EDITION,
    &SCRIPTS_ENABLED,
    &SCRIPT_BATCH_MS_MAX,
    &SCRIPT_RECORD_MS_MAX,
    &SCRIPT_MEMORY_MIB_MAX,
    &SCRIPT_OUTPUT_MIB_MAX,
    &SCRIPT_LOG_LINES_MAX,
    &DEAD_LETTER_MIB_MAX,
    &STAGE_MIB_MAX,
    &STAGE_ENCRYPTION,
    &STAGE_S3_PATH,
    &STAGE_S3_ACCESS_KEY_ID,
    &STAGE_S3_SECRET_ACCESS_KEY,
    &STAGE_S3_REGION,
    &STAGE_S3_ENDPOINT,
    &STAGE_S3_ROOT_CA,
    &CATALOG_URL,
    &SEALING_KEY,
    &SEALING_KEY_PREVIOUS,
    &LOG,
    &LOG_FORMAT,
];
