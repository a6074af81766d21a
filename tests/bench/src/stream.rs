//! Changes from the slot to the destination's table.

use serde_json::json;

use crate::measure::{Table, progress, rate, thousands};
use crate::process::cpu_seconds;
use crate::scene::Scene;
use crate::{dataset, limits};

/// Rows of one transaction.
const TRANSACTION_ROWS: u64 = 1000;

/// Measures the same changes read by `pg_recvlogical` and brought to the table by a mirror.
pub fn run(scene: &Scene, changes: u64, table: &mut Table) {
    progress("stream");
    scene.mirror("stream", &json!({"max_batch_size": 250_000}));
    scene.wait_for("stream", "STATUS_RUNNING");
    scene.bring_to("stream", "STATUS_PAUSED");
    scene.postgres.query("SELECT pg_create_logical_replication_slot('bench_limit', 'pgoutput')");
    let transactions = changes / TRANSACTION_ROWS;
    scene.postgres.query(&format!(
        "DO $$ BEGIN FOR t IN 1..{transactions} LOOP
            INSERT INTO bench SELECT {} FROM generate_series(t * {TRANSACTION_ROWS} + 2, t * {TRANSACTION_ROWS} + {TRANSACTION_ROWS} + 1) n;
            COMMIT;
        END LOOP; END $$",
        dataset::ROW
    ));
    let end = scene.postgres.scalar("SELECT pg_current_wal_flush_lsn()").expect("a position");
    let limit = rate(changes, limits::receive(&scene.postgres, "bench_limit", "tarn_pub_stream", &end));
    scene.postgres.query("SELECT pg_drop_replication_slot('bench_limit')");
    table.add("pg_recvlogical to nowhere", thousands(limit), "the limit");

    let process = scene.tarn.process_id();
    let before = cpu_seconds(process);
    scene.request("stream", "STATUS_RUNNING");
    let time = scene.wait_for_rows("stream", transactions * TRANSACTION_ROWS + 1);
    let cpu = cpu_seconds(process) - before;
    let streamed = rate(changes, time);
    table.add(
        "stream, slot to table",
        thousands(streamed),
        format!("{:.2} of pg_recvlogical", streamed / limit),
    );
    table.add("stream: CPU of tarn", format!("{:.1} s a million changes", cpu * 1e6 / changes as f64), "");
}
