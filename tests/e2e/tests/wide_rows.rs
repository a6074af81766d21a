//! Rows of tens of megabytes.

use serde_json::json;
use tarn_e2e::Scene;
use tarn_harness::{peak_mib, reset_peak};

/// Bytes of a row, and how many there are of them each way.
const ROW_BYTES: usize = 50_000_000;
const ROWS: usize = 6;

/// MiB that the whole process takes at most meanwhile, connectors and all.
const PEAK_MIB_MAX: u64 = 400;

fn insert(first: usize) -> String {
    format!(
        "INSERT INTO wide SELECT n, 'small', repeat(chr(65 + n), {ROW_BYTES}) FROM generate_series({first}, {first} + {ROWS} - 1) n"
    )
}

#[test]
fn rows_of_fifty_megabytes_pass_by_load_and_by_stream_in_bounded_memory() {
    // B127, B128.
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE wide (id int PRIMARY KEY, s text, t text); ALTER TABLE wide ALTER t SET STORAGE EXTERNAL",
    );
    scene.postgres.query(&insert(1));
    let process = scene.tarn.process_id();
    reset_peak(process);
    scene.mirror("wide", &[("public.wide", "wide")], &json!({}));
    scene.wait_for_state("wide", "STATUS_RUNNING");
    let sums = |sql: &str| scene.clickhouse.query(sql);
    let target = "SELECT toString(id), s, lower(hex(MD5(t))) FROM wide FINAL ORDER BY id";
    let source = "SELECT id::text, s, md5(t) FROM wide ORDER BY wide.id";
    assert_eq!(sums(target), scene.postgres.query(source));
    let loaded = peak_mib(process);
    reset_peak(process);
    scene.postgres.query(&insert(1 + ROWS));
    scene.wait_until_equal(source, target);
    let streamed = peak_mib(process);
    reset_peak(process);
    // What the change leaves out is taken from the destination.
    scene.postgres.query("UPDATE wide SET s = 'changed'; DELETE FROM wide WHERE id % 3 = 0");
    scene.wait_until_equal(source, target);
    let completed = peak_mib(process);
    for (what, peak) in [("load", loaded), ("stream", streamed), ("completing", completed)] {
        assert!(
            peak < PEAK_MIB_MAX,
            "{what}: {peak} MiB of {PEAK_MIB_MAX}; all: {loaded}, {streamed}, {completed}"
        );
    }
}
