//! Reading settings from a file and the environment. A mistake never quotes a value: it may be a secret.

use std::collections::BTreeMap;
use std::path::Path;

use super::setting::{Preset, SETTINGS, Setting};

/// Texts of settings by name, each with where it came from, and what is wrong with them.
#[derive(Default)]
pub(super) struct Reader {
    values: BTreeMap<&'static str, (String, String)>,
    mistakes: Vec<String>,
}

impl Reader {
    /// Takes a file's settings in.
    pub(super) fn take_file(&mut self, path: &Path) {
        let read = std::fs::read_to_string(path).map_err(|error| error.to_string());
        let table =
            read.and_then(|text| text.parse::<toml::Table>().map_err(|error| error.message().to_owned()));
        let table = match table {
            Ok(table) => table,
            Err(problem) => {
                self.mistakes.push(format!("file {}: {problem}", path.display()));
                return;
            }
        };
        for (name, value) in table {
            let origin = format!("{name} in {}", path.display());
            let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else {
                let names: Vec<_> = SETTINGS.iter().map(|setting| setting.name).collect();
                self.mistakes.push(format!("{origin}: no such setting; there are {}", names.join(", ")));
                continue;
            };
            match value {
                toml::Value::String(text) => self.take(setting, text, origin),
                toml::Value::Boolean(flag) => self.take(setting, flag.to_string(), origin),
                toml::Value::Integer(number) => self.take(setting, number.to_string(), origin),
                _ => self.mistakes.push(format!("{origin}: {} is expected", setting.form)),
            }
        }
    }

    /// Takes `TARN_…` variables in, over what a file said.
    pub(super) fn take_environment(&mut self, environment: impl IntoIterator<Item = (String, String)>) {
        for (variable, value) in environment {
            if let Some(setting) = SETTINGS.iter().find(|setting| setting.variable() == variable) {
                self.take(setting, value, variable);
            }
        }
    }

    fn take(&mut self, setting: &Setting, text: String, origin: String) {
        self.values.insert(setting.name, (text, origin));
    }

    /// A setting's text, or its default; an empty text counts as not set.
    pub(super) fn text(&self, setting: &Setting) -> Option<String> {
        let given = self.values.get(setting.name).map(|(text, _)| text.clone());
        given.filter(|text| !text.is_empty()).or(match setting.default {
            Preset::Value(text) => Some(text.to_owned()),
            Preset::Otherwise(_) => None,
        })
    }

    /// A setting's parsed value, or that of its default.
    pub(super) fn parse<T>(&mut self, setting: &Setting, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let text = self.text(setting)?;
        let parsed = parse(&text);
        if parsed.is_none() {
            let origin = self.values.get(setting.name).map_or("its default", |(_, origin)| origin);
            self.mistakes.push(format!("{origin}: {} is expected", setting.form));
        }
        parsed
    }

    /// Everything that is wrong.
    pub(super) fn into_mistakes(self) -> Vec<String> {
        self.mistakes
    }
}
