//! A PostgreSQL, a Kafka broker and a Tarn that knows both as peers; and what is in the broker's topics.

mod committed;

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::{Headers as _, Message as _};
use rdkafka::{Offset, TopicPartitionList};
use serde_json::{Value, json};
use tarn_harness::{HttpAnswer, Kafka, Postgres, Tarn, until_within};

use crate::PATIENCE;

/// How long a broker on this machine takes to answer, at most.
const ANSWER_DEADLINE: Duration = Duration::from_secs(20);

/// The three services. Peers are called `source` and `target`.
pub struct QueueScene {
    /// Where rows come from.
    pub postgres: Postgres,
    /// Where messages go.
    pub kafka: Kafka,
    /// What brings them there.
    pub tarn: Tarn,
}

/// A message as it is in a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueMessage {
    /// Its partition.
    pub partition: i32,
    /// Its place there.
    pub offset: i64,
    /// Its key.
    pub key: Option<String>,
    /// Its value.
    pub value: Option<String>,
    /// Its headers.
    pub headers: Vec<(String, Option<String>)>,
    /// Its time in milliseconds since 1970.
    pub timestamp_ms: Option<i64>,
}

impl QueueMessage {
    /// The value as JSON.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> Value {
        let value = self.value.as_deref().unwrap_or_else(|| panic!("no value: {self:?}"));
        serde_json::from_str(value).unwrap_or_else(|error| panic!("{error}: {value}"))
    }
}

impl QueueScene {
    /// Starts all three and creates both peers.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&json!({}))
    }

    /// The same with further settings of the Kafka peer.
    #[must_use]
    pub fn start_with(further: &Value) -> Self {
        let scene = Self { postgres: Postgres::start(), kafka: Kafka::start(), tarn: Tarn::start() };
        let mut config = scene.kafka.peer_config();
        if let (Some(config), Some(further)) = (config.as_object_mut(), further.as_object()) {
            config.extend(further.clone());
        }
        for (name, kind, key, config) in [
            ("source", 3, "postgres_config", scene.postgres.peer_config()),
            ("target", 9, "kafka_config", config),
        ] {
            let answer =
                scene.post("peers/create", &json!({"peer": {"name": name, "type": kind, key: config}}));
            assert_eq!(answer["status"], "CREATED", "{answer}");
        }
        scene
    }

    /// POST under `/api/v1/`; panics unless it succeeds.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.try_post(path, body);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    /// POST under `/api/v1/`.
    pub fn try_post(&self, path: &str, body: &Value) -> HttpAnswer {
        self.tarn.post(&format!("/api/v1/{path}"), body)
    }

    /// Creates a mirror of `(table, topic)` with a snapshot; topics have three partitions.
    #[track_caller]
    pub fn mirror(&self, name: &str, tables: &[(&str, &str)], further: &Value) {
        let answer = self.try_mirror(name, tables, further);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    /// The same, whatever the answer. `env` in `further` is added to that of the topics.
    pub fn try_mirror(&self, name: &str, tables: &[(&str, &str)], further: &Value) -> HttpAnswer {
        let mappings: Vec<_> = tables
            .iter()
            .map(|(table, topic)| {
                json!({"source_table_identifier": table, "destination_table_identifier": topic})
            })
            .collect();
        let mut configs = json!({
            "flow_job_name": name, "source_name": "source", "destination_name": "target",
            "table_mappings": mappings, "do_initial_snapshot": true, "idle_timeout_seconds": 1});
        let mut env = json!({"TARN_KAFKA_TOPIC_PARTITIONS": "3", "TARN_KAFKA_TOPIC_REPLICATION": "1"});
        if let (Some(configs), Some(further)) = (configs.as_object_mut(), further.as_object()) {
            configs.extend(further.clone());
            if let (Some(env), Some(further)) =
                (env.as_object_mut(), further.get("env").and_then(Value::as_object))
            {
                env.extend(further.clone());
            }
            configs.insert("env".to_owned(), env);
        }
        self.try_post("flows/cdc/create", &json!({"connection_configs": configs}))
    }

    /// Uploads a new Lua script.
    #[track_caller]
    pub fn script(&self, name: &str, source: &str) {
        let script = json!({"id": -1, "lang": "lua", "name": name, "source": source});
        let answer = self.post("scripts", &json!({"script": script}));
        assert!(answer["id"].as_i64().is_some_and(|id| id > 0), "{answer}");
    }

    /// The mirror's state by name.
    pub fn state(&self, mirror: &str) -> String {
        let answer = self.try_post("mirrors/status", &json!({"flowJobName": mirror}));
        answer.json()["currentFlowState"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the mirror is in a state.
    #[track_caller]
    pub fn wait_for_state(&self, mirror: &str, state: &str) {
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until_within(PATIENCE, state, || (self.state(mirror) == state).then_some(()));
        }));
        assert!(waited.is_ok(), "{mirror} is not {state}; its log:\n{}", self.log(mirror));
    }

    /// Asks for a state; panics when refused.
    #[track_caller]
    pub fn request_state(&self, mirror: &str, state: &str) {
        let body = json!({"flowJobName": mirror, "requestedFlowState": state});
        let answer = self.post("mirrors/state_change", &body);
        assert_eq!(answer["ok"], true, "{answer}");
    }

    /// The mirror's log, oldest line first.
    pub fn log(&self, mirror: &str) -> String {
        let body = json!({"flow_job_name": mirror, "page": 1, "num_per_page": 200});
        let answer = self.try_post("mirrors/logs", &body);
        if answer.status != 200 {
            return answer.text();
        }
        let answer = answer.json();
        let entries = answer["errors"].as_array().into_iter().flatten();
        let mut lines: Vec<_> =
            entries.map(|entry| entry["errorMessage"].as_str().unwrap_or_default().to_owned()).collect();
        lines.reverse();
        lines.join("\n")
    }

    /// Waits until the mirror's log has a text.
    #[track_caller]
    pub fn wait_for_log(&self, mirror: &str, text: &str) {
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until_within(PATIENCE, text, || self.log(mirror).contains(text).then_some(()));
        }));
        assert!(waited.is_ok(), "no {text:?} in the log of {mirror}:\n{}", self.log(mirror));
    }

    /// What readers of committed messages see of a topic by now, each partition's in its order. A topic that is not
    /// there has none.
    ///
    /// The broker shows messages that were given up, too; their batches tell them apart.
    #[must_use]
    pub fn messages(&self, topic: &str) -> Vec<QueueMessage> {
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", self.kafka.address())
            .set("group.id", "tests")
            .set("enable.auto.commit", "false")
            .set("isolation.level", "read_committed")
            .create()
            .expect("a consumer");
        let metadata = consumer.fetch_metadata(None, ANSWER_DEADLINE).expect("the broker answers");
        let found = metadata.topics().iter().find(|found| found.name() == topic);
        let Some(partitions) = found.map(|found| found.partitions().len()) else { return Vec::new() };
        let mut messages = Vec::new();
        for partition in 0..i32::try_from(partitions).expect("few partitions") {
            let (committed, end) = committed::ranges(&self.kafka.address(), topic, partition);
            if committed.is_empty() {
                continue;
            }
            let mut list = TopicPartitionList::new();
            list.add_partition_offset(topic, partition, Offset::Beginning).expect("a partition");
            consumer.assign(&list).expect("assigned by hand");
            let last = committed.last().map_or(-1, |range| *range.end());
            assert!(last < end, "{last} {end}");
            loop {
                let message = consumer.poll(ANSWER_DEADLINE).expect("messages that are there come");
                let message = message.expect("they can be read");
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let headers = message.headers().into_iter().flat_map(|headers| headers.iter());
                let offset = message.offset();
                if committed.iter().any(|range| range.contains(&offset)) {
                    messages.push(QueueMessage {
                        partition,
                        offset,
                        key: message.key().map(text),
                        value: message.payload().map(text),
                        headers: headers
                            .map(|header| (header.key.to_owned(), header.value.map(text)))
                            .collect(),
                        timestamp_ms: message.timestamp().to_millis(),
                    });
                }
                if offset >= last {
                    break;
                }
            }
        }
        messages
    }

    /// Waits until a topic has so many messages, and returns them. More are as wrong as fewer.
    #[track_caller]
    pub fn wait_for_messages(&self, mirror: &str, topic: &str, count: usize) -> Vec<QueueMessage> {
        let mut messages = Vec::new();
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until_within(PATIENCE, topic, || {
                messages = self.messages(topic);
                (messages.len() >= count).then_some(())
            });
        }));
        assert!(
            waited.is_ok() && messages.len() == count,
            "{} messages of {count} in {topic}: {:#?}\nthe log of {mirror}:\n{}",
            messages.len(),
            messages.iter().rev().take(5).collect::<Vec<_>>(),
            self.log(mirror)
        );
        messages
    }
}

/// The rows that someone has who takes the records of a topic in their order: each by its key. Panics where records of
/// a key come in another order than they were committed in.
#[track_caller]
#[must_use]
pub fn replayed(messages: &[QueueMessage]) -> BTreeMap<String, Value> {
    let mut rows: BTreeMap<String, (Value, (u64, u64))> = BTreeMap::new();
    let mut last: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for message in messages {
        let key = message.key.clone().unwrap_or_else(|| panic!("no key: {message:?}"));
        let record = message.json();
        let at = (lsn(&record), record["ordinal"].as_u64().expect("a number"));
        let before = last.insert(key.clone(), at).unwrap_or_default();
        assert!(before <= at, "{key}: {before:?} before {at:?} in {message:?}");
        match record["op"].as_str() {
            Some("delete") => drop(rows.remove(&key)),
            Some("read" | "insert" | "update") => drop(rows.insert(key, (record["row"].clone(), at))),
            other => panic!("{other:?} in {message:?}"),
        }
    }
    rows.into_iter().map(|(key, (row, _))| (key, row)).collect()
}

/// A record's place in the source's log.
#[track_caller]
#[must_use]
pub fn lsn(record: &Value) -> u64 {
    let text = record["lsn"].as_str().unwrap_or_else(|| panic!("no place: {record}"));
    let (upper, lower) = text.split_once('/').expect("two numbers");
    let number = |text| u64::from_str_radix(text, 16).expect("a number");
    number(upper) << 32 | number(lower)
}
