//! Any bytes are a body: the first chooses the operation, the rest is answered with success or with a
//! refusal, never with a failure of the server's.
#![no_main]

#[path = "../../tests/api/described.rs"]
mod described;
#[path = "../../tests/api/fixture.rs"]
#[expect(dead_code, reason = "the tests use what this does not")]
mod fixture;

use std::sync::OnceLock;

use axum::http::Method;
use libfuzzer_sys::fuzz_target;
use tokio::runtime::Runtime;

use described::{Operation, operations};
use fixture::Fixture;

struct Scene {
    runtime: Runtime,
    fixture: Fixture,
    takers: Vec<Operation>,
}

fn scene() -> &'static Scene {
    static SCENE: OnceLock<Scene> = OnceLock::new();
    SCENE.get_or_init(|| {
        let runtime = Runtime::new().expect("a runtime");
        let fixture = runtime.block_on(async { Fixture::new().await.with_peers().await });
        let takers = operations().into_iter().filter(|operation| operation.method == Method::POST);
        Scene { runtime, fixture, takers: takers.collect() }
    })
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, body)) = bytes.split_first() else { return };
    let Scene { runtime, fixture, takers } = scene();
    let operation = &takers[usize::from(*first) % takers.len()];
    runtime.block_on(async {
        let reply = fixture.call(operation.method.clone(), &operation.path, body.to_vec()).await;
        assert!(reply.status.as_u16() < 500, "{}: {} {}", operation.path, reply.status, reply.text);
        // One run makes many answers, and nobody reads them again.
        fixture.transcript.lock().expect("whole").clear();
    });
});
