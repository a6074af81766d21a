//! The services of the bench, and a mirror's life as it is measured.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tarn_harness::{ClickHouse, Postgres, Tarn};

/// Longest wait for one measured step.
const PATIENCE: Duration = Duration::from_secs(1200);
/// How often a state is asked for: small beside every measured time, and rare enough to cost nothing.
const POLL: Duration = Duration::from_millis(50);

/// PostgreSQL, ClickHouse and Tarn with both as peers.
pub struct Scene {
    /// The source.
    pub postgres: Postgres,
    /// The destination.
    pub clickhouse: ClickHouse,
    /// What is measured.
    pub tarn: Tarn,
}

impl Scene {
    /// Starts everything.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with further settings of PostgreSQL.
    pub fn start_with(further: &[(&str, &str)]) -> Self {
        let mut settings = vec![("shared_buffers", "1GB"), ("max_wal_size", "8GB"), ("fsync", "off")];
        settings.extend(further);
        let scene = Self {
            postgres: Postgres::start_with(&settings),
            clickhouse: ClickHouse::start(),
            tarn: Tarn::start(),
        };
        for (name, kind, key, config) in [
            ("source", 3, "postgres_config", scene.postgres.peer_config()),
            ("target", 8, "clickhouse_config", scene.clickhouse.peer_config()),
        ] {
            scene.post("peers/create", &json!({"peer": {"name": name, "type": kind, key: config}}));
        }
        scene
    }

    /// POST under `/api/v1/`; panics unless it succeeds.
    pub fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.tarn.post(&format!("/api/v1/{path}"), body);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    /// Creates a mirror of the bench's table into a table of the mirror's name.
    pub fn mirror(&self, name: &str, further: &Value) {
        self.mirror_of("public.bench", name, further);
    }

    /// The same of another table.
    pub fn mirror_of(&self, source: &str, name: &str, further: &Value) {
        let mapping = json!({"source_table_identifier": source, "destination_table_identifier": name});
        self.mirror_tables(name, &[mapping], further);
    }

    /// The same of several tables.
    pub fn mirror_tables(&self, name: &str, mappings: &[Value], further: &Value) {
        let mut configs = json!({
            "flow_job_name": name, "source_name": "source", "destination_name": "target",
            "table_mappings": mappings,
            "do_initial_snapshot": true, "idle_timeout_seconds": 1});
        if let (Some(configs), Some(further)) = (configs.as_object_mut(), further.as_object()) {
            configs.extend(further.clone());
        }
        self.post("flows/cdc/create", &json!({"connection_configs": configs}));
    }

    /// Asks a mirror for a state and waits for it.
    pub fn bring_to(&self, mirror: &str, state: &str) {
        self.request(mirror, state);
        self.wait_for(mirror, state);
    }

    /// Asks a mirror for a state.
    pub fn request(&self, mirror: &str, state: &str) {
        let answer =
            self.post("mirrors/state_change", &json!({"flowJobName": mirror, "requestedFlowState": state}));
        assert_eq!(answer["ok"], true, "{answer}");
    }

    /// Waits for a state; how long it took.
    pub fn wait_for(&self, mirror: &str, state: &str) -> Duration {
        self.wait(&format!("{mirror} {state}"), || {
            let status = self.post("mirrors/status", &json!({"flowJobName": mirror}));
            assert_ne!(status["currentFlowState"], "STATUS_FAILED", "{}", self.log(mirror));
            status["currentFlowState"] == state
        })
    }

    /// Waits until the destination's table has this many rows; how long it took.
    pub fn wait_for_rows(&self, table: &str, rows: u64) -> Duration {
        let sql = format!("SELECT count() FROM {table}");
        self.wait(&sql, || self.clickhouse.scalar(&sql).is_some_and(|count| count.parse() == Ok(rows)))
    }

    /// Waits until all tables of the destination together have this many rows; how long it took.
    pub fn wait_for_sum(&self, rows: u64) -> Duration {
        let sql = "SELECT sum(total_rows) FROM system.tables WHERE database = currentDatabase()";
        self.wait(sql, || self.clickhouse.scalar(sql).is_some_and(|count| count.parse() == Ok(rows)))
    }

    /// Waits until the destination has taken so many rows of a mirror; how long it took.
    pub fn wait_for_synced(&self, mirror: &str, rows: u64) -> Duration {
        self.wait(&format!("{mirror} takes {rows} rows"), || {
            let status =
                self.post("mirrors/status", &json!({"flowJobName": mirror, "includeFlowInfo": true}));
            let synced = status["cdcStatus"]["rowsSynced"].as_str().and_then(|text| text.parse().ok());
            synced.is_some_and(|synced: u64| synced >= rows)
        })
    }

    fn wait(&self, what: &str, mut done: impl FnMut() -> bool) -> Duration {
        let begun = Instant::now();
        while !done() {
            assert!(begun.elapsed() < PATIENCE, "{what} did not happen");
            std::thread::sleep(POLL);
        }
        begun.elapsed()
    }

    fn log(&self, mirror: &str) -> Value {
        self.post("mirrors/logs", &json!({"flow_job_name": mirror, "page": 1, "num_per_page": 20}))
    }
}
