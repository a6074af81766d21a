//! Both sides' answers to a query, waited for until they are the same.

use std::time::{Duration, Instant};

use tarn_harness::Row;

use crate::scene::Scene;

/// Differing rows shown in a failure.
const SHOWN: usize = 5;

/// Waits until both queries give the same rows; panics with the first differences under the deadline.
#[track_caller]
pub(crate) fn wait_until_equal(scene: &Scene, source_sql: &str, target_sql: &str, deadline: Duration) {
    let begun = Instant::now();
    loop {
        let (source, target) = (scene.postgres.try_query(source_sql), scene.clickhouse.try_query(target_sql));
        if let (Ok(source), Ok(target)) = (&source, &target)
            && source == target
        {
            return;
        }
        assert!(
            begun.elapsed() < deadline,
            "the sides differ: {}\n{}",
            describe(&source, &target),
            scene.all_logs()
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn describe(source: &Result<Vec<Row>, String>, target: &Result<Vec<Row>, String>) -> String {
    let (Ok(source), Ok(target)) = (source, target) else {
        return format!("source {:?}, target {:?}", source.as_ref().err(), target.as_ref().err());
    };
    let differing: Vec<_> = source
        .iter()
        .map(Some)
        .chain(std::iter::repeat(None))
        .zip(target.iter().map(Some).chain(std::iter::repeat(None)))
        .take(source.len().max(target.len()))
        .filter(|(left, right)| left != right)
        .take(SHOWN)
        .collect();
    format!("{} rows against {}; first differences {differing:#?}", source.len(), target.len())
}
