//! A PostgreSQL, a ClickHouse and a Tarn that knows both as peers.

use std::time::Duration;

use serde_json::{Value, json};
use tarn_harness::{ClickHouse, HttpAnswer, Postgres, Tarn, until_within};

/// Longest wait for anything that should happen "within a second or two" on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// The three services. Peers are called `source` and `target`.
pub struct Scene {
    /// Where rows come from.
    pub postgres: Postgres,
    /// Where they go.
    pub clickhouse: ClickHouse,
    /// What brings them there.
    pub tarn: Tarn,
}

impl Scene {
    /// Starts all three and creates both peers.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[], &[])
    }

    /// The same with settings of PostgreSQL and environment variables of Tarn.
    #[must_use]
    pub fn start_with(postgres: &[(&str, &str)], tarn: &[(&str, &str)]) -> Self {
        Self::start_on(Postgres::start_with(postgres), tarn)
    }

    /// The same on a PostgreSQL that was started before.
    #[must_use]
    pub fn start_on(postgres: Postgres, tarn: &[(&str, &str)]) -> Self {
        let scene = Self { postgres, clickhouse: ClickHouse::start(), tarn: Tarn::start_with(tarn) };
        scene.create_peers();
        scene
    }

    /// Creates, or updates, both peers.
    pub fn create_peers(&self) {
        for (name, kind, key, config) in [
            ("source", 3, "postgres_config", self.postgres.peer_config()),
            ("target", 8, "clickhouse_config", self.clickhouse.peer_config()),
        ] {
            let body = json!({"peer": {"name": name, "type": kind, key: config}, "allow_update": true});
            let answer = self.post("peers/create", &body);
            assert_eq!(answer["status"], "CREATED", "{answer}");
        }
    }

    /// POST under `/api/v1/`; panics unless it succeeds.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.try_post(path, body);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    /// POST under `/api/v1/`.
    #[track_caller]
    pub fn try_post(&self, path: &str, body: &Value) -> HttpAnswer {
        self.tarn.post(&format!("/api/v1/{path}"), body)
    }

    /// Creates a mirror of `(source, destination)` tables with a snapshot and a short idle timeout.
    #[track_caller]
    pub fn mirror(&self, name: &str, tables: &[(&str, &str)], further: &Value) {
        let answer = self.try_mirror(name, tables, further);
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.json()["workflowId"], format!("{name}-peerflow"));
    }

    /// The same, whatever the answer.
    pub fn try_mirror(&self, name: &str, tables: &[(&str, &str)], further: &Value) -> HttpAnswer {
        let mappings: Vec<_> = tables
            .iter()
            .map(|(source, destination)| {
                json!({"source_table_identifier": source, "destination_table_identifier": destination})
            })
            .collect();
        let mut configs = json!({
            "flow_job_name": name, "source_name": "source", "destination_name": "target",
            "table_mappings": mappings, "do_initial_snapshot": true, "idle_timeout_seconds": 1});
        if let (Some(configs), Some(further)) = (configs.as_object_mut(), further.as_object()) {
            configs.extend(further.clone());
        }
        self.try_post("flows/cdc/create", &json!({"connection_configs": configs}))
    }

    /// Uploads a new Lua script; its id.
    #[track_caller]
    pub fn script(&self, name: &str, source: &str) -> i64 {
        self.script_in("lua", name, source)
    }

    /// Uploads a new script in a language; its id.
    #[track_caller]
    pub fn script_in(&self, language: &str, name: &str, source: &str) -> i64 {
        let script = json!({"id": -1, "lang": language, "name": name, "source": source});
        let answer = self.post("scripts", &json!({"script": script}));
        answer["id"].as_i64().filter(|id| *id > 0).unwrap_or_else(|| panic!("no id: {answer}"))
    }

    /// The mirror's state by name.
    pub fn state(&self, mirror: &str) -> String {
        let answer = self.try_post("mirrors/status", &json!({"flowJobName": mirror}));
        answer.json()["currentFlowState"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the mirror is in a state.
    #[track_caller]
    pub fn wait_for_state(&self, mirror: &str, state: &str) {
        until_within(PATIENCE, &format!("{mirror} is {state}; its log:\n{}", self.log(mirror)), || {
            (self.state(mirror) == state).then_some(())
        });
    }

    /// Asks for a state; panics when refused.
    #[track_caller]
    pub fn request_state(&self, mirror: &str, state: &str) {
        let body = json!({"flowJobName": mirror, "requestedFlowState": state});
        let answer = self.post("mirrors/state_change", &body);
        assert_eq!(answer["ok"], true, "{answer}");
    }

    /// The log of every mirror, oldest line first.
    pub fn all_logs(&self) -> String {
        self.log("")
    }

    /// The mirror's log, oldest line first; of every mirror where no name is given.
    pub fn log(&self, mirror: &str) -> String {
        let body = json!({"flow_job_name": mirror, "page": 1, "num_per_page": 200});
        let answer = self.try_post("mirrors/logs", &body);
        if answer.status != 200 {
            return answer.text();
        }
        let mut lines: Vec<_> = answer.json()["errors"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|entry| {
                let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
                format!("{}: {}", text("errorType"), text("errorMessage"))
            })
            .collect();
        lines.reverse();
        lines.join("\n")
    }

    /// Waits until a query at the destination answers this text.
    #[track_caller]
    pub fn wait_for_target(&self, sql: &str, expected: &str) {
        let mut last = String::new();
        let arrived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until_within(PATIENCE, sql, || {
                last = format!("{:?}", self.clickhouse.try_query(sql));
                let answer = self.clickhouse.try_query(sql).ok()?;
                let value = answer.first()?.first()?.clone().unwrap_or_else(|| "NULL".into());
                (value == expected).then_some(())
            });
        }));
        assert!(arrived.is_ok(), "{sql}: expected {expected}, last {last}");
    }

    /// Waits until both queries answer the same rows.
    #[track_caller]
    pub fn wait_until_equal(&self, source_sql: &str, target_sql: &str) {
        crate::comparison::wait_until_equal(self, source_sql, target_sql, PATIENCE);
    }

    /// Replication slots and publications at the source that Tarn made.
    pub fn leftovers(&self) -> Vec<String> {
        let sql = "SELECT 'slot ' || slot_name FROM pg_replication_slots WHERE slot_name LIKE 'tarn%' \
                   UNION ALL SELECT 'publication ' || pubname FROM pg_publication WHERE pubname LIKE 'tarn%'";
        self.postgres.query(sql).into_iter().flatten().flatten().collect()
    }
}
