//! Rows for scripts in every language, and instances to run them in.

use std::sync::Arc;

use bytes::Bytes;
use tarn_batch::{Batch as Rows, BatchWriter, Cell, Column, Op, RowHeader, Table, Type, Version};
use tarn_replication::{Batch, Transformed};
use tarn_wasm::{
    Capabilities, CompiledScript, Limits, LogSink, Manifest, Runtime, RuntimeConfig, ScriptInstance,
};

/// An instance of a script with a log, not open yet.
pub async fn instance(script: &CompiledScript, limits: Limits, log: Arc<dyn LogSink>) -> ScriptInstance {
    let runtime = Runtime::new(RuntimeConfig { instances_max: 2, ..RuntimeConfig::default() })
        .expect("the sandbox starts");
    let component =
        runtime.load(&Manifest::script("script"), script.component.clone()).await.expect("it loads");
    runtime.script(&component, Capabilities::log(log), limits).await.expect("it is instantiated")
}

/// Rows of `public.users (id bigint, name text)` with ids from 1.
pub fn users(names: &[Option<&str>]) -> Batch {
    let column = |name: &str, data_type, type_name: &str, key| Column {
        name: name.to_owned(),
        data_type,
        type_name: type_name.to_owned(),
        nullable: key == 0,
        key,
        attribute: 0,
    };
    let mut writer = BatchWriter::with_capacity(0);
    let table = writer.add_table(Table {
        id: 1,
        schema: "public".to_owned(),
        name: "users".to_owned(),
        version: 1,
        columns: vec![column("id", Type::Int8, "bigint", 1), column("name", Type::Text, "text", 0)],
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

/// The names in a transformed batch.
pub fn names(transformed: &Transformed) -> Vec<String> {
    if transformed.batch.bytes.is_empty() {
        return Vec::new();
    }
    let rows = Rows::parse(&transformed.batch.bytes).expect("the batch is sound");
    let names = rows.rows().map(|row| match row.and_then(|row| row.cell(1)).expect("the row is sound") {
        Cell::Value(name) => String::from_utf8_lossy(name).into_owned(),
        cell => format!("{cell:?}"),
    });
    names.collect()
}
