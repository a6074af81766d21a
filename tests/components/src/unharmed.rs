//! The host goes on as if nothing had been.

use std::fs;

use tarn_wasm::{Capabilities, Limits};

use crate::sandbox::{commit, instance, read, tight};

/// Memory of this process that is not in files.
fn resident_bytes() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).expect("RssAnon");
    let kib: usize = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number");
    kib << 10
}

#[tokio::test]
async fn two_hundred_traps_in_a_row_leave_nothing_behind() {
    let misdeeds = ["panic", "trap", "recursion", "allocation", "output", "host-call-flood"];
    let limits = Limits { host_calls_max: 1000, ..tight() };
    for misdeed in misdeeds {
        commit(misdeed, limits).await.expect_err("stopped");
    }
    let before = resident_bytes();
    for misdeed in misdeeds.iter().cycle().take(200) {
        commit(misdeed, limits).await.expect_err("stopped");
    }
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 16 << 20, "200 traps left {grown} bytes");
    let changes = commit("good", limits).await.expect("a good call after them");
    assert_eq!(changes.batch.map(|batch| batch.rows), Some(1));
}

#[tokio::test]
async fn an_instance_that_was_stopped_is_never_entered_again() {
    let mut source = instance("panic", Capabilities::none(), tight()).await;
    read(&mut source).await.expect_err("it panics");
    let failure = read(&mut source).await.expect_err("it is gone");
    assert_eq!(failure.code, "plugin_instance_gone");
}

#[tokio::test]
async fn an_instance_whose_call_was_dropped_is_never_entered_again() {
    let mut source = instance("loop", Capabilities::none(), tight()).await;
    tokio::select! {
        biased;
        // The loop yields at its first tick, and then the call is dropped.
        _ = read(&mut source) => panic!("the loop ended"),
        () = tokio::task::yield_now() => {}
    }
    let failure = read(&mut source).await.expect_err("it is gone");
    assert_eq!(failure.code, "plugin_instance_gone");
}

#[tokio::test]
async fn limits_are_counted_anew_in_each_call() {
    let limits = Limits { host_calls_max: 2, ..tight() };
    let mut source = instance("good", Capabilities::none(), limits).await;
    for _ in 0..10 {
        read(&mut source).await.expect("one host call each");
    }
}

#[tokio::test]
async fn a_full_pool_is_passing_trouble() {
    let runtime = crate::sandbox::runtime();
    let component =
        runtime.load(&crate::sandbox::manifest(), crate::sandbox::MISBEHAVING).await.expect("loaded");
    let mut instances = Vec::new();
    let failure = loop {
        match runtime.source(&component, Capabilities::none(), tight()).await {
            Ok(instance) => instances.push(instance),
            Err(failure) => break failure,
        }
        assert!(instances.len() <= 16, "the pool has no end");
    };
    assert_eq!(
        (failure.class, failure.code.as_str()),
        (tarn_model::FailureClass::Retry, "plugin_pool_exhausted")
    );
    assert_eq!(instances.len(), 16);
    drop(instances);
    runtime.source(&component, Capabilities::none(), tight()).await.expect("there is room again");
}
