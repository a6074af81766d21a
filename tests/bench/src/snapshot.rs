//! The load of a table.

use serde_json::json;

use crate::measure::{Table, progress, rate, thousands};
use crate::process::{cpu_seconds, peak_mib, reset_peak};
use crate::scene::Scene;
use crate::{dataset, limits};

/// Measures loads by one worker and by four against one COPY, and one with a script.
pub fn run(scene: &Scene, rows: u64, table: &mut Table) {
    progress("snapshot");
    limits::copy_binary(&scene.postgres); // warms the cache
    let copy = rate(rows, limits::copy_binary(&scene.postgres));
    table.add("COPY (FORMAT binary) to nowhere, one connection", thousands(copy), "the limit");
    let script = json!({"id": -1, "lang": "lua", "name": "mask",
        "source": "function onRecord(r)\n  r.row.email = '***'\n  return r.row\nend"});
    scene.post("scripts", &json!({"script": script}));
    for (name, workers, script) in [("one", 1, ""), ("four", 4, ""), ("masked", 4, "mask")] {
        let further = json!({"snapshot_max_parallel_workers": workers, "script": script,
            "snapshot_num_rows_per_partition": 100_000});
        let process = scene.tarn.process_id();
        reset_peak(process);
        let before = cpu_seconds(process);
        scene.mirror(name, &further);
        let time = scene.wait_for(name, "STATUS_RUNNING");
        let cpu = cpu_seconds(process) - before;
        scene.wait_for_rows(name, rows);
        let workers_text = if workers == 1 { "1 worker" } else { "4 workers" };
        let what = format!(
            "snapshot, {workers_text}{}",
            if script.is_empty() { "" } else { ", Lua changes one field" }
        );
        let loaded = rate(rows, time);
        table.add(&what, thousands(loaded), format!("{:.2} of COPY", loaded / copy));
        table.add(
            format!("{what}: CPU of tarn"),
            format!("{:.1} s a million rows", cpu * 1e6 / rows as f64),
            format!("peak memory {} MiB", peak_mib(process)),
        );
        scene.bring_to(name, "STATUS_TERMINATED");
    }
    dataset::create(&scene.postgres, 1);
}
