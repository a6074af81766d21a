//! A record through a script: in Lua in the sandbox, by the same runtime built natively, and by mlua; the same in
//! JavaScript.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tarn_batch::{BatchWriter, Column, Op, RowHeader, Table as Rows, Type, Version};
use tarn_plugin_script_javascript as javascript;
use tarn_plugin_script_lua::{Host, Output, Runtime as NativeRuntime};
use tarn_replication::{Batch, Transform as _};
use tarn_wasm::{
    Capabilities, CompiledScript, Limits, Manifest, Runtime, RuntimeConfig, compile_javascript, compile_lua,
};

use crate::measure::{Table, progress};

/// Rows of one batch, as the loop's reads have them.
const BATCH_ROWS: u32 = 5_000;
/// How long each script is measured.
const MEASURED: Duration = Duration::from_secs(1);

/// What is measured: in words, in Lua, in JavaScript.
const SCRIPTS: [(&str, &str, &str); 4] = [
    (
        "pass every row on",
        "function onRecord(r)\n  return r\nend",
        "export function onRecord(r) {\n  return r;\n}",
    ),
    (
        "read and return the row",
        "function onRecord(r)\n  return r.row\nend",
        "export function onRecord(r) {\n  return r.row;\n}",
    ),
    (
        "change two fields",
        "function onRecord(r)\n  r.row.c3 = 'x'\n  r.row.c0 = r.row.c0 + 1\n  return r.row\nend",
        "export function onRecord(r) {\n  r.row.c3 = 'x';\n  r.row.c0 = r.row.c0 + 1n;\n  return r.row;\n}",
    ),
    (
        "the row as JSON",
        "local json = require 'json'\nlocal last\nfunction onRecord(r)\n  last = json.encode(r.row)\n  return r\nend",
        "let last;\nexport function onRecord(r) {\n  last = tarn.json.encode(r.row);\n  return r;\n}",
    ),
];

struct Silent;

impl Host for Silent {
    fn log(&mut self, _line: &str) {}

    fn now_us(&mut self) -> i64 {
        0
    }
}

impl javascript::Host for Silent {
    fn log(&mut self, _level: javascript::Level, _line: &str) {}

    fn now_us(&mut self) -> i64 {
        0
    }
}

/// Measures each script in every way.
pub fn run(table: &mut Table) {
    progress("scripts");
    let batch = batch();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for (what, source, in_javascript) in SCRIPTS {
        let native = native(source, &batch);
        let mlua = mlua(source, &batch);
        let script = compile_lua(tarn_bundle::SCRIPT_LUA, "bench", source).expect("it compiles");
        let lua = runtime.block_on(sandboxed(script, &batch));
        table.add(
            format!("script, {what}"),
            format!("{lua:.2} µs a record"),
            format!("{native:.2} µs by the same runtime natively, {mlua:.2} by mlua"),
        );
        let native = native_javascript(in_javascript, &batch);
        let script = compile_javascript(tarn_bundle::SCRIPT_JAVASCRIPT, "bench", in_javascript);
        let sandboxed = runtime.block_on(sandboxed(script.expect("it compiles"), &batch));
        table.add(
            format!("script, {what}, in JavaScript"),
            format!("{sandboxed:.2} µs a record"),
            format!("{:.2} of Lua; {native:.2} µs by the same runtime natively", sandboxed / lua),
        );
    }
}

fn native(source: &str, batch: &Batch) -> f64 {
    let mut runtime = NativeRuntime::new(Box::new(Silent)).expect("Lua starts");
    runtime.load(source.as_bytes()).unwrap_or_else(|_| panic!("{source}"));
    runtime.start(vec![("public.bench".to_owned(), "bench".to_owned())], Output::Rows);
    let begun = Instant::now();
    let mut records = 0;
    while begun.elapsed() < MEASURED {
        runtime.apply(&batch.bytes).expect("the batch is sound");
        records += u64::from(batch.rows);
    }
    micros(begun.elapsed(), records)
}

fn native_javascript(source: &str, batch: &Batch) -> f64 {
    let mut runtime = javascript::Runtime::new(Box::new(Silent)).expect("JavaScript starts");
    runtime.load(source).unwrap_or_else(|_| panic!("{source}"));
    runtime.start(vec![("public.bench".to_owned(), "bench".to_owned())], javascript::Output::Rows);
    let begun = Instant::now();
    let mut records = 0;
    while begun.elapsed() < MEASURED {
        runtime.apply(&batch.bytes).expect("the batch is sound");
        records += u64::from(batch.rows);
    }
    micros(begun.elapsed(), records)
}

/// By the program beside this one, which makes a Lua table of every row.
fn mlua(source: &str, batch: &Batch) -> f64 {
    let program =
        std::env::current_exe().expect("a process knows its own path").with_file_name("tarn-bench-mlua");
    let mut process = Command::new(program)
        .arg(source)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("tarn-bench-mlua is built");
    let mut input = process.stdin.take().expect("it was asked for");
    input.write_all(&batch.bytes).expect("it reads the batch");
    drop(input);
    let output = process.wait_with_output().expect("it ends");
    let figure = String::from_utf8_lossy(&output.stdout);
    figure.trim().parse().expect("it prints a figure")
}

async fn sandboxed(script: CompiledScript, batch: &Batch) -> f64 {
    let runtime =
        Runtime::new(RuntimeConfig { instances_max: 2, ..RuntimeConfig::default() }).expect("the sandbox");
    let component = runtime.load(&Manifest::script("bench"), script.component).await.expect("it loads");
    let mut instance =
        runtime.script(&component, Capabilities::none(), Limits::script()).await.expect("an instance");
    instance
        .open(r#"{"tables": [{"source": "public.bench", "destination": "bench"}], "output": "rows"}"#)
        .await
        .expect("it opens");
    let begun = Instant::now();
    let mut records = 0;
    while begun.elapsed() < MEASURED {
        let transformed = instance.apply(batch.clone()).await.expect("applied");
        assert!(transformed.rejected.is_empty(), "{:?}", transformed.rejected.first());
        records += u64::from(batch.rows);
    }
    micros(begun.elapsed(), records)
}

fn micros(time: Duration, records: u64) -> f64 {
    time.as_secs_f64() * 1e6 / records as f64
}

/// Ten columns, about 160 bytes a row.
pub fn batch() -> Batch {
    let mut writer = BatchWriter::with_capacity(1 << 20);
    let columns = (0_u16..10).map(|number| Column {
        name: format!("c{number}"),
        data_type: if number < 3 { Type::Int8 } else { Type::Text },
        type_name: if number < 3 { "bigint" } else { "text" }.to_owned(),
        nullable: number > 0,
        key: u16::from(number == 0),
        attribute: i32::from(number) + 1,
    });
    let table = writer.add_table(Rows {
        id: 1,
        schema: "public".to_owned(),
        name: "bench".to_owned(),
        version: 1,
        columns: columns.collect(),
    });
    for row in 0..u64::from(BATCH_ROWS) {
        let version = Version { commit: 1, ordinal: row };
        writer.begin_row(table, &RowHeader { op: Op::Insert, version, commit_time_us: 0, transaction: 1 });
        for number in 0..10_u64 {
            if number < 3 {
                writer.value(&(row + number).to_le_bytes());
            } else {
                writer.value(format!("text {number} of {row}").as_bytes());
            }
        }
        writer.end_row();
    }
    Batch { rows: writer.rows(), bytes: Bytes::from(writer.finish()) }
}
