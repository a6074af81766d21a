//! A mirror of very many tables, most of them empty.

use std::time::Instant;

use serde_json::{Value, json};
use tarn_harness::{peak_mib, reset_peak};

use crate::measure::{Table, progress};
use crate::scene::Scene;

/// Every so many tables one has rows.
const FILLED_EVERY: u64 = 100;

/// Measures creating such a mirror, its load, and a change in every table.
pub fn run(tables: u64, table: &mut Table) {
    progress("many tables");
    let scene = Scene::start_with(&[("max_locks_per_transaction", "20000")]);
    scene.postgres.query(&format!(
        "DO $$ BEGIN FOR t IN 1..{tables} LOOP
            EXECUTE format('CREATE TABLE t%s (id int PRIMARY KEY, a text, b numeric(10,2), c timestamptz)', t);
            IF t % {FILLED_EVERY} = 0 THEN EXECUTE format('INSERT INTO t%s SELECT n, ''x'', n, now() FROM generate_series(1, 1000) n', t); END IF;
            IF t % 500 = 0 THEN COMMIT; END IF;
        END LOOP; END $$"
    ));
    let mappings: Vec<Value> = (1..=tables)
        .map(|t| json!({"source_table_identifier": format!("public.t{t}"), "destination_table_identifier": format!("t{t}")}))
        .collect();
    let process = scene.tarn.process_id();
    reset_peak(process);
    let begun = Instant::now();
    scene.mirror_tables("many", &mappings, &json!({}));
    let seconds = |begun: Instant| format!("{:.1} s", begun.elapsed().as_secs_f64());
    table.add(format!("{tables} tables: created"), seconds(begun), format!("peak {} MiB", peak_mib(process)));
    let begun = Instant::now();
    scene.wait_for("many", "STATUS_RUNNING");
    table.add("loaded", seconds(begun), format!("peak {} MiB", peak_mib(process)));
    let changed = |from: u64, to: u64| {
        scene.postgres.query(&format!(
            "DO $$ BEGIN FOR t IN {from}..{to} LOOP EXECUTE format('INSERT INTO t%s VALUES (5000, ''y'', 1, now())', t); END LOOP; END $$"
        ));
    };
    reset_peak(process);
    let begun = Instant::now();
    changed(1, 1);
    scene.wait_for_rows("t1", 1);
    table.add("a change in one", seconds(begun), "");
    let begun = Instant::now();
    changed(2, tables);
    // Asking for all of them again and again would take a core.
    scene.wait_for_rows(&format!("t{tables}"), if tables.is_multiple_of(FILLED_EVERY) { 1001 } else { 1 });
    scene.wait_for_sum(tables + tables / FILLED_EVERY * 1000);
    table.add(
        "a change in each of the others, one transaction",
        seconds(begun),
        format!("peak {} MiB", peak_mib(process)),
    );
    let begun = Instant::now();
    scene.bring_to("many", "STATUS_PAUSED");
    scene.bring_to("many", "STATUS_RUNNING");
    table.add("paused and resumed", seconds(begun), "");
    let begun = Instant::now();
    scene.bring_to("many", "STATUS_TERMINATED");
    table.add("dropped", seconds(begun), "");
}
