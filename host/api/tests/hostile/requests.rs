//! Requests of random shapes in every place that a client can fill.

use axum::http::Method;
use serde_json::{Value, json};

use crate::described::{Spelling, operations};
use crate::fixture::{clickhouse_peer, creation, postgres_peer};

/// Keys the routes know, so that random bodies reach deep.
const KEYS: &[&str] = &[
    "peer",
    "name",
    "type",
    "postgres_config",
    "clickhouseConfig",
    "host",
    "port",
    "s3",
    "ssh_config",
    "allow_update",
    "disableValidation",
    "connection_configs",
    "flowJobName",
    "source_name",
    "destination_name",
    "table_mappings",
    "source_table_identifier",
    "destinationTableIdentifier",
    "columns",
    "exclude",
    "ordering",
    "engine",
    "env",
    "script",
    "system",
    "requestedFlowState",
    "flowConfigUpdate",
    "cdcFlowConfigUpdate",
    "additionalTables",
    "removedTables",
    "batchSize",
    "idleTimeout",
    "limit",
    "beforeId",
    "after_id",
    "level",
    "page",
    "num_per_page",
    "id",
    "lang",
    "source",
    "peerName",
    "attachToExisting",
    "skip_validation",
    "includeFlowInfo",
    "aggregateType",
    "mode",
    "sourceTables",
    "flowName",
    "tags",
    "key",
    "value",
];

/// What follows a path that is made up.
const NAMES: &[&str] =
    &["m", "%00", "%2e%2e%2f", "%ff", "-1", "9223372036854775808", "a%20b?limit=%00&afterId=x", "?limit"];

/// A small generator, so that a failure is found again by its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).expect("a bound of this machine")
    }

    fn pick<'a>(&mut self, from: &'a [&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn text(&mut self) -> String {
        let texts = [
            "",
            "pg",
            "ch",
            "m",
            "STATUS_PAUSED",
            "STATUS_RUNNING",
            "POSTGRES",
            "lua",
            "public.t",
            "a\0b",
            "'; DROP TABLE mirrors; --",
            "\u{202e}é\u{1f4a5}",
            "%00",
            "-1",
            "18446744073709551616",
            "ALL",
            "m@1",
        ];
        match self.below(8) {
            0 => "x".repeat(self.below(5_000)),
            _ => self.pick(&texts).to_owned(),
        }
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 6 } else { 9 }) {
            0 => Value::Null,
            1 => json!(self.below(2) == 0),
            2 => json!(i64::MIN + i64::try_from(self.below(3)).expect("small")),
            3 => json!([0.5, 1e300, -0.0, 3.0][self.below(4)]),
            4 => json!(self.below(12)),
            5 => Value::String(self.text()),
            6 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => self.object(depth - 1),
        }
    }

    fn object(&mut self, depth: usize) -> Value {
        let entries = (0..self.below(7)).map(|_| (self.pick(KEYS).to_owned(), self.value(depth)));
        Value::Object(entries.collect())
    }
}

/// Good requests, to be spoilt: the document's examples, and edits, which have none.
fn templates() -> Vec<(String, Value)> {
    let table = json!({"source_table_identifier": "public.t", "destination_table_identifier": "t",
        "exclude": ["a"], "columns": [{"source_name": "b", "ordering": 1}], "engine": 0});
    let update = json!({"cdcFlowConfigUpdate": {"additionalTables": [table], "removedTables": [table],
        "batchSize": 5, "idleTimeout": "6"}});
    let edit = json!({"flowJobName": "p", "requestedFlowState": 1, "flowConfigUpdate": update});
    let mut mirror = creation("n");
    mirror["connection_configs"]["table_mappings"] = json!([table]);
    mirror["connection_configs"]["env"] = json!({"A": "b"});
    let mut templates = vec![
        ("/api/v1/mirrors/state_change".to_owned(), edit),
        ("/api/v1/flows/cdc/create".to_owned(), mirror),
        ("/api/v1/peers/validate".to_owned(), json!({"peer": clickhouse_peer("ch")})),
        ("/api/v1/peers/create".to_owned(), json!({"peer": postgres_peer("new"), "allow_update": true})),
    ];
    for operation in operations() {
        if let (path, Some(request)) = operation.request(Spelling::Camel) {
            templates.push((path, request));
        }
    }
    templates
}

/// Routes that read, each up to where a name or a value follows.
fn gets() -> Vec<String> {
    let mut gets = Vec::new();
    for operation in operations().iter().filter(|operation| operation.method == Method::GET) {
        if let Some((before, _)) = operation.path.split_once('{') {
            gets.push(before.to_owned());
        }
        for parameter in operation.body["parameters"].as_array().into_iter().flatten() {
            if parameter["in"] == "query" && !operation.path.contains('{') {
                let name = parameter["name"].as_str().expect("a name");
                gets.push(format!("{}?peer_name=pg&{name}=", operation.path));
            }
        }
    }
    gets
}

/// Replaces one place of a request, chosen at random, by something else.
fn spoil(value: &mut Value, random: &mut Random) {
    let inner: Vec<&mut Value> = match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(object) => object.values_mut().collect(),
        _ => Vec::new(),
    };
    let count = inner.len();
    if count == 0 || random.below(4) == 0 {
        *value = random.value(3);
    } else if let Some(place) = inner.into_iter().nth(random.below(count)) {
        spoil(place, random);
    }
}

/// Makes requests without end, the same ones for the same seed.
pub struct Requests {
    random: Random,
    templates: Vec<(String, Value)>,
    gets: Vec<String>,
}

/// A request that may be anything but of the wrong caller.
pub struct Hostile {
    pub method: Method,
    pub path: String,
    pub body: String,
}

impl Requests {
    pub fn new(seed: u64) -> Self {
        Self { random: Random(seed), templates: templates(), gets: gets() }
    }

    pub fn next(&mut self) -> Hostile {
        let random = &mut self.random;
        let post = self.templates[random.below(self.templates.len())].clone();
        match random.below(8) {
            0 => {
                let path = format!("{}{}", self.gets[random.below(self.gets.len())], random.pick(NAMES));
                Hostile { method: Method::GET, path, body: String::new() }
            }
            1 => {
                let mut body = random.object(6).to_string();
                body.truncate(body.floor_char_boundary(random.below(body.len() + 1)));
                Hostile { method: Method::POST, path: post.0, body }
            }
            2 => {
                let verbs = [Method::PUT, Method::DELETE, Method::OPTIONS, Method::HEAD];
                let method = verbs[random.below(verbs.len())].clone();
                Hostile { method, path: post.0, body: random.object(3).to_string() }
            }
            3..=6 => {
                let (path, mut body) = post;
                spoil(&mut body, random);
                Hostile { method: Method::POST, path, body: body.to_string() }
            }
            _ => Hostile { method: Method::POST, path: post.0, body: random.object(6).to_string() },
        }
    }
}
