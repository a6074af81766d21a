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

pub const DATA_DIR: Setting = Setting {
    name: "data_dir",
    form: "a folder",
    default: Preset::Value("tarn-data"),
    meaning: "catalog, sealing key and compiled components; for one process at a time",
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
pub const SETTINGS: [&Setting; 11] = [
    &LISTEN,
    &DATA_DIR,
    &USERNAME,
    &PASSWORD,
    &EDITION,
    &SCRIPTS_ENABLED,
    &CATALOG_URL,
    &SEALING_KEY,
    &SEALING_KEY_PREVIOUS,
    &LOG,
    &LOG_FORMAT,
];
