//! No request makes a failure of the server's: random shapes in every place a client can fill.

use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};
use tarn_model::MirrorState;

use crate::described::{Spelling, operations};
use crate::fixture::{Fixture, clickhouse_peer, creation, postgres_peer};

const SEED: u64 = 0x7461_726e;
const ROUNDS: usize = 4_000;

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

#[tokio::test]
async fn no_request_makes_a_failure_of_the_servers() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("m").await;
    fixture.mirror_in("p", MirrorState::Paused).await;
    let templates = templates();
    let mut random = Random(SEED);
    let posts: Vec<_> = templates.iter().map(|(path, _)| path.clone()).collect();
    let gets = gets();
    let names =
        ["m", "%00", "%2e%2e%2f", "%ff", "-1", "9223372036854775808", "a%20b?limit=%00&afterId=x", "?limit"];
    let (mut taken, mut refused) = (0, 0);
    for round in 0..ROUNDS {
        let reply = match random.below(8) {
            0 => {
                let path = format!("{}{}", gets[random.below(gets.len())], random.pick(&names));
                fixture.call(Method::GET, &path, Body::empty()).await
            }
            1 => {
                let mut text = random.object(6).to_string();
                text.truncate(text.floor_char_boundary(random.below(text.len() + 1)));
                fixture.call(Method::POST, &posts[random.below(posts.len())], text).await
            }
            2 => {
                let method =
                    [Method::PUT, Method::DELETE, Method::OPTIONS, Method::HEAD][random.below(4)].clone();
                let path = &posts[random.below(posts.len())];
                fixture.call(method, path, random.object(3).to_string()).await
            }
            3..=6 => {
                let (path, mut body) = templates[random.below(templates.len())].clone();
                spoil(&mut body, &mut random);
                fixture.call(Method::POST, &path, body.to_string()).await
            }
            _ => {
                let body = random.object(6).to_string();
                fixture.call(Method::POST, &posts[random.below(posts.len())], body).await
            }
        };
        assert!(
            reply.status.as_u16() < 500,
            "seed {SEED:#x}, round {round}: {} {}",
            reply.status,
            reply.text
        );
        *(if reply.status.is_success() { &mut taken } else { &mut refused }) += 1;
    }
    assert!(taken > ROUNDS / 20 && refused > ROUNDS / 20, "{taken} taken, {refused} refused: hardly a test");
    fixture.get("peers/list").await.ok();
}
