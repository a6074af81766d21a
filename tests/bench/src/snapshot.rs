//! The load of a table.

use serde_json::json;
use tarn_harness::{peak_mib, reset_peak};

use crate::measure::{Table, progress, rate, thousands};
use crate::process::cpu_seconds;
use crate::scene::Scene;
use crate::{dataset, limits};

/// Workers of the larger load: the default of mirrors.
const WORKERS: u64 = 4;

/// Measures loads by one worker and by four, each against one `COPY` for each worker, and one with a script.
/// Where there are fewer processors than workers and what they need, no load comes near the latter: what
/// that many connections reach by themselves stands beside it.
pub fn run(scene: &Scene, rows: u64, table: &mut Table) {
    progress("snapshot");
    limits::copy_binary(&scene.postgres, 1); // warms the cache
    let copy = rate(rows, limits::copy_binary(&scene.postgres, 1));
    table.add("COPY (FORMAT binary) to nowhere, 1 connection", thousands(copy), "the limit of a worker");
    let copies = rate(rows, limits::copy_binary(&scene.postgres, WORKERS));
    let what = format!("the same, {WORKERS} connections at once");
    table.add(what, thousands(copies), format!("{:.2} of one for each", copies / copy / WORKERS as f64));
    let script = json!({"id": -1, "lang": "lua", "name": "mask",
        "source": "function onRecord(r)\n  r.row.email = '***'\n  return r.row\nend"});
    scene.post("scripts", &json!({"script": script}));
    for (name, workers, limit, script) in
        [("one", 1, copy, ""), ("four", WORKERS, copies, ""), ("masked", WORKERS, copies, "mask")]
    {
        let further = json!({"snapshot_max_parallel_workers": workers, "script": script});
        let process = scene.tarn.process_id();
        reset_peak(process);
        let before = cpu_seconds(process);
        scene.mirror(name, &further);
        let time = scene.wait_for(name, "STATUS_RUNNING");
        let cpu = cpu_seconds(process) - before;
        scene.wait_for_rows(name, rows);
        let workers_text = if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") };
        let what = format!(
            "snapshot, {workers_text}{}",
            if script.is_empty() { "" } else { ", Lua changes one field" }
        );
        let loaded = rate(rows, time);
        let ratio = format!("{:.2} of COPY for each worker", loaded / copy / workers as f64);
        let against =
            if workers == 1 { ratio } else { format!("{ratio}, {:.2} of {workers} at once", loaded / limit) };
        table.add(&what, thousands(loaded), against);
        table.add(
            format!("{what}: CPU of tarn"),
            format!("{:.1} s a million rows", cpu * 1e6 / rows as f64),
            format!("peak memory {} MiB", peak_mib(process)),
        );
        scene.bring_to(name, "STATUS_TERMINATED");
    }
    dataset::create(&scene.postgres, 1);
}
