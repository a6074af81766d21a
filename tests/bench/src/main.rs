//! What Tarn costs on this machine, as ratios to limits measured in the same run.
//!
//! ```text
//! snapshot   rows/s of a mirror's load       against one `COPY … (FORMAT binary)` to nowhere
//! stream     changes/s from slot to table    against `pg_recvlogical` on a slot with the same changes
//! memory     peak of the process             during one transaction of millions of rows
//! script     µs a record in the sandbox      against the same runtime built natively
//! ```
//!
//! Figures are of one machine at one time; ratios travel. Nothing here asserts a speed.

mod dataset;
mod limits;
mod measure;
mod memory;
mod process;
mod scene;
mod script;
mod snapshot;
mod stream;

use measure::Table;
use scene::Scene;

/// Rows of the snapshot's table. Override with `TARN_BENCH_ROWS`.
const SNAPSHOT_ROWS: u64 = 5_000_000;
/// Changes of the stream. Override with `TARN_BENCH_CHANGES`.
const STREAM_CHANGES: u64 = 1_000_000;
/// Rows of the large transaction. Override with `TARN_BENCH_TRANSACTION_ROWS`.
const TRANSACTION_ROWS: u64 = 5_000_000;

fn main() {
    let mut table = Table::default();
    script::run(&mut table);
    let scene = Scene::start();
    let rows = from_environment("TARN_BENCH_ROWS", SNAPSHOT_ROWS);
    dataset::create(&scene.postgres, rows);
    snapshot::run(&scene, rows, &mut table);
    stream::run(&scene, from_environment("TARN_BENCH_CHANGES", STREAM_CHANGES), &mut table);
    memory::run(&scene, from_environment("TARN_BENCH_TRANSACTION_ROWS", TRANSACTION_ROWS), &mut table);
    table.print();
}

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
