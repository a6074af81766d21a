//! What a plugin is given and what its errors become.

use tarn_sdk::{
    DestinationConfig, Failure, FailureClass, Output, ScriptSettings, SourceConfig, SourceTable, clickhouse,
    postgres,
};

fn postgres_failure(sqlstate: &str) -> Failure {
    postgres::Error { sqlstate: sqlstate.into(), message: "no".into(), detail: String::new() }.into()
}

fn clickhouse_failure(code: u32) -> Failure {
    clickhouse::Error { code, message: "no".into() }.into()
}

#[test]
fn absent_settings_have_defaults_and_unknown_ones_are_ignored() {
    let config: SourceConfig = serde_json::from_str(
        r#"{"mirror": "m", "publicationManaged": true, "messages": true, "fromTheFuture": [1],
            "tables": [{"source": "public.users", "exclude": ["c"], "lacksRows": true, "more": {}}]}"#,
    )
    .unwrap();
    let table = SourceTable { source: "public.users".into(), exclude: vec!["c".into()], lacks_rows: true };
    assert_eq!(
        config,
        SourceConfig {
            mirror: "m".into(),
            publication_managed: true,
            messages: true,
            tables: vec![table],
            ..Default::default()
        }
    );
    assert_eq!(serde_json::from_str::<DestinationConfig>("{}").unwrap(), DestinationConfig::default());
    assert_eq!(serde_json::from_str::<ScriptSettings>("{}").unwrap().output, Output::Rows);
}

#[test]
fn every_setting_is_read_by_its_documented_name() {
    let config: DestinationConfig = serde_json::from_str(
        r#"{"mirror": "m", "softDeleteColumn": "gone", "syncedAtColumn": "", "cluster": "c", "replicated": true,
            "usualTypes": {"numeric": "Decimal(76, 38)", "time": "Time64(6)", "json": "JSON"},
            "tables": [{"source": "public.users", "destination": "users", "engine": "e", "partitionKey": "p",
                        "exclude": ["x"],
                        "columns": [{"sourceName": "id", "destinationName": "user_id", "destinationType": "UInt64",
                                     "ordering": 1, "nullableEnabled": true}]}]}"#,
    )
    .unwrap();
    assert_eq!(config.soft_delete_column(), "gone");
    assert_eq!(config.synced_at_column(), DestinationConfig::SYNCED_AT_COLUMN);
    assert_eq!((config.cluster.as_str(), config.replicated), ("c", true));
    let usual = &config.usual_types;
    assert_eq!(
        (usual.numeric.as_str(), usual.time.as_str(), usual.json.as_str()),
        ("Decimal(76, 38)", "Time64(6)", "JSON")
    );
    let table = &config.tables[0];
    assert_eq!((table.destination.as_str(), table.partition_key.as_str()), ("users", "p"));
    let column = &table.columns[0];
    assert_eq!((column.source_name.as_str(), column.destination_name.as_str()), ("id", "user_id"));
    assert_eq!(
        (column.destination_type.as_str(), column.ordering, column.nullable_enabled),
        ("UInt64", 1, true)
    );

    let settings: ScriptSettings =
        serde_json::from_str(r#"{"sourcePeer": "pg", "destinationPeer": "ch", "output": "messages"}"#)
            .unwrap();
    assert_eq!((settings.source_peer.as_str(), settings.destination_peer.as_str()), ("pg", "ch"));
    assert_eq!(settings.output, Output::Messages);
}

#[test]
fn trouble_that_passes_is_tried_again_and_other_trouble_is_not() {
    // B155 (57P05), B152 (55006), B200 (517).
    for sqlstate in ["08000", "08006", "53300", "40001", "55006", "57P01", "57P03", "57P05"] {
        assert_eq!(postgres_failure(sqlstate).class, FailureClass::Retry, "{sqlstate}");
    }
    assert_eq!(postgres_failure("53300").code, "no_connection_left");
    for sqlstate in ["28P01", "42501", "42P01", "0A000", "22P02"] {
        assert_eq!(postgres_failure(sqlstate).class, FailureClass::Permanent, "{sqlstate}");
    }
    for code in [0, 159, 202, 210, 241, 252, 319, 517, 999] {
        assert_eq!(clickhouse_failure(code).class, FailureClass::Retry, "{code}");
    }
    for code in [44, 60, 62, 81, 497, 516] {
        assert_eq!(clickhouse_failure(code).class, FailureClass::Permanent, "{code}");
    }
}

#[test]
fn a_failure_says_what_where_and_what_to_do() {
    let failure = Failure::permanent("slot_missing", "the slot s is gone")
        .with_hint("resync the mirror")
        .with_table("public.users")
        .in_context("reading the stream");
    assert_eq!(failure.message, "reading the stream: the slot s is gone");
    assert_eq!((failure.code.as_str(), failure.hint.as_str()), ("slot_missing", "resync the mirror"));
    assert_eq!((failure.class, failure.table.as_str()), (FailureClass::Permanent, "public.users"));
    let damaged: Failure = tarn_sdk::batch::Batch::parse(b"no").unwrap_err().into();
    assert_eq!((damaged.class, damaged.code.as_str()), (FailureClass::Permanent, "batch_damaged"));
}
