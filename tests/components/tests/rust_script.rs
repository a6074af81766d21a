//! A script in Rust, as a build for a plain wasm target leaves it: a core module that is uploaded as it is.

#[path = "scripts/fixture.rs"]
mod fixture;

use std::sync::{Arc, Mutex};

use fixture::{names, users};
use tarn_replication::Transform as _;
use tarn_test_modules::SHOUTING;
use tarn_wasm::{Level, Limits, LogSink, compile_wasm};

#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl LogSink for Lines {
    fn write(&self, _level: Level, line: &str) {
        self.0.lock().expect("no test panics while it holds the lines").push(line.to_owned());
    }
}

#[tokio::test]
async fn a_core_module_that_was_written_with_the_sdk_becomes_a_component_that_transforms_rows() {
    let script = compile_wasm("shouting", SHOUTING).expect("it is a script");
    assert_eq!(
        script,
        compile_wasm("another name", SHOUTING).expect("it is a script"),
        "the same bytes each time"
    );
    let lines = Arc::new(Lines::default());
    let log = Arc::clone(&lines) as Arc<dyn LogSink>;
    let mut instance = fixture::instance(&script, Limits::script(), log).await;
    assert_eq!(instance.describe().await.expect("described"), r#"{"entryPoints":["apply"]}"#);
    instance.open("{}").await.expect("it opens");

    let made = instance.apply(users(&[Some("ada"), None, Some("eva")])).await.expect("applied");
    assert_eq!(names(&made), ["ADA", "EVA"]);
    let rejected: Vec<_> =
        made.rejected.iter().map(|rejection| (rejection.row, rejection.message.as_str())).collect();
    assert_eq!(rejected, [(1, "there is nothing to shout")]);
    assert_eq!(lines.0.lock().expect("whole").len(), 3);
}
