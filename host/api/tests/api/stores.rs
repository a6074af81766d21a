use serde_json::{Value, json};
use tarn_model::{Failure, Question};

use crate::fixture::Fixture;

async fn asked() -> Fixture {
    Fixture::new().await.with_peers().await
}

#[tokio::test]
async fn schemas_publications_and_tables_are_listed_by_the_names_clients_read() {
    let fixture = asked().await;
    fixture.answer("pg", "schemas", json!(["public", "sales"]));
    fixture.answer("pg", "publications", json!(["pub"]));
    fixture.answer("pg", "allTables", json!(["public.t", "sales.u"]));
    for (path, expected) in [
        ("peers/schemas", json!({"schemas": ["public", "sales"]})),
        ("peers/publications", json!({"publicationNames": ["pub"]})),
        ("peers/tables/all", json!({"tables": ["public.t", "sales.u"]})),
    ] {
        for spelling in ["peer_name", "peerName"] {
            assert_eq!(fixture.get(&format!("{path}?{spelling}=pg")).await.ok(), expected, "{path}");
        }
    }
}

#[tokio::test]
async fn a_table_can_be_mirrored_where_it_has_a_key_or_no_changes_are_wanted() {
    let fixture = asked().await;
    let table = |name: &str, can: bool| json!({"tableName": name, "canMirror": can, "tableSize": "8192 bytes", "isReplicaIdentityFull": !can});
    fixture.answer("pg", "tables", json!([table("a", true), table("b", false)]));
    let list = |query: &str| format!("peers/tables?peerName=pg&schemaName=public{query}");
    for query in ["&cdcEnabled=true", "&cdc_enabled=true"] {
        let expected = json!({"tables": [table("a", true), table("b", false)]});
        assert_eq!(fixture.get(&list(query)).await.ok(), expected);
    }
    for query in ["", "&cdc_enabled=false"] {
        let tables = fixture.get(&list(query)).await.ok()["tables"].clone();
        assert_eq!((&tables[1]["tableName"], &tables[1]["canMirror"]), (&json!("b"), &json!(true)));
    }
    let questions = fixture.stores.questions.lock().expect("whole").clone();
    assert_eq!(questions[0], ("pg".into(), Question::Tables { schema: "public".into() }));
}

#[tokio::test]
async fn a_name_of_true_is_a_name() {
    let fixture = asked().await;
    fixture.answer("pg", "tables", json!([]));
    fixture.get("peers/tables?peer_name=pg&schema_name=true").await.ok();
}

#[tokio::test]
async fn columns_have_their_types_in_the_stores_words_and_the_clients() {
    let fixture = asked().await;
    let columns =
        json!([{"name": "id", "type": "bigint", "isKey": true, "qkind": "int64", "isReplicaIdentity": true}]);
    fixture.answer("pg", "columns", columns.clone());
    let reply = fixture.get("peers/columns?peer_name=pg&schema_name=public&table_name=t").await;
    assert_eq!(reply.ok(), json!({"columns": columns}));
}

fn slot(name: &str) -> Value {
    json!({"slotName": name, "redoLsn": "0/1", "restartLsn": "0/2", "active": true, "lagInMb": 1.5,
        "confirmedFlushLsn": "0/3", "walStatus": "reserved", "sentLsn": null, "currentLsn": "0/4",
        "restartToConfirmedMb": 0, "confirmedToCurrentMb": 1, "waitEventType": "Client",
        "waitEvent": "WalSenderMain", "backendState": "active", "logicalDecodingWorkMemMb": 64,
        "statsReset": null, "spillTxns": 0, "spillCount": 0, "spillBytes": 1_099_511_627_776_i64,
        "safeWalSize": null})
}

#[tokio::test]
async fn slots_are_read_under_the_names_of_clients_with_64_bit_numbers_as_texts() {
    let fixture = asked().await;
    fixture.answer("pg", "slots", json!([slot("s")]));
    let expected = json!({"slotName": "s", "redoLSN": "0/1", "restartLSN": "0/2", "active": true, "lagInMb": 1.5,
        "confirmedFlushLSN": "0/3", "walStatus": "reserved", "sentLSN": null, "currentLSN": "0/4",
        "restartToConfirmedMb": 0, "confirmedToCurrentMb": 1, "waitEventType": "Client",
        "waitEvent": "WalSenderMain", "backendState": "active", "logicalDecodingWorkMemMb": "64",
        "statsReset": null, "spillTxns": "0", "spillCount": "0", "spillBytes": "1099511627776",
        "safeWalSize": null});
    assert_eq!(fixture.get("peers/slots/pg").await.ok(), json!({"slotData": [expected]}));
}

#[tokio::test]
async fn slots_of_mirrors_can_be_told_from_others() {
    let fixture = asked().await;
    fixture.mirror("m").await;
    fixture.answer("pg", "slots", json!([slot("other"), slot("tarn_slot_m")]));
    for spelling in ["peerdb_managed_only", "peerdbManagedOnly"] {
        let own = fixture.get(&format!("peers/slots/pg?{spelling}=true")).await.ok()["slotData"].clone();
        let names: Vec<_> =
            own.as_array().expect("a list").iter().map(|slot| slot["slotName"].clone()).collect();
        assert_eq!(names, ["tarn_slot_m"]);
    }
}

#[tokio::test]
async fn what_connections_are_doing_is_listed() {
    let fixture = asked().await;
    let activity = json!([{"pid": 4711, "waitEvent": "", "waitEventType": "", "queryStart": "2026-01-01 00:00:00+00",
        "query": "SELECT 1", "duration": 0.5, "state": "active"}]);
    fixture.answer("pg", "activity", activity);
    let expected = json!({"statData": [{"pid": "4711", "waitEvent": "", "waitEventType": "",
        "queryStart": "2026-01-01 00:00:00+00", "query": "SELECT 1", "duration": 0.5, "state": "active"}]});
    assert_eq!(fixture.get("peers/stats/pg").await.ok(), expected);
}

/// Every route that asks a store, with all its parameters.
const ROUTES: [&str; 7] = [
    "peers/schemas?peer_name=P",
    "peers/publications?peer_name=P",
    "peers/tables?peer_name=P&schema_name=s",
    "peers/tables/all?peer_name=P",
    "peers/columns?peer_name=P&schema_name=s&table_name=t",
    "peers/slots/P",
    "peers/stats/P",
];

#[tokio::test]
async fn an_unknown_peer_is_404_naming_the_field() {
    let fixture = asked().await;
    for route in ROUTES {
        let reply = fixture.get(&route.replace('P', "none")).await;
        assert_eq!(reply.refusal(), (404, 5, vec!["peer_name".into()]), "{route}");
    }
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_400_with_cause_and_remedy() {
    let fixture = asked().await;
    for kind in ["schemas", "publications", "tables", "allTables", "columns", "slots", "activity"] {
        let failure = Failure::retry("peer_silent", "no answer within 15 s").with_hint("check the firewall");
        fixture.fail("pg", kind, failure);
    }
    for route in ROUTES {
        let reply = fixture.get(&route.replace('P', "pg")).await;
        assert_eq!(reply.refusal(), (400, 9, vec!["peer_name".into()]), "{route}");
        let detail = &reply.json()["details"][0];
        assert!(detail["message"].as_str().is_some_and(|message| message.contains("no answer within 15 s")));
        assert_eq!(detail["hint"], "check the firewall");
    }
    for route in ROUTES {
        let reply = fixture.get(&route.replace('P', "ch")).await;
        assert_eq!(reply.refusal(), (400, 9, vec!["peer_name".into()]), "a destination: {route}");
    }
}

#[tokio::test]
async fn a_table_that_is_not_there_is_404_naming_it() {
    let fixture = asked().await;
    let missing =
        Failure::permanent("table_missing", "there is no table s.t").with_hint("names are case-sensitive");
    fixture.fail("pg", "columns", missing);
    let reply = fixture.get("peers/columns?peer_name=pg&schema_name=s&table_name=t").await;
    assert_eq!(reply.refusal(), (404, 5, vec!["table_name".into()]));
}

#[tokio::test]
async fn a_parameter_that_is_missing_twice_there_or_of_another_type_is_400_naming_it() {
    let fixture = asked().await;
    for (path, field) in [
        ("peers/schemas", "peer_name"),
        ("peers/schemas?peer_name=", "peer_name"),
        ("peers/publications", "peer_name"),
        ("peers/tables/all", "peer_name"),
        ("peers/tables?peer_name=pg", "schema_name"),
        ("peers/tables?peer_name=pg&schema_name=s&cdc_enabled=yes", "cdc_enabled"),
        ("peers/columns?peer_name=pg&schema_name=s", "table_name"),
        ("peers/columns?peer_name=pg&table_name=t", "schema_name"),
        ("peers/schemas?peer_name=pg&peer_name=pg", "peer_name"),
        ("peers/schemas?peer_name=pg&peerName=pg", "peer_name"),
        ("peers/slots/pg?peerdb_managed_only=1", "peerdb_managed_only"),
    ] {
        assert_eq!(fixture.get(path).await.refusal(), (400, 3, vec![field.into()]), "{path}");
    }
}

#[tokio::test]
async fn a_connector_that_answers_another_question_is_500() {
    let fixture = asked().await;
    let other = serde_json::from_value(json!({"slots": []})).expect("an answer");
    fixture.stores.answers.lock().expect("whole").insert(("pg".into(), "schemas"), Ok(other));
    assert_eq!(fixture.get("peers/schemas?peer_name=pg").await.refusal(), (500, 13, vec![]));
}
