//! Changes from the slot to the destination's table.

use serde_json::json;

use crate::measure::{Table, progress, rate, thousands};
use crate::process::cpu_seconds;
use crate::scene::Scene;
use crate::{dataset, limits};

/// Rows of one transaction.
const TRANSACTION_ROWS: u64 = 1000;

/// Rows after the changes: one was there before.
fn rows_after(changes: u64) -> u64 {
    changes / TRANSACTION_ROWS * TRANSACTION_ROWS + 1
}

/// Measures the same changes read by `pg_recvlogical`, and brought to tables by a mirror without and by one with
/// a script. The mirror `stream` runs on.
pub fn run(scene: &Scene, changes: u64, table: &mut Table) {
    progress("stream");
    let script = json!({"id": -1, "lang": "lua", "name": "two_fields",
        "source": "function onRecord(r)\n  r.row.email = '***'\n  r.row.kind = r.row.kind + 1\n  return r.row\nend"});
    scene.post("scripts", &json!({"script": script}));
    let mirrors = [("stream", ""), ("scripted", "two_fields")];
    for (mirror, script) in mirrors {
        scene.mirror(mirror, &json!({"max_batch_size": 250_000, "script": script}));
        scene.wait_for(mirror, "STATUS_RUNNING");
        scene.bring_to(mirror, "STATUS_PAUSED");
    }
    let limit = limits::receive_changes(&scene.postgres, "tarn_pub_stream", || change(scene, changes));
    let limit = rate(changes, limit);
    table.add("pg_recvlogical to nowhere", thousands(limit), "the limit");

    let scripted = measure(scene, "scripted", changes, table);
    scene.bring_to("scripted", "STATUS_TERMINATED");
    let plain = measure(scene, "stream", changes, table);
    table.add("stream, slot to table", thousands(plain), format!("{:.2} of pg_recvlogical", plain / limit));
    table.add(
        "stream, Lua changes two fields",
        thousands(scripted),
        format!("{:.2} of the stream without", scripted / plain),
    );
}

/// Commits so many changes, whatever becomes of them.
pub fn change(scene: &Scene, changes: u64) {
    let transactions = changes / TRANSACTION_ROWS;
    scene.postgres.query(&format!(
        "DO $$ BEGIN FOR t IN 1..{transactions} LOOP
            INSERT INTO bench SELECT {} FROM generate_series(t * {TRANSACTION_ROWS} + 2, t * {TRANSACTION_ROWS} + {TRANSACTION_ROWS} + 1) n;
            COMMIT;
        END LOOP; END $$",
        dataset::ROW
    ));
}

/// Changes a second of a mirror that has everything before it and nothing beside it.
fn measure(scene: &Scene, mirror: &str, changes: u64, table: &mut Table) -> f64 {
    let process = scene.tarn.process_id();
    let before = cpu_seconds(process);
    scene.request(mirror, "STATUS_RUNNING");
    let time = scene.wait_for_rows(mirror, rows_after(changes));
    let cpu = cpu_seconds(process) - before;
    table.add(
        format!("{mirror}: CPU of tarn"),
        format!("{:.1} s a million changes", cpu * 1e6 / changes as f64),
        "",
    );
    rate(changes, time)
}
