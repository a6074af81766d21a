//! Writing a setup down: what is at its default is left out, a secret becomes a reference.

use std::collections::BTreeSet;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use tarn_model::{ColumnMapping, MirrorSpec, Peer, TableMapping};

use super::{ScriptText, Setup, VERSION, peer};
use crate::reference::{escaped, to_variable};

/// Fields that come first, in this order; the others follow by name, lists of objects at the end.
const FIRST: [&str; 16] = [
    "version",
    "name",
    "flow_job_name",
    "type",
    "lang",
    "source_name",
    "destination_name",
    "source_table_identifier",
    "destination_table_identifier",
    "host",
    "port",
    "user",
    "password",
    "database",
    "do_initial_snapshot",
    "script",
];
const LAST: [&str; 5] = ["source", "peers", "scripts", "mirrors", "table_mappings"];

/// A setup as a file holds it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// YAML.
    pub(crate) text: String,
    /// Variables that its references name, in their order in the file.
    pub(crate) variables: Vec<String>,
}

/// Writes a setup whose secrets are masks.
pub(crate) fn written(setup: &Setup) -> Written {
    let mut variables = Variables::default();
    let peers: Vec<_> = setup.peers.iter().map(|peer| peer_value(peer, &mut variables)).collect();
    let scripts: Vec<_> = setup.scripts.iter().map(script_value).collect();
    let mirrors: Vec<_> = setup.mirrors.iter().map(mirror_value).collect();
    let value = json!({"version": VERSION, "peers": peers, "scripts": scripts, "mirrors": mirrors});
    let text = serde_saphyr::to_string(&Ordered(&value)).expect("YAML holds whatever JSON does");
    Written { text, variables: variables.list }
}

#[derive(Default)]
struct Variables {
    list: Vec<String>,
    taken: BTreeSet<String>,
}

impl Variables {
    /// A variable of a name that is not taken: `a-b` and `a.b` would share one.
    fn take(&mut self, wanted: String) -> String {
        let numbered = (2..).map(|number| format!("{wanted}_{number}"));
        let mut names = std::iter::once(wanted.clone()).chain(numbered);
        let free = names.find(|name| self.taken.insert(name.clone())).expect("numbers do not end");
        self.list.push(free.clone());
        free
    }
}

fn peer_value(peer: &Peer, variables: &mut Variables) -> Value {
    let mut settings = text_escaped(without_empty(peer::shown(&peer.config)));
    for (path, _) in peer.config.secrets() {
        let variable = variables.take(peer::variable(&peer.name, path));
        peer::put(&mut settings, path, &to_variable(&variable));
    }
    json!({"name": peer.name, peer::config_key(&peer.config): settings})
}

fn script_value(script: &ScriptText) -> Value {
    let mut value = json!({"name": script.name, "lang": script.language, "source": script.source});
    if let Some(tests) = script.tests.as_ref().filter(|tests| !tests.is_empty()) {
        value["tests"] = json!(tests);
    }
    value
}

fn mirror_value(spec: &MirrorSpec) -> Value {
    let mut defaults = MirrorSpec::default();
    defaults.fill_defaults();
    // What was loaded anew once is not asked for again.
    let spec = MirrorSpec { resync: false, ..spec.clone() };
    let mut value = without(&spec, &defaults);
    let tables = spec.tables.iter().map(|table| {
        let mut value = without(table, &TableMapping::default());
        if !table.columns.is_empty() {
            let columns = table.columns.iter().map(|column| without(column, &ColumnMapping::default()));
            value["columns"] = columns.collect();
        }
        value
    });
    value["table_mappings"] = tables.collect();
    text_escaped(value)
}

/// The fields that are not at their default.
fn without<T: Serialize>(item: &T, default: &T) -> Value {
    let value = |item| serde_json::to_value(item).expect("a setup is made of what JSON has");
    let (mut item, default): (Value, Value) = (value(item), value(default));
    if let Some(object) = item.as_object_mut() {
        object.retain(|key, value| *value != default[key]);
    }
    item
}

/// The settings without fields that say nothing; those of a peer begin empty.
fn without_empty(value: Value) -> Value {
    let Value::Object(object) = value else { return value };
    let says_something = |value: &Value| match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(object) => !object.is_empty(),
    };
    let entries = object.into_iter().map(|(key, value)| (key, without_empty(value)));
    Value::Object(entries.filter(|(_, value)| says_something(value)).collect())
}

fn text_escaped(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(escaped(&text)),
        Value::Array(items) => items.into_iter().map(text_escaped).collect(),
        Value::Object(object) => {
            object.into_iter().map(|(key, value)| (key, text_escaped(value))).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}

/// A value whose fields are written in the order in which people read them.
struct Ordered<'a>(&'a Value);

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(object) => {
                let mut entries: Vec<_> = object.iter().collect();
                entries.sort_by_key(|(key, _)| rank(key));
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, &Ordered(value))?;
                }
                map.end()
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(Ordered)),
            other => other.serialize(serializer),
        }
    }
}

fn rank(key: &str) -> usize {
    let place = |list: &[&str]| list.iter().position(|known| *known == key);
    match (place(&FIRST), place(&LAST)) {
        (Some(place), _) => place,
        (None, None) => FIRST.len(),
        (None, Some(place)) => FIRST.len() + 1 + place,
    }
}
