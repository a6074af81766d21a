//! The shop that the document's examples are about: its stores, its mirror and what the mirror did.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use tarn_batch::{BatchWriter, Column, Op, RowHeader, Table, Type, Version};
use tarn_catalog::{LettersKept, NewLetter, letter_digest};
use tarn_model::{MirrorState, Position, RecordStage, RowCounts, Timestamp};
use tarn_replication::{BatchRecord, Checkpoint, Checkpoints as _, PartitionDone, SnapshotLedger as _};

use crate::described::operations;
use crate::fixture::{Fixture, clickhouse_peer, creation_with, postgres_peer};

/// A part of an example's answer, for a store to give: connectors write most as the API does.
fn example(id: &str, key: &str) -> Value {
    let operations = operations();
    let operation = operations.iter().find(|operation| operation.id == id).expect("described");
    operation.answer()[key].clone()
}

/// What both stores say when they are asked, as the examples have it.
pub fn answer_questions(fixture: &Fixture) {
    fixture.answer("shop", "schemas", example("listSchemas", "schemas"));
    fixture.answer("shop", "publications", example("listPublications", "publicationNames"));
    fixture.answer("shop", "tables", example("listTables", "tables"));
    fixture.answer("shop", "allTables", example("listAllTables", "tables"));
    fixture.answer("shop", "columns", example("listColumns", "columns"));
    fixture.answer("shop", "slots", slots());
    fixture.answer("shop", "activity", activity());
    fixture.answer("shop", "rowCounts", json!([{"table": "public.orders", "rows": 43}]));
    fixture.answer("analytics", "rowCounts", json!([{"table": "orders", "rows": 43}]));
}

/// What the run of the mirror `orders` stores: a loaded table and a batch.
pub async fn play_the_run(fixture: &Fixture) {
    let id = fixture.stored("orders").await.id;
    let catalog = fixture.control.catalog();
    catalog.begin_load(id, &[("public.orders".into(), "orders".into())]).await.expect("stored");
    let ledger = catalog.ledger(id);
    ledger.planned("public.orders", &["p".into()]).await.expect("stored");
    let table = "public.orders".into();
    let done = PartitionDone { table, number: 0, generation: 1, horizon: "h".into(), rows: 40 };
    ledger.done(&done).await.expect("stored");
    catalog.begin_stream(id, &Position::default()).await.expect("stored");
    let started = UNIX_EPOCH + Duration::from_millis(1_732_795_210_250);
    let ended = UNIX_EPOCH + Duration::from_secs(1_732_795_211);
    let (first_sequence, last_sequence) = (27_440_072, 27_702_216);
    let batch = BatchRecord { number: 1, rows: 5, first_sequence, last_sequence, started, ended };
    let checkpoint = Checkpoint { position: Position::default(), sequence: 1, batches: vec![batch] };
    catalog.checkpoints(id).save(&checkpoint).await.expect("stored");
    let counts = RowCounts { inserts_count: 3, updates_count: 2, ..RowCounts::default() };
    catalog.count_rows(id, &[("orders".into(), counts)]).await.expect("stored");
    let kept = catalog.keep_letters(id, &[letter()], 1 << 20).await.expect("stored");
    assert_eq!(kept, LettersKept::Done);
    fixture.observe("orders", MirrorState::Running).await;
}

/// An order that the script could not take.
pub fn letter() -> NewLetter {
    let column = |name: &str, data_type, type_name: &str, key| Column {
        name: name.to_owned(),
        data_type,
        type_name: type_name.to_owned(),
        nullable: key == 0,
        key,
        attribute: 1,
    };
    let mut writer = BatchWriter::default();
    let table = writer.add_table(Table {
        id: 1,
        schema: "public".to_owned(),
        name: "orders".to_owned(),
        version: 1,
        columns: vec![column("id", Type::Int8, "bigint", 1), column("country", Type::Text, "text", 0)],
    });
    let version = Version { commit: 27_440_072, ordinal: 0 };
    let commit_time_us = 1_732_795_210_000_000;
    writer.begin_row(table, &RowHeader { op: Op::Insert, version, commit_time_us, transaction: 731 });
    writer.value(&7_i64.to_le_bytes());
    writer.null();
    writer.end_row();
    NewLetter {
        identity: letter_digest(&[b"7"]),
        row_keys: vec![letter_digest(&[b"orders", b"7"])],
        table: "public.orders".to_owned(),
        key: "id=7".to_owned(),
        kind: "insert".to_owned(),
        stage: RecordStage::Script,
        position: version.commit,
        ordinal: version.ordinal,
        commit_time: Some(Timestamp::from_micros(commit_time_us)),
        script: "mask".to_owned(),
        script_version: 1,
        line: 2,
        function: "onRecord".to_owned(),
        message: "attempt to index a nil value (field 'country')".to_owned(),
        log_lines: vec!["order 7".to_owned()],
        record: writer.finish(),
    }
}

/// The slot of the example, in the words of the contract of connectors, and one of somebody else.
fn slots() -> Value {
    json!([
        {"slotName": "somebodys"},
        {"slotName": "tarn_slot_orders", "redoLsn": "0/1A2B3C8", "restartLsn": "0/1A2B3C8", "active": true,
            "lagInMb": 0.25, "confirmedFlushLsn": "0/1A6B3C8", "walStatus": "reserved", "sentLsn": "0/1A6B3C8",
            "currentLsn": "0/1A6B3C8", "restartToConfirmedMb": 0.25, "confirmedToCurrentMb": 0,
            "waitEventType": "Client", "waitEvent": "WalSenderWaitForWal", "backendState": "active",
            "logicalDecodingWorkMemMb": 64, "spillTxns": 0, "spillCount": 0, "spillBytes": 0}
    ])
}

/// What a connection of the example is doing: connectors write its number as one.
fn activity() -> Value {
    let mut shown = example("listActivity", "statData");
    shown[0]["pid"] = json!(4711);
    shown
}

impl Fixture {
    /// Everything that the examples speak of, at once.
    pub async fn play_the_shop(&self) {
        for peer in [postgres_peer("shop"), clickhouse_peer("analytics")] {
            self.post("peers/create", json!({"peer": peer})).await.ok();
        }
        answer_questions(self);
        let script = json!({"script": {"id": -1, "lang": "lua", "name": "mask", "source": "x"}});
        self.post("scripts", script).await.ok();
        let peers = json!({"source_name": "shop", "destination_name": "analytics"});
        self.post("flows/cdc/create", creation_with("orders", peers)).await.ok();
        play_the_run(self).await;
    }
}
