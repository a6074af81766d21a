//! A whole setup as code: peers, scripts and mirrors in one YAML or JSON file.
//!
//! ```yaml
//! version: 1
//! peers:
//!   - name: shop
//!     postgres_config: {host: db.internal, user: tarn, password: "${env:SHOP_PASSWORD}", database: shop}
//! scripts:
//!   - {name: mask, file: mask.lua}
//! mirrors:
//!   - flow_job_name: orders
//!     source_name: shop
//!     destination_name: analytics
//!     do_initial_snapshot: true
//!     script: mask
//!     table_mappings:
//!       - {source_table_identifier: public.orders, destination_table_identifier: orders}
//! ```
//!
//! The fields are those of the API's bodies (`peer`, `script`, `connection_configs`), so that its documents
//! and the field paths of its refusals hold for files too. A field that does not exist is refused. A secret
//! is a reference, `${env:NAME}` or `${file:PATH}`, never a value.

mod mirror;
mod peer;
mod script;
mod write;

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use tarn_json::{InputError, from_value_strictly};
use tarn_model::{MirrorSpec, Peer};

pub(crate) use self::peer::body as peer_body;
pub(crate) use self::script::ScriptText;
pub(crate) use self::write::{Written, written};
use crate::error::Error;
use crate::file;
use crate::reference::{Environment, Resolver};

/// The one form of a setup that there is.
const VERSION: u32 = 1;

/// A setup with its references replaced by what they stand for.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Setup {
    pub(crate) peers: Vec<Peer>,
    pub(crate) scripts: Vec<ScriptText>,
    pub(crate) mirrors: Vec<MirrorSpec>,
}

/// The file before its items are read: each for itself, so that every mistake is found at once.
#[derive(Deserialize)]
#[serde(default)]
struct Raw {
    version: u32,
    peers: Vec<Value>,
    scripts: Vec<Value>,
    mirrors: Vec<Value>,
}

impl Default for Raw {
    fn default() -> Self {
        Self { version: VERSION, peers: Vec::new(), scripts: Vec::new(), mirrors: Vec::new() }
    }
}

impl Setup {
    /// Reads a setup file.
    ///
    /// # Errors
    /// Every mistake of the file in one error.
    pub(crate) fn load(path: &Path, environment: Environment<'_>) -> Result<Self, Error> {
        let raw: Raw = read(path)?;
        if raw.version != VERSION {
            let message = format!("version: this tarn reads version {VERSION}, not {}", raw.version);
            return Err(in_file(path, &[message]));
        }
        let mut resolver = Resolver::new(environment, folder(path));
        let mut setup = Self::default();
        for (index, value) in raw.peers.iter().enumerate() {
            setup.peers.extend(peer::read(value, &format!("peers[{index}]"), &mut resolver));
        }
        for (index, value) in raw.scripts.iter().enumerate() {
            setup.scripts.extend(script::read(value, &format!("scripts[{index}]"), &mut resolver));
        }
        for (index, value) in raw.mirrors.iter().enumerate() {
            let at = format!("mirrors[{index}]");
            let mirror = mirror::read(value, &at, &mut resolver);
            if mirror.as_ref().is_some_and(|spec| spec.resync) {
                resolver.problem(format!(
                    "{at}.resync: a resync is an act and no setting; leave it out and use `tarn mirror resync`"
                ));
            }
            setup.mirrors.extend(mirror);
        }
        let mut problems = resolver.into_problems();
        twice("peers", setup.peers.iter().map(|peer| &peer.name), &mut problems);
        twice("scripts", setup.scripts.iter().map(|script| &script.name), &mut problems);
        twice("mirrors", setup.mirrors.iter().map(|mirror| &mirror.name), &mut problems);
        if problems.is_empty() { Ok(setup) } else { Err(in_file(path, &problems)) }
    }
}

/// Reads a file that holds one peer, with the fields of a setup's.
pub(crate) fn load_peer(path: &Path, environment: Environment<'_>) -> Result<Peer, Error> {
    load_one(path, environment, peer::read)
}

/// Reads a file that holds one mirror.
pub(crate) fn load_mirror(path: &Path, environment: Environment<'_>) -> Result<MirrorSpec, Error> {
    load_one(path, environment, mirror::read)
}

fn load_one<T>(
    path: &Path,
    environment: Environment<'_>,
    read_item: impl Fn(&Value, &str, &mut Resolver<'_>) -> Option<T>,
) -> Result<T, Error> {
    let value: Value = read(path)?;
    let mut resolver = Resolver::new(environment, folder(path));
    let item = read_item(&value, "", &mut resolver);
    let problems = resolver.into_problems();
    match item {
        Some(item) if problems.is_empty() => Ok(item),
        _ => Err(in_file(path, &problems)),
    }
}

/// Where a file's relative references begin.
fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Reads a file in YAML, of which JSON is a part. A mistake is told by its place: a line of the file may
/// hold a secret.
fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = file::text(path)?;
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    let value: Value = serde_saphyr::from_str_with_options(&text, options)
        .map_err(|error| in_file(path, &[error.to_string()]))?;
    let value = if value.is_null() { Value::Object(serde_json::Map::new()) } else { value };
    from_value_strictly(&value).map_err(|error| in_file(path, &[error.to_string()]))
}

fn in_file(path: &Path, problems: &[String]) -> Error {
    let name =
        if path.as_os_str() == file::STDIN { "standard input".into() } else { path.display().to_string() };
    match problems {
        [problem] => Error::Usage(format!("{name}: {problem}")),
        problems => Error::Usage(format!("{name} cannot be used:\n  {}", problems.join("\n  "))),
    }
}

fn twice<'a>(list: &str, names: impl Iterator<Item = &'a String>, problems: &mut Vec<String>) {
    let mut seen = HashSet::new();
    for name in names.filter(|name| !seen.insert(*name)) {
        problems.push(format!("{list}: {name} is there twice"));
    }
}

/// A mistake within an item; the item may be the whole file.
fn within(at: &str, mistake: &InputError) -> String {
    let path = match (at, mistake.path.as_str()) {
        ("", path) => path.to_owned(),
        (at, "") => at.to_owned(),
        (at, path) => format!("{at}.{path}"),
    };
    InputError::new(&path, &mistake.message).to_string()
}

#[cfg(test)]
mod tests;
