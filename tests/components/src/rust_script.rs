//! The example of a script in Rust is built like any guest and transforms rows.

use bytes::Bytes;
use tarn_batch::{Batch as Rows, BatchWriter, Cell, Column, Op, RowHeader, Table, Type, Version};
use tarn_replication::{Batch, Transform as _};
use tarn_test_modules::REGIONS;
use tarn_wasm::{Capabilities, Limits, Manifest, Runtime, RuntimeConfig, compile_wasm};

const SETTINGS: &str =
    r#"{"tables": [{"source": "public.users", "destination": "people"}], "output": "rows"}"#;

/// Rows of `public.users (id, region, email)`.
fn users(rows: &[(&str, Option<&str>)]) -> Batch {
    let column = |name: &str, data_type, type_name: &str, key| Column {
        name: name.to_owned(),
        data_type,
        type_name: type_name.to_owned(),
        nullable: key == 0,
        key,
        attribute: 1,
    };
    let mut writer = BatchWriter::with_capacity(0);
    let table = writer.add_table(Table {
        id: 1,
        schema: "public".to_owned(),
        name: "users".to_owned(),
        version: 1,
        columns: vec![
            column("id", Type::Int8, "bigint", 1),
            column("region", Type::Text, "text", 0),
            column("email", Type::Text, "text", 0),
        ],
    });
    for (id, (region, email)) in (1_i64..).zip(rows) {
        let version = Version { commit: 1, ordinal: 0 };
        writer.begin_row(table, &RowHeader { op: Op::Insert, version, commit_time_us: 0, transaction: 1 });
        writer.value(&id.to_le_bytes());
        writer.value(region.as_bytes());
        match email {
            Some(email) => writer.value(email.as_bytes()),
            None => writer.null(),
        }
        writer.end_row();
    }
    Batch { rows: writer.rows(), bytes: Bytes::from(writer.finish()) }
}

#[tokio::test]
async fn a_script_in_rust_is_uploaded_and_runs() {
    let script = compile_wasm("regions", REGIONS).expect("it is a script");
    let runtime = Runtime::new(RuntimeConfig { instances_max: 2, ..RuntimeConfig::default() })
        .expect("the sandbox starts");
    let component = runtime.load(&Manifest::script("regions"), script.component).await.expect("it loads");
    let mut instance =
        runtime.script(&component, Capabilities::none(), Limits::script()).await.expect("an instance");
    instance.open(SETTINGS).await.expect("it opens");
    let given =
        users(&[("eu", Some("ada@example.org")), ("us", Some("x")), ("eu", None), ("eu", Some("nobody"))]);
    let transformed = instance.apply(given).await.expect("applied");
    assert_eq!((transformed.dropped, transformed.rejected.len()), (1, 0));
    let batch = Rows::parse(&transformed.batch.bytes).expect("the batch is sound");
    let said = batch.rows().map(|row| {
        let row = row.expect("the row is sound");
        let cells = row.after().map(|cell| match cell.expect("sound") {
            Cell::Value(value) => String::from_utf8_lossy(value).into_owned(),
            _ => "~".to_owned(),
        });
        cells.skip(1).collect::<Vec<_>>().join(" ")
    });
    assert_eq!(said.collect::<Vec<_>>(), ["eu *** example.org", "eu ~ ~", "eu *** ~"]);
}
