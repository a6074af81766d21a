//! What Tarn costs on this machine, as ratios to limits measured in the same run.
//!
//! ```text
//! snapshot   rows/s of a mirror's load       against one `COPY … (FORMAT binary)` to nowhere
//! stream     changes/s from slot to table    against `pg_recvlogical` on a slot with the same changes
//! queue      changes/s from slot to topic    against the same
//! memory     peak of the process             during one transaction of millions of rows
//! wide       peak of the process             during the load, and the stream, of rows of 50 MB
//! tables     s and peak                      of a mirror of very many tables
//! latency    ms from a change's commit until it can be queried, as the product tells, at 20,000 changes a second
//! api        ms to an answer                  with 200 mirrors, at 500 requests a second
//! script     µs a record in the sandbox      against the same runtime built natively, and mlua; JavaScript against Lua
//! hostile    records/s of a script           beside one that loops for ever, against alone
//! ```
//!
//! Arguments name the parts to measure: `script`, `hostile`, `api`, `rows` (snapshot, stream and memory), `latency`;
//! none means all of these. `queue`, `wide`, `tables`, and `transaction` (memory alone) are measured where they are named.
//! Figures are of one machine at one time; ratios travel. Nothing here asserts a speed.

mod api;
mod dataset;
mod hostile;
mod latency;
mod limits;
mod measure;
mod memory;
mod process;
mod queue;
mod scene;
mod script;
mod snapshot;
mod stream;
mod tables;

use measure::Table;
use scene::Scene;

/// Rows of the snapshot's table. Override with `TARN_BENCH_ROWS`.
const SNAPSHOT_ROWS: u64 = 5_000_000;
/// Changes of the stream. Override with `TARN_BENCH_CHANGES`.
const STREAM_CHANGES: u64 = 1_000_000;
/// Rows of the large transaction. Override with `TARN_BENCH_TRANSACTION_ROWS`.
const TRANSACTION_ROWS: u64 = 5_000_000;
/// Rows of 50 MB, and as many again by the stream. Override with `TARN_BENCH_WIDE_ROWS`.
const WIDE_ROWS: u64 = 50;
/// Tables of the mirror of very many. Override with `TARN_BENCH_TABLES`.
const TABLES: u64 = 10_000;

fn main() {
    let parts: Vec<String> = std::env::args().skip(1).collect();
    let named = |part: &str| parts.iter().any(|named| named == part);
    let wanted = |part: &str| parts.is_empty() || named(part);
    let mut table = Table::default();
    if wanted("script") {
        script::run(&mut table);
    }
    if wanted("hostile") {
        hostile::run(&mut table);
    }
    if wanted("api") {
        api::run(&mut table);
    }
    if wanted("rows") {
        measure_rows(&mut table);
    }
    if wanted("latency") {
        let scene = Scene::start();
        dataset::create(&scene.postgres, 1);
        latency::run(&scene, &mut table);
    }
    if named("queue") {
        let scene = Scene::start();
        dataset::create(&scene.postgres, 1);
        queue::run(&scene, from_environment("TARN_BENCH_CHANGES", STREAM_CHANGES), &mut table);
    }
    if named("wide") {
        memory::wide(&Scene::start(), from_environment("TARN_BENCH_WIDE_ROWS", WIDE_ROWS), &mut table);
    }
    if named("transaction") {
        let scene = Scene::start();
        dataset::create(&scene.postgres, 1);
        scene.mirror("stream", &serde_json::json!({"max_batch_size": 250_000}));
        scene.wait_for("stream", "STATUS_RUNNING");
        memory::run(&scene, from_environment("TARN_BENCH_TRANSACTION_ROWS", TRANSACTION_ROWS), &mut table);
    }
    if named("tables") {
        tables::run(from_environment("TARN_BENCH_TABLES", TABLES), &mut table);
    }
    table.print();
}

/// Snapshot, stream and memory, one after another on the same services.
fn measure_rows(table: &mut Table) {
    let scene = Scene::start();
    let rows = from_environment("TARN_BENCH_ROWS", SNAPSHOT_ROWS);
    dataset::create(&scene.postgres, rows);
    snapshot::run(&scene, rows, table);
    stream::run(&scene, from_environment("TARN_BENCH_CHANGES", STREAM_CHANGES), table);
    memory::run(&scene, from_environment("TARN_BENCH_TRANSACTION_ROWS", TRANSACTION_ROWS), table);
}

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
