//! Memory stays flat, whatever scripts do with a million records.

#![expect(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

use tarn_batch::{BatchWriter, Column, Op, RowHeader, Table, Type, Version};
use tarn_plugin_script_javascript::{Host, Level, Output, Runtime};

/// The system's allocator, and how many bytes are in use.
struct Counting;

static IN_USE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: every call is the system allocator's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Silent;

impl Host for Silent {
    fn log(&mut self, _level: Level, _line: &str) {}

    fn now_us(&mut self) -> i64 {
        0
    }
}

/// Rows of a batch.
const ROWS: u64 = 1_000;
/// Batches of all scripts together.
const BATCHES: usize = 1_000;
/// What the collector may leave for later, and buffers may grow to.
const SLACK_BYTES: isize = 2 << 20;

/// What a record does: the usual, and every way of failing half-way.
const BODIES: [&str; 9] = [
    "return r",
    "r.row.name = r.row.name.toUpperCase(); return r.row",
    "r.row.doc = { id: r.row.id, price: r.row.price.times(2) }; return r",
    "r.row.doc.a.push({ x: [r.row.price, r.commitTime] }); return r",
    "keep(tarn.json.encode(r)); keep(tarn.msgpack.decode(tarn.msgpack.encode(r.row))); return r.row",
    "keep(tarn.json.decode(tarn.json.encode({ ...r.row }), true)); keep(r.row); return r",
    "attempt(() => tarn.json.encode([[() => 1]])); attempt(() => tarn.msgpack.encode({ a: Symbol() })); return null",
    "const cycle = {}; cycle.self = cycle; keep(() => cycle); attempt(() => tarn.json.encode(cycle)); return r",
    "attempt(() => { r.row.id = r.row.price.plus('0.5') }); throw new Error(`no ${r.row.id}`)",
];

fn batch() -> Vec<u8> {
    let column = |name: &str, data_type, key| Column {
        name: name.to_owned(),
        data_type,
        type_name: "its type".to_owned(),
        nullable: key == 0,
        key,
        attribute: 1,
    };
    let mut writer = BatchWriter::with_capacity(0);
    let table = writer.add_table(Table {
        id: 1,
        schema: "public".to_owned(),
        name: "t".to_owned(),
        version: 1,
        columns: vec![
            column("id", Type::Int8, 1),
            column("name", Type::Text, 0),
            column("price", Type::Numeric { precision: 0, scale: 0 }, 0),
            column("doc", Type::Json, 0),
        ],
    });
    for ordinal in 0..ROWS {
        let version = Version { commit: 1, ordinal };
        writer.begin_row(table, &RowHeader { op: Op::Insert, version, commit_time_us: 0, transaction: 1 });
        writer.value(&ordinal.to_le_bytes());
        writer.value(format!("name {ordinal}").as_bytes());
        writer.value(format!("{ordinal}.50").as_bytes());
        writer.value(b"{\"a\": [1, 2.50, null]}");
        writer.end_row();
    }
    writer.finish()
}

#[test]
fn memory_is_flat_over_a_million_records() {
    let batch = batch();
    for body in BODIES {
        let source = format!(
            "let last;
             const keep = value => {{ last = value }};
             const attempt = f => {{ try {{ return f() }} catch (error) {{ return error }} }};
             function onRecord(r) {{ {body} }}"
        );
        let mut runtime = Runtime::new(Box::new(Silent)).expect("there is memory");
        runtime.load(&source).unwrap_or_else(|fault| panic!("{body}: {fault:?}"));
        runtime.start(Vec::new(), Output::Rows);
        let mut run = |batches: usize| {
            for _ in 0..batches {
                drop(runtime.apply(&batch).expect("sound"));
            }
            IN_USE.load(Ordering::Relaxed)
        };
        let begin = run(BATCHES / BODIES.len() / 10);
        let end = run(BATCHES / BODIES.len());
        assert!(end - begin < SLACK_BYTES, "{body}: from {begin} to {end} bytes");
    }
}
