//! What memory large things take: one transaction of millions of rows, and rows of tens of megabytes.

use serde_json::json;
use tarn_harness::{peak_mib, reset_peak};

use crate::dataset;
use crate::measure::{Table, progress, rate, thousands};
use crate::scene::Scene;

/// Keys of the transaction begin here, above those of the other measurements.
const FIRST_KEY: u64 = 100_000_000;

/// Measures the peak of the process while the mirror of the stream takes one large transaction.
pub fn run(scene: &Scene, rows: u64, table: &mut Table) {
    progress("one large transaction");
    let before: u64 =
        scene.clickhouse.scalar("SELECT count() FROM stream").and_then(|n| n.parse().ok()).unwrap_or(0);
    let process = scene.tarn.process_id();
    reset_peak(process);
    scene.postgres.query(&format!(
        "INSERT INTO bench SELECT {} FROM generate_series({FIRST_KEY}, {FIRST_KEY} + {rows} - 1) n",
        dataset::ROW
    ));
    let time = scene.wait_for_rows("stream", before + rows);
    table.add(
        format!("one transaction of {rows} rows: peak memory of tarn"),
        format!("{} MiB", peak_mib(process)),
        format!("{} after its commit", thousands(rate(rows, time))),
    );
    scene.bring_to("stream", "STATUS_TERMINATED");
}

/// Bytes of a wide row.
const WIDE_BYTES: u64 = 50_000_000;

/// Measures the peak while wide rows are loaded, and while as many come by the stream.
pub fn wide(scene: &Scene, rows: u64, table: &mut Table) {
    progress("wide rows");
    let wide = |first: u64| {
        format!(
            "INSERT INTO wide SELECT n, repeat(chr(65 + n::int % 26), {WIDE_BYTES}) FROM generate_series({first}, {first} + {rows} - 1) n"
        )
    };
    scene.postgres.query(
        "CREATE TABLE wide (id bigint PRIMARY KEY, t text); ALTER TABLE wide ALTER t SET STORAGE EXTERNAL",
    );
    scene.postgres.query(&wide(1));
    let process = scene.tarn.process_id();
    reset_peak(process);
    scene.mirror_of("public.wide", "wide", &json!({}));
    let time = scene.wait_for("wide", "STATUS_RUNNING");
    let mib =
        |rows: u64, seconds: f64| format!("{:.0} MiB/s", (rows * WIDE_BYTES) as f64 / 1048576.0 / seconds);
    table.add(
        format!("{rows} rows of {WIDE_BYTES} bytes, loaded: peak memory of tarn"),
        format!("{} MiB", peak_mib(process)),
        mib(rows, time.as_secs_f64()),
    );
    reset_peak(process);
    scene.postgres.query(&wide(rows + 1));
    let time = scene.wait_for_rows("wide", 2 * rows);
    table.add(
        "as many by the stream, in one transaction",
        format!("{} MiB", peak_mib(process)),
        format!("{} after its commit", mib(rows, time.as_secs_f64())),
    );
    let sound = format!("SELECT countIf(length(t) = {WIDE_BYTES}) FROM wide FINAL");
    assert_eq!(scene.clickhouse.scalar(&sound), Some((2 * rows).to_string()));
    scene.bring_to("wide", "STATUS_TERMINATED");
}
