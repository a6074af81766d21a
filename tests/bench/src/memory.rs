//! One transaction of millions of rows.

use crate::dataset;
use crate::measure::{Table, progress, rate, thousands};
use crate::process::{peak_mib, reset_peak};
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
