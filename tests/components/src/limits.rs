//! Every limit has a name, and reaching it says so (B253, B254).

use std::time::{Duration, Instant};

use tarn_model::{Failure, FailureClass};
use tarn_wasm::{Capabilities, Level, Limits};

use crate::sandbox::{Lines, commit, instance, read, tight};

/// The failure of a guest that was stopped for a limit.
async fn stopped(misdeed: &str, limits: Limits) -> Failure {
    let failure = commit(misdeed, limits).await.expect_err("the limit is reached");
    assert_eq!(failure.class, FailureClass::Permanent, "{failure}");
    assert!(failure.message.contains("the plugin misbehaving was stopped in read"), "{failure}");
    assert!(
        failure.message.contains(&format!("about to do: {misdeed}")),
        "the log's tail is missing: {failure}"
    );
    failure
}

#[tokio::test]
async fn a_loop_is_stopped_by_its_run_time() {
    let began = Instant::now();
    let failure = stopped("loop", tight()).await;
    assert_eq!(failure.code, "plugin_run_time_limit");
    assert!(failure.message.contains("it ran longer than 300 ms"), "{failure}");
    assert!(began.elapsed() >= Duration::from_millis(300), "it was stopped after {:?}", began.elapsed());
}

#[tokio::test]
async fn a_loop_is_stopped_also_when_only_its_instance_is_left() {
    let runtime = crate::sandbox::runtime();
    let component =
        runtime.load(&crate::sandbox::manifest(), crate::sandbox::MISBEHAVING).await.expect("loaded");
    let mut source = runtime.source(&component, Capabilities::none(), tight()).await.expect("instance");
    drop((runtime, component));
    source.configure(r#"{"mirror":"loop"}"#).await.expect("configured");
    let failure = read(&mut source).await.expect_err("stopped");
    assert_eq!(failure.code, "plugin_run_time_limit");
}

#[tokio::test]
async fn a_loop_does_not_keep_other_tasks_from_running() {
    // One thread: without yielding, the timer could not fire before the loop is stopped.
    let looping = tokio::spawn(async { stopped("loop", tight()).await });
    let began = Instant::now();
    tokio::time::timeout(Duration::from_millis(50), std::future::pending::<()>())
        .await
        .expect_err("the timer fires");
    let waited = began.elapsed();
    let failure = looping.await.expect("no panic");
    assert_eq!(failure.code, "plugin_run_time_limit");
    assert!(waited < began.elapsed(), "the timer fired after the loop");
}

#[tokio::test]
async fn unbounded_recursion_is_stopped_by_the_stack() {
    let failure = stopped("recursion", tight()).await;
    assert_eq!(failure.code, "plugin_stack_limit");
}

#[tokio::test]
async fn a_huge_allocation_is_stopped_by_the_memory_limit() {
    let failure = stopped("allocation", tight()).await;
    assert_eq!(failure.code, "plugin_memory_limit");
    assert!(failure.message.contains("more memory than 32 MiB"), "{failure}");
}

#[tokio::test]
async fn a_guest_cannot_go_on_after_a_refused_growth() {
    let failure = stopped("growth", tight()).await;
    assert_eq!(failure.code, "plugin_memory_limit");
}

#[tokio::test]
async fn a_huge_batch_is_stopped_by_the_output_limit() {
    let failure = stopped("output", tight()).await;
    assert_eq!(failure.code, "plugin_output_limit");
    assert!(failure.message.contains("it handed over more than 1048576 bytes at once"), "{failure}");
}

#[tokio::test]
async fn a_huge_list_is_stopped_by_the_output_limit() {
    let limits = Limits { memory_bytes_max: 512 << 20, run_time_max: Duration::from_secs(10), ..tight() };
    let mut source = instance("good", Capabilities::none(), limits).await;
    let failure = source.validate().await.expect_err("a hundred megabytes of findings");
    assert_eq!(failure.code, "plugin_output_limit");
    assert!(failure.message.contains("was stopped in validate"), "{failure}");
}

#[tokio::test]
async fn a_flood_of_host_calls_is_stopped_by_their_count() {
    let failure = stopped("host-call-flood", Limits { host_calls_max: 1000, ..tight() }).await;
    assert_eq!(failure.code, "plugin_host_call_limit");
    assert!(failure.message.contains("it made more than 1000 host calls"), "{failure}");
}

#[tokio::test]
async fn a_flood_of_log_lines_is_cut_and_counted() {
    let lines = Lines::new();
    let limits = Limits { run_time_max: Duration::from_secs(10), ..tight() };
    let mut source = instance("log-flood", Capabilities::log(lines.clone()), limits).await;
    let failure = read(&mut source).await.expect_err("the guest's own failure");
    assert_eq!(failure.code, "flooded");
    let lines = lines.all();
    assert_eq!(lines.len(), 51);
    assert_eq!(lines[1], (Level::Info, "line 0".to_owned()));
    // 100,000 lines and the first one, of which 50 went on.
    assert_eq!(lines[50], (Level::Warn, "99951 more lines of read were left out".to_owned()));
}

#[tokio::test]
async fn an_endless_flood_of_log_lines_is_stopped() {
    let lines = Lines::new();
    let limits = Limits { host_calls_max: 1000, ..tight() };
    let mut source = instance("log-flood-endless", Capabilities::log(lines.clone()), limits).await;
    let failure = read(&mut source).await.expect_err("stopped");
    assert_eq!(failure.code, "plugin_host_call_limit");
    assert!(failure.message.contains("line 998"), "the log's tail has the last lines: {failure}");
    assert_eq!(lines.all().len(), 51);
}

#[tokio::test]
async fn a_panic_names_its_words_and_where_it_happened() {
    let failure = stopped("panic", tight()).await;
    assert_eq!(failure.code, "plugin_panicked");
    assert!(failure.message.contains("the ninth bit is not set"), "{failure}");
    assert!(failure.message.contains("misdeed.rs"), "{failure}");
}

#[tokio::test]
async fn a_wild_read_is_a_trap_of_the_guest_alone() {
    let failure = stopped("trap", tight()).await;
    assert_eq!(failure.code, "plugin_trapped");
    assert!(failure.message.contains("out of bounds memory access"), "{failure}");
}

#[tokio::test]
async fn bytes_that_are_no_batch_are_refused() {
    for (misdeed, what) in [
        ("garbage", "invalid batch from read"),
        ("garbage-rows", "invalid batch from read"),
        ("two-rows-of-one", "it says 2 rows and holds 1"),
    ] {
        let failure = commit(misdeed, tight()).await.expect_err("an invalid batch");
        assert_eq!((failure.class, failure.code.as_str()), (FailureClass::Permanent, "plugin_batch_invalid"));
        assert!(failure.message.contains(what), "{misdeed}: {failure}");
        assert!(failure.message.contains("the plugin misbehaving"), "{misdeed}: {failure}");
    }
}

#[tokio::test]
async fn a_failure_of_the_guest_arrives_as_it_was_told() {
    let mut source = instance("failure", Capabilities::none(), tight()).await;
    for _ in 0..2 {
        let failure = read(&mut source).await.expect_err("the guest's own failure");
        let expected =
            Failure::new(FailureClass::PositionLost, "gone", "the position is gone").with_hint("resync");
        assert_eq!(failure, expected);
    }
}
