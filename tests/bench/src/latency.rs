//! How long changes take from their commit until they can be queried, as the product measures it.

use serde_json::{Value, json};

use crate::dataset;
use crate::measure::{Table, progress, thousands};
use crate::scene::Scene;

/// Changes a second.
const CHANGES_A_SECOND: u64 = 20_000;
/// Rows of one transaction.
const TRANSACTION_ROWS: u64 = 100;
/// How long it goes on.
const SECONDS: u64 = 60;

/// Commits at a steady rate whatever becomes of the rows, and reads what the mirror's status tells.
pub fn run(scene: &Scene, table: &mut Table) {
    progress("latency");
    scene.mirror("latency", &json!({"do_initial_snapshot": false, "idle_timeout_seconds": 1}));
    scene.wait_for("latency", "STATUS_RUNNING");
    let first = scene.postgres.scalar("SELECT max(id) + 1 FROM bench").expect("a number");
    let transactions = CHANGES_A_SECOND / TRANSACTION_ROWS * SECONDS;
    let took = scene.postgres.scalar("SELECT extract(epoch FROM clock_timestamp())").expect("a time");
    scene.postgres.query(&format!(
        "DO $$ DECLARE began timestamptz := clock_timestamp(); BEGIN FOR t IN 0..{transactions} - 1 LOOP
            INSERT INTO bench SELECT {} FROM generate_series({first} + t * {TRANSACTION_ROWS}, {first} + t * {TRANSACTION_ROWS} + {TRANSACTION_ROWS} - 1) n;
            COMMIT;
            PERFORM pg_sleep(greatest(0, t * {TRANSACTION_ROWS} / {CHANGES_A_SECOND}.0
                - extract(epoch FROM clock_timestamp() - began)));
        END LOOP; END $$",
        dataset::ROW
    ));
    let took = scene.postgres.scalar(&format!("SELECT extract(epoch FROM clock_timestamp()) - {took}"));
    let seconds: f64 = took.and_then(|text| text.parse().ok()).expect("a time");
    let told = latency(scene);
    let text = |key: &str| told[key].as_str().unwrap_or_default().to_owned();
    table.add(
        format!("latency at {CHANGES_A_SECOND} changes/s, from commit to queryable"),
        format!("p50 {} ms, p99 {} ms", text("p50Ms"), text("p99Ms")),
        format!(
            "{} committed, lag at the end {} ms",
            thousands((transactions * TRANSACTION_ROWS) as f64 / seconds),
            text("lagMs")
        ),
    );
    scene.bring_to("latency", "STATUS_TERMINATED");
}

fn latency(scene: &Scene) -> Value {
    let status = scene.post("mirrors/status", &json!({"flowJobName": "latency", "includeFlowInfo": true}));
    status["cdcStatus"]["latency"].clone()
}
