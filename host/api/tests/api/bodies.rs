//! Any bytes at all as a body, and any JSON. `fuzz` looks for what this does not find.

use axum::http::Method;
use proptest::prelude::{Just, Strategy, any, prop};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value};
use tokio::runtime::Runtime;

use crate::described::{Operation, operations};
use crate::fixture::Fixture;

/// Bodies of the run: some for each operation.
const BODIES: u32 = 1_000;

/// Asserts that an operation answers a body with success or with a refusal that says something.
async fn assert_answered(fixture: &Fixture, operation: &Operation, body: Vec<u8>) {
    let shown = String::from_utf8_lossy(&body).into_owned();
    let reply = fixture.call(operation.method.clone(), &operation.path, body).await;
    assert!(reply.status.as_u16() < 500, "{} {shown}: {} {}", operation.path, reply.status, reply.text);
    if !reply.status.is_success() {
        let (_, code, _) = reply.refusal();
        assert!(code > 0, "{} {shown}: {}", operation.path, reply.text);
    }
}

/// The operations that take a body.
fn takers() -> Vec<Operation> {
    operations().into_iter().filter(|operation| operation.method == Method::POST).collect()
}

/// JSON whose keys are often ones that the operations know.
fn json(keys: Vec<String>) -> impl Strategy<Value = Value> {
    let leaf = prop::strategy::Union::new([
        Just(Value::Null).boxed(),
        any::<bool>().prop_map(Value::Bool).boxed(),
        any::<i64>().prop_map(Value::from).boxed(),
        any::<f64>().prop_map(Value::from).boxed(),
        ".{0,20}".prop_map(Value::String).boxed(),
    ]);
    leaf.prop_recursive(5, 40, 6, move |inner| {
        let key = prop::sample::select(keys.clone());
        let object = prop::collection::vec((key, inner.clone()), 0..6);
        prop::strategy::Union::new([
            prop::collection::vec(inner, 0..4).prop_map(Value::Array).boxed(),
            object.prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())).boxed(),
        ])
    })
}

/// Every key of the examples.
fn known_keys(value: &Value, keys: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| known_keys(item, keys)),
        Value::Object(object) => {
            for (key, value) in object {
                keys.push(key.clone());
                known_keys(value, keys);
            }
        }
        _ => {}
    }
}

#[test]
fn any_body_is_answered_and_never_with_a_failure_of_the_servers() {
    let runtime = Runtime::new().expect("a runtime");
    let fixture = runtime.block_on(async { Fixture::new().await.with_peers().await });
    let takers = takers();
    let mut keys = Vec::new();
    takers.iter().for_each(|operation| known_keys(&operation.body["requestBody"], &mut keys));
    keys.sort();
    keys.dedup();
    let bytes = prop::collection::vec(any::<u8>(), 0..200);
    let written = json(keys).prop_map(|value| value.to_string().into_bytes());
    let body = prop::strategy::Union::new([bytes.boxed(), written.boxed()]);
    let mut runner = TestRunner::new_with_rng(
        Config { cases: BODIES, failure_persistence: None, ..Config::default() },
        prop::test_runner::TestRng::deterministic_rng(prop::test_runner::RngAlgorithm::ChaCha),
    );
    let run = runner.run(&(0..takers.len(), body), |(operation, body)| {
        runtime.block_on(assert_answered(&fixture, &takers[operation], body));
        Ok(())
    });
    if let Err(failure) = run {
        panic!("{failure}");
    }
}
