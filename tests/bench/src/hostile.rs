//! What a script that loops for ever costs a neighbour: records through another script, alone and beside it.
//!
//! Both have a task of a runtime of so many threads. A script is interrupted every hundredth of a second and lets
//! others have their turn, so of two scripts on one thread each has half of it, and of two on two threads each
//! has its own. On a machine of more cores than threads the figure is that of the scheduler alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tarn_replication::{Batch, Transform as _};
use tarn_wasm::{Capabilities, Limits, Manifest, Runtime, RuntimeConfig, ScriptInstance, compile_lua};

use crate::measure::{Table, progress};
use crate::script::batch;

/// How long each of the two is measured.
const MEASURED: Duration = Duration::from_secs(3);

/// Measures a neighbour's rate on one thread and on two.
pub fn run(table: &mut Table) {
    progress("a hostile script");
    let batch = batch();
    for threads in [1, 2] {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .enable_all()
            .build()
            .expect("a runtime");
        let alone = runtime.block_on(rate(&batch, Beside::Nothing));
        let beside = runtime.block_on(rate(&batch, Beside::Loop));
        table.add(
            format!("script, beside one that loops for ever, {threads} thread(s)"),
            format!("{:.0} k records/s", beside / 1000.0),
            format!("{:.2} of it alone; its share is {:.2}", beside / alone, f64::from(threads as u32) / 2.0),
        );
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    Loop,
}

/// Records a second through a script that changes a field.
async fn rate(batch: &Batch, beside: Beside) -> f64 {
    let sandbox =
        Runtime::new(RuntimeConfig { instances_max: 4, ..RuntimeConfig::default() }).expect("the sandbox");
    let over = Arc::new(AtomicBool::new(false));
    let hostile = (beside == Beside::Loop).then(|| {
        let (sandbox, batch, over) = (sandbox.clone(), batch.clone(), Arc::clone(&over));
        tokio::spawn(async move {
            // Stopped at its limit, a mirror would fail; the worst is one that somebody resumes at once.
            while !over.load(Ordering::Relaxed) {
                let mut script = instance(&sandbox, "function onRecord(r) while true do end end").await;
                script.apply(batch.clone()).await.expect_err("it is stopped");
            }
        })
    });
    let good = "function onRecord(r) r.row.c3 = 'x' return r.row end";
    let mut script = instance(&sandbox, good).await;
    let batch = batch.clone();
    let measured = tokio::spawn(async move {
        let begun = Instant::now();
        let mut records = 0;
        while begun.elapsed() < MEASURED {
            records += u64::from(script.apply(batch.clone()).await.expect("applied").batch.rows);
        }
        records as f64 / begun.elapsed().as_secs_f64()
    });
    let rate = measured.await.expect("no panic");
    over.store(true, Ordering::Relaxed);
    if let Some(hostile) = hostile {
        hostile.await.expect("no panic");
    }
    rate
}

async fn instance(sandbox: &Runtime, source: &str) -> ScriptInstance {
    let script = compile_lua(tarn_bundle::SCRIPT_LUA, "bench", source).expect("it compiles");
    let component = sandbox.load(&Manifest::script("bench"), script.component).await.expect("it loads");
    // A limit above the measurement, so that it loops all the time.
    let limits = Limits { run_time_max: MEASURED * 2, ..Limits::script() };
    let mut instance = sandbox.script(&component, Capabilities::none(), limits).await.expect("an instance");
    let settings = r#"{"tables": [{"source": "public.bench", "destination": "bench"}], "output": "rows"}"#;
    instance.open(settings).await.expect("it opens");
    instance
}
