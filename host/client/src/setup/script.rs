//! A script of a setup.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use tarn_json::{InputError, from_value_strictly};
use tarn_model::ScriptLanguage;

use super::within;
use crate::error::Error;
use crate::file;
use crate::reference::Resolver;

/// A script as it is uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScriptText {
    pub(crate) name: String,
    pub(crate) language: ScriptLanguage,
    /// Its code; of a component, the base64.
    pub(crate) source: String,
    /// Its tests; `None` leaves those that the server has.
    pub(crate) tests: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    name: String,
    lang: Option<ScriptLanguage>,
    source: String,
    /// File that holds the code, relative to the setup's folder.
    file: Option<PathBuf>,
    /// Its tests; of a file, those beside it where they are left out.
    tests: Option<String>,
}

impl ScriptText {
    /// A script from a file, with the tests beside it. Its name and language are the file's where they are not
    /// given.
    pub(crate) fn load(
        path: &Path,
        name: Option<String>,
        language: Option<ScriptLanguage>,
    ) -> Result<Self, Error> {
        let named = |what: &str, option: &str| {
            Error::Usage(format!("{} tells no {what}; give it by {option}", path.display()))
        };
        let language = language
            .or_else(|| Self::language_of(path))
            .ok_or_else(|| named("language, which .lua, .js and .wasm do", "--lang"))?;
        let stem = || path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
        let is_stream = path.as_os_str() == file::STDIN;
        let name = name.or_else(|| stem().filter(|_| !is_stream)).ok_or_else(|| named("name", "--name"))?;
        Ok(Self { name, language, source: source(path, language)?, tests: tests(path)? })
    }

    /// The language that a file's name tells.
    pub(crate) fn language_of(path: &Path) -> Option<ScriptLanguage> {
        match path.extension()?.to_str()? {
            "lua" => Some(ScriptLanguage::Lua),
            "js" | "mjs" => Some(ScriptLanguage::JavaScript),
            "wasm" => Some(ScriptLanguage::Wasm),
            _ => None,
        }
    }

    /// The files that may hold the tests of a script file.
    pub(crate) fn tests_beside(path: &Path) -> Vec<PathBuf> {
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else { return Vec::new() };
        if path.as_os_str() == file::STDIN {
            return Vec::new();
        }
        TESTS.iter().map(|ending| path.with_file_name(format!("{stem}{ending}"))).collect()
    }
}

/// How files of tests end, after the name of their script.
const TESTS: [&str; 2] = ["_test.json", "_test.lua"];

/// The tests beside a script file, if there are some.
fn tests(path: &Path) -> Result<Option<String>, Error> {
    let there: Vec<_> = ScriptText::tests_beside(path).into_iter().filter(|path| path.exists()).collect();
    match there.as_slice() {
        [] => Ok(None),
        [one] => file::text(one).map(Some),
        [one, other, ..] => Err(Error::Usage(format!(
            "{} and {} are both there; keep one of them",
            one.display(),
            other.display()
        ))),
    }
}

fn source(path: &Path, language: ScriptLanguage) -> Result<String, Error> {
    match language {
        ScriptLanguage::Wasm => Ok(STANDARD.encode(file::bytes(path)?)),
        ScriptLanguage::Lua | ScriptLanguage::JavaScript => file::text(path),
    }
}

/// The script that a setup holds, or none and a problem. References are not looked for: code may hold what
/// looks like one.
pub(super) fn read(value: &Value, at: &str, resolver: &mut Resolver<'_>) -> Option<ScriptText> {
    let entry = from_value_strictly::<Entry>(value);
    match entry.and_then(|entry| script_of(entry, resolver.folder())) {
        Ok(script) => Some(script),
        Err(mistake) => {
            resolver.problem(within(at, &mistake));
            None
        }
    }
}

fn script_of(entry: Entry, folder: &Path) -> Result<ScriptText, InputError> {
    let Entry { name, lang, source, file, tests } = entry;
    let name = Some(name).filter(|name| !name.is_empty());
    match (file, source.is_empty()) {
        (Some(_), false) => Err(InputError::new("", "source and file are both there; one is needed")),
        (None, true) => Err(InputError::new("", "source or file is missing")),
        (Some(file), true) => {
            let script = ScriptText::load(&folder.join(file), name, lang)
                .map_err(|error| InputError::new("file", error.to_string()))?;
            Ok(ScriptText { tests: tests.or(script.tests), ..script })
        }
        (None, false) => Ok(ScriptText {
            name: name.ok_or_else(|| InputError::new("name", "is missing"))?,
            language: lang
                .ok_or_else(|| InputError::new("lang", "is missing; there are lua, javascript and wasm"))?,
            source,
            tests,
        }),
    }
}
