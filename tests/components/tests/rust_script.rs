//! A script in Rust, as a build for a plain wasm target leaves it: a core module that is uploaded as it is.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tarn_batch::{Batch as Rows, BatchWriter, Cell, Column, Op, RowHeader, Table, Type, Version};
use tarn_replication::{Batch, Transform as _};
use tarn_wasm::{Capabilities, Level, Limits, LogSink, Manifest, Runtime, RuntimeConfig, compile_wasm};

static SHOUTING: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shouting.wasm"));

#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl LogSink for Lines {
    fn write(&self, _level: Level, line: &str) {
        self.0.lock().expect("no test panics while it holds the lines").push(line.to_owned());
    }
}

/// Rows of `public.users (id bigint, name text)` with ids from 1.
fn users(names: &[Option<&str>]) -> Batch {
    let column = |name: &str, data_type, key| Column {
        name: name.to_owned(),
        data_type,
        type_name: name.to_owned(),
        nullable: key == 0,
        key,
        attribute: 0,
    };
    let mut writer = BatchWriter::default();
    let table = writer.add_table(Table {
        id: 1,
        schema: "public".to_owned(),
        name: "users".to_owned(),
        version: 1,
        columns: vec![column("id", Type::Int8, 1), column("name", Type::Text, 0)],
    });
    for (id, name) in (1_i64..).zip(names) {
        let version = Version { commit: 1, ordinal: 0 };
        writer.begin_row(table, &RowHeader { op: Op::Insert, version, commit_time_us: 0, transaction: 1 });
        writer.value(&id.to_le_bytes());
        writer.cell(name.map_or(Cell::Null, |name| Cell::Value(name.as_bytes())));
        writer.end_row();
    }
    Batch { rows: writer.rows(), bytes: Bytes::from(writer.finish()) }
}

#[tokio::test]
async fn a_core_module_that_was_written_with_the_sdk_becomes_a_component_that_transforms_rows() {
    let script = compile_wasm("shouting", SHOUTING).expect("it is a script");
    assert_eq!(
        script,
        compile_wasm("another name", SHOUTING).expect("it is a script"),
        "the same bytes each time"
    );
    let runtime =
        Runtime::new(RuntimeConfig { cache_dir: None, instances_max: 2 }).expect("the sandbox starts");
    let component = runtime.load(&Manifest::script("shouting"), script.component).await.expect("it loads");
    let lines = Arc::new(Lines::default());
    let capabilities = Capabilities::log(Arc::clone(&lines) as Arc<dyn LogSink>);
    let mut instance =
        runtime.script(&component, capabilities, Limits::script()).await.expect("instantiated");
    assert_eq!(instance.describe().await.expect("described"), r#"{"entryPoints":["apply"]}"#);
    instance.open("{}").await.expect("it opens");

    let made = instance.apply(users(&[Some("ada"), None, Some("eva")])).await.expect("applied");
    let rows = Rows::parse(&made.batch.bytes).expect("the batch is sound");
    let names: Vec<_> = rows
        .rows()
        .map(|row| match row.and_then(|row| row.cell(1)).expect("the row is sound") {
            Cell::Value(name) => String::from_utf8_lossy(name).into_owned(),
            cell => format!("{cell:?}"),
        })
        .collect();
    assert_eq!(names, ["ADA", "EVA"]);
    let rejected: Vec<_> =
        made.rejected.iter().map(|rejection| (rejection.row, rejection.message.as_str())).collect();
    assert_eq!(rejected, [(1, "there is nothing to shout")]);
    assert_eq!(lines.0.lock().expect("whole").len(), 3);
}
