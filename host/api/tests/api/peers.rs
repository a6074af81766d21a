use serde_json::{Value, json};
use tarn_model::{Edition, PeerConfig, Secret};

use crate::fixture::{Fixture, clickhouse_peer, postgres_peer};

async fn create(fixture: &Fixture, peer: Value, options: Value) -> Value {
    let mut body = json!({"peer": peer});
    let Value::Object(options) = options else { panic!("options are an object") };
    body.as_object_mut().expect("an object").extend(options);
    fixture.post("peers/create", body).await.ok()
}

#[tokio::test]
async fn a_created_peer_answers_created_with_an_empty_message() {
    let fixture = Fixture::new().await;
    let created = json!({"status": "CREATED", "message": ""});
    assert_eq!(create(&fixture, postgres_peer("pg"), json!({})).await, created);
    assert_eq!(create(&fixture, clickhouse_peer("ch"), json!({})).await, created);
}

#[tokio::test]
async fn both_spellings_names_numbers_and_texts_are_taken() {
    let fixture = Fixture::new().await;
    for (name, body) in [
        (
            "a",
            json!({"type": "POSTGRES", "postgresConfig": {"host": "h", "port": "5433", "user": "u", "database": "d"}}),
        ),
        (
            "b",
            json!({"type": 3, "postgres_config": {"host": "h", "port": 5433, "user": "u", "database": "d", "extra": {}}}),
        ),
        (
            "c",
            json!({"postgresConfig": {"host": "h", "port": 5433.0, "user": "u", "database": "d", "password": null}}),
        ),
        (
            "d",
            json!({"type": 3.0, "postgresConfig": {"host": "h", "port": "5433", "user": "u", "database": "d"}}),
        ),
        (
            "e",
            json!({"type": "3", "postgresConfig": {"host": "h", "port": "5433", "user": "u", "database": "d"}}),
        ),
    ] {
        let mut peer = body;
        peer["name"] = name.into();
        assert_eq!(create(&fixture, peer, json!({})).await["status"], "CREATED", "{name}");
        let info = fixture.get(&format!("peers/info/{name}")).await.ok();
        assert_eq!(info["peer"]["postgresConfig"]["port"], 5433);
    }
}

#[tokio::test]
async fn a_peer_reads_back_in_camel_case_with_every_scalar_and_masked_secrets() {
    let fixture = Fixture::new().await.with_peers().await;
    let expected = json!({"peer": {"name": "pg", "type": "POSTGRES", "postgresConfig": {
        "host": "db.example", "port": 5432, "user": "repl", "password": "********", "database": "app",
        "tlsHost": "", "rootCa": "", "requireTls": false, "disableTls": false, "skipCertVerification": false,
        "clientTls": null, "sshConfig": null, "metadataSchema": ""}}, "version": "17.2"});
    assert_eq!(fixture.get("peers/info/pg").await.ok(), expected);
    let info = fixture.get("peers/info/ch").await.ok();
    assert_eq!((&info["peer"]["type"], &info["version"]), (&json!("CLICKHOUSE"), &json!("17.2")));
    let config = &info["peer"]["clickhouseConfig"];
    assert_eq!((&config["password"], &config["secretAccessKey"]), (&json!("********"), &json!("")));
    assert_eq!((&config["disableTls"], &config["s3Path"]), (&json!(true), &json!("")));
}

#[tokio::test]
async fn an_unreachable_peer_is_shown_without_a_version() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.unreachable("connection refused");
    let info = fixture.get("peers/info/pg").await.ok();
    assert_eq!((&info["peer"]["name"], &info["version"]), (&json!("pg"), &json!("")));
}

#[tokio::test]
async fn a_real_connection_is_opened_before_anything_is_stored() {
    let fixture = Fixture::new().await;
    fixture.unreachable("connection refused with planted-pg-password");
    let answer = create(&fixture, postgres_peer("pg"), json!({})).await;
    assert_eq!(answer["status"], "FAILED");
    let message = answer["message"].as_str().expect("a text");
    assert!(message.contains("connection refused") && !message.contains("planted"), "{message}");
    assert_eq!(fixture.get("peers/info/pg").await.refusal().0, 404);
    let unchecked = create(&fixture, postgres_peer("pg"), json!({"disableValidation": true})).await;
    assert_eq!(unchecked["status"], "CREATED");
}

#[tokio::test]
async fn an_existing_name_is_refused_and_nothing_changes_unless_allow_update() {
    let fixture = Fixture::new().await.with_peers().await;
    let mut other = postgres_peer("pg");
    other["postgres_config"]["host"] = "elsewhere".into();
    let refused = create(&fixture, other.clone(), json!({})).await;
    assert_eq!(refused["status"], "FAILED");
    assert!(refused["message"].as_str().is_some_and(|message| message.contains("already exists")));
    let host = |info: Value| info["peer"]["postgresConfig"]["host"].clone();
    assert_eq!(host(fixture.get("peers/info/pg").await.ok()), "db.example");
    assert_eq!(create(&fixture, other, json!({"allowUpdate": true})).await["status"], "CREATED");
    assert_eq!(host(fixture.get("peers/info/pg").await.ok()), "elsewhere");
}

#[tokio::test]
async fn the_mask_sent_back_keeps_the_stored_secret() {
    let fixture = Fixture::new().await.with_peers().await;
    let mut shown = fixture.get("peers/info/pg").await.ok()["peer"].clone();
    shown["postgresConfig"]["database"] = "other".into();
    assert_eq!(create(&fixture, shown, json!({"allow_update": true})).await["status"], "CREATED");
    let probed = fixture.stores.probed.lock().expect("whole").last().cloned();
    assert_eq!(probed, Some(("pg".into(), "planted-pg-password".into())));
}

#[tokio::test]
async fn a_mask_that_stands_for_nothing_is_refused_by_field() {
    let fixture = Fixture::new().await.with_peers().await;
    let masked = |mut peer: Value, key: &str| {
        peer[key]["password"] = "********".into();
        peer
    };
    let postgres = "peer.postgres_config.password: is ********";
    let clickhouse = "peer.clickhouse_config.password: is ********";
    for (peer, path) in [
        (masked(postgres_peer("new"), "postgres_config"), postgres),
        // The stored password is another store's.
        (masked(clickhouse_peer("pg"), "clickhouse_config"), clickhouse),
    ] {
        let answer = create(&fixture, peer.clone(), json!({"allow_update": true})).await;
        assert_eq!(answer["status"], "FAILED");
        assert!(answer["message"].as_str().is_some_and(|message| message.contains(path)), "{answer}");
        let answer = fixture.post("peers/validate", json!({"peer": peer})).await.ok();
        assert_eq!(answer["status"], "INVALID");
    }
    assert_eq!(fixture.stores.probed.lock().expect("whole").len(), 2, "no store was connected to");
    assert_eq!(fixture.get("peers/info/new").await.refusal().0, 404);
}

#[tokio::test]
async fn an_update_keeps_the_secret_that_another_one_stored_while_it_connected() {
    let fixture = Fixture::new().await.with_peers().await;
    let mut moved = fixture.get("peers/info/pg").await.ok()["peer"].clone();
    moved["postgresConfig"]["host"] = "elsewhere".into();
    let mut renewed = fixture.control.catalog().peer("pg").await.expect("read").expect("stored");
    let seen = renewed.clone();
    if let PeerConfig::Postgres(config) = &mut renewed.config {
        config.password = Secret::new("planted-renewed");
    }
    let catalog = fixture.control.catalog().clone();
    *fixture.stores.meanwhile.lock().expect("whole") = Some(Box::pin(async move {
        catalog.store_peer(&renewed, Some(&seen)).await.expect("stored");
    }));
    assert_eq!(create(&fixture, moved, json!({"allow_update": true})).await["status"], "CREATED");
    let stored = fixture.control.catalog().peer("pg").await.expect("read").expect("stored");
    let PeerConfig::Postgres(config) = stored.config else { panic!("its kind stays") };
    assert_eq!((config.host.as_str(), config.password.expose()), ("elsewhere", "planted-renewed"));
    let probed = fixture.stores.probed.lock().expect("whole").last().cloned();
    assert_eq!(probed, Some(("pg".into(), "planted-renewed".into())), "what is stored was connected with");
}

#[tokio::test]
async fn a_name_that_is_no_name_is_refused() {
    let fixture = Fixture::new().await;
    for name in ["", "a b", "é", &"n".repeat(64), "a/b"] {
        let answer = create(&fixture, postgres_peer(name), json!({})).await;
        assert_eq!(answer["status"], "FAILED", "{name}");
        assert!(answer["message"].as_str().is_some_and(|message| message.contains("peer.name")), "{answer}");
    }
    assert_eq!(create(&fixture, postgres_peer(&"n".repeat(63)), json!({})).await["status"], "CREATED");
}

#[tokio::test]
async fn a_kind_that_nobody_serves_is_refused_by_name_with_how_to_install_one() {
    let fixture = Fixture::new().await;
    for (kind, name) in [
        (json!(0), "BIGQUERY"),
        (json!(1), "SNOWFLAKE"),
        (json!(2), "MONGO"),
        (json!(5), "S3"),
        (json!(6), "SQLSERVER"),
        (json!(7), "MYSQL"),
        (json!(10), "PUBSUB"),
        (json!(11), "EVENTHUBS"),
        (json!(12), "ELASTICSEARCH"),
        (json!(13), "COCKROACHDB"),
        (json!(100), "PLUGIN"),
        (json!(4), "4"),
        (json!(-1), "-1"),
        (json!("ORACLE"), "ORACLE"),
    ] {
        for (route, bad) in [("peers/create", "FAILED"), ("peers/validate", "INVALID")] {
            let peer = json!({"name": "p", "type": kind, "kafka_config": {"servers": ["a:1"], "password": "planted"}});
            let answer = fixture.post(route, json!({"peer": peer})).await.ok();
            assert_eq!(answer["status"], bad, "{kind}");
            let message = answer["message"].as_str().expect("a text");
            assert!(message.contains(name) && message.contains("install"), "{message}");
        }
    }
}

#[tokio::test]
async fn a_kafka_peer_is_created_read_masked_and_refused_by_field() {
    let fixture = Fixture::new().await;
    let config = json!({"servers": ["b:9092"], "username": "u", "password": "planted", "disable_tls": true});
    for kind in [json!(9), json!("KAFKA"), json!(null)] {
        let peer = json!({"name": "k", "type": kind, "kafka_config": config});
        let answer = create(&fixture, peer, json!({"allow_update": true})).await;
        assert_eq!(answer["status"], "CREATED", "{answer}");
    }
    let shown = fixture.get("peers/info/k").await.ok();
    let shown = &shown["peer"]["kafkaConfig"];
    assert_eq!((&shown["password"], &shown["sasl"]), (&json!("********"), &json!("PLAIN")));
    assert_eq!((&shown["servers"], &shown["maxRecordBatchBytes"]), (&json!(["b:9092"]), &json!(1_000_000)));
    let peer = json!({"name": "bad", "type": 9, "kafka_config": {"servers": ["SSL://b:9092"], "username": "u",
        "sasl": "GSSAPI", "partitioner": "murmur", "max_record_batch_bytes": 3}});
    let message = create(&fixture, peer, json!({})).await["message"].as_str().expect("a text").to_owned();
    for field in ["servers", "sasl", "partitioner", "max_record_batch_bytes"] {
        assert!(message.contains(&format!("peer.kafka_config.{field}")), "{field} in {message}");
    }
    assert!(message.contains("SCRAM-SHA-512") && message.contains("LeastBackup"), "{message}");
}

#[tokio::test]
async fn settings_that_cannot_be_right_are_refused_all_at_once() {
    let fixture = Fixture::new().await;
    let peer = json!({"name": "p", "type": 3, "postgres_config": {"require_tls": true, "disable_tls": true}});
    let message = create(&fixture, peer, json!({})).await["message"].as_str().expect("a text").to_owned();
    for field in ["host", "user", "database", "require_tls"] {
        assert!(message.contains(&format!("peer.postgres_config.{field}")), "{field} in {message}");
    }
    let peer = json!({"name": "p", "type": 3, "clickhouse_config": {"host": "h"}});
    let answer = create(&fixture, peer, json!({})).await;
    assert!(
        answer["message"].as_str().is_some_and(|message| message.contains("postgres_config")),
        "{answer}"
    );
    let answer = create(&fixture, json!({"name": "p"}), json!({})).await;
    assert!(answer["message"].as_str().is_some_and(|message| message.contains("peer.type")), "{answer}");
}

#[tokio::test]
async fn half_of_a_certificate_and_its_key_is_refused_by_name() {
    let fixture = Fixture::new().await;
    let mut pg = postgres_peer("p");
    pg["postgres_config"]["client_tls"] = json!({"certificate": "-----BEGIN CERTIFICATE-----"});
    let mut ch = clickhouse_peer("c");
    ch["clickhouse_config"]["private_key"] = "planted-key".into();
    for (peer, field) in
        [(pg, "postgres_config.client_tls.private_key"), (ch, "clickhouse_config.certificate")]
    {
        let message = create(&fixture, peer, json!({})).await["message"].as_str().expect("a text").to_owned();
        assert!(message.contains(&format!("peer.{field}: is missing")), "{message}");
    }
}

#[tokio::test]
async fn an_ssh_server_is_stored_and_its_secrets_read_back_masked() {
    let fixture = Fixture::new().await;
    let mut peer = postgres_peer("p");
    peer["postgres_config"]["sshConfig"] = json!({"host": "jump", "user": "u", "password": "planted-ssh",
        "privateKey": "planted-key", "hostKey": "SHA256:x"});
    assert_eq!(create(&fixture, peer, json!({})).await["status"], "CREATED");
    let shown = json!({"host": "jump", "port": 22, "user": "u", "password": "********",
        "privateKey": "********", "hostKey": "SHA256:x"});
    let info = fixture.get("peers/info/p").await.ok();
    assert_eq!(info["peer"]["postgresConfig"]["sshConfig"], shown);
    let mut update = postgres_peer("p");
    update["postgres_config"]["ssh_config"] = shown;
    assert_eq!(create(&fixture, update, json!({"allow_update": true})).await["status"], "CREATED");
    let Some(tarn_model::Peer { config: tarn_model::PeerConfig::Postgres(stored), .. }) =
        fixture.control.catalog().peer("p").await.expect("read")
    else {
        panic!("the peer is stored")
    };
    let ssh = stored.ssh_config.expect("with its ssh server");
    assert_eq!((ssh.password.expose(), ssh.private_key.expose()), ("planted-ssh", "planted-key"));
}

#[tokio::test]
async fn staging_settings_are_taken_flat_and_nested() {
    let fixture = Fixture::new().await;
    let mut peer = clickhouse_peer("c");
    peer["clickhouse_config"]["s3"] = json!({"url": "s3://bucket/prefix", "accessKeyId": "planted-key-id",
        "secret_access_key": "planted-secret-key", "region": "eu-1", "endpoint": "http://minio", "rootCa": "pem"});
    assert_eq!(create(&fixture, peer, json!({})).await["status"], "CREATED");
    let config = fixture.get("peers/info/c").await.ok()["peer"]["clickhouseConfig"].clone();
    assert_eq!((&config["s3Path"], &config["region"]), (&json!("s3://bucket/prefix"), &json!("eu-1")));
    assert_eq!(config["s3RootCa"], "pem");
    assert_eq!(
        (&config["accessKeyId"], &config["secretAccessKey"]),
        (&json!("********"), &json!("********"))
    );
}

#[tokio::test]
async fn the_hosted_edition_ignores_a_peers_own_bucket() {
    let fixture = Fixture::in_edition(Edition::Hosted).await;
    let mut peer = clickhouse_peer("c");
    peer["clickhouse_config"]["s3_path"] = "s3://mine".into();
    peer["clickhouse_config"]["access_key_id"] = "planted-key-id".into();
    assert_eq!(create(&fixture, peer, json!({})).await["status"], "CREATED");
    let config = fixture.get("peers/info/c").await.ok()["peer"]["clickhouseConfig"].clone();
    assert_eq!((&config["s3Path"], &config["accessKeyId"]), (&json!(""), &json!("")));
}

#[tokio::test]
async fn validating_stores_nothing() {
    let fixture = Fixture::new().await;
    let valid = fixture.post("peers/validate", json!({"peer": postgres_peer("pg")})).await.ok();
    assert_eq!(valid, json!({"status": "VALID", "message": ""}));
    fixture.unreachable("no route to host");
    let invalid = fixture.post("peers/validate", json!({"peer": postgres_peer("pg")})).await.ok();
    assert_eq!(invalid["status"], "INVALID");
    assert!(invalid["message"].as_str().is_some_and(|message| message.contains("no route to host")));
    assert_eq!(fixture.get("peers/info/pg").await.refusal(), (404, 5, vec!["peer_name".into()]));
}

#[tokio::test]
async fn peers_are_listed_with_what_they_can_be() {
    let fixture = Fixture::new().await.with_peers().await;
    let (pg, ch) = (json!({"name": "pg", "type": "POSTGRES"}), json!({"name": "ch", "type": "CLICKHOUSE"}));
    let expected = json!({"items": [ch, pg], "sourceItems": [pg], "destinationItems": [ch]});
    assert_eq!(fixture.get("peers/list").await.ok(), expected);
    assert_eq!(fixture.get("peers/type/ch").await.ok(), json!({"peerType": "CLICKHOUSE"}));
    assert_eq!(fixture.get("peers/type/none").await.refusal(), (404, 5, vec!["peer_name".into()]));
}

#[tokio::test]
async fn a_peer_is_dropped_only_when_no_mirror_uses_it() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("m").await;
    let refused = fixture.post("peers/drop", json!({"peerName": "pg"})).await;
    assert_eq!(refused.refusal(), (400, 9, vec!["peer_name".into()]));
    assert!(refused.json()["message"].as_str().is_some_and(|message| message.contains("m")));
    fixture.request("m", "STATUS_TERMINATED").await;
    fixture.observe("m", tarn_model::MirrorState::Terminated).await;
    assert_eq!(fixture.post("peers/drop", json!({"peer_name": "pg"})).await.ok(), json!({}));
    assert_eq!(fixture.post("peers/drop", json!({"peer_name": "pg"})).await.refusal().0, 404);
    let nameless = fixture.post("peers/drop", json!({})).await.refusal();
    assert_eq!(nameless, (400, 3, vec!["peer_name".into()]));
}

#[tokio::test]
async fn a_kind_does_not_change_under_a_mirror() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.mirror("m").await;
    let answer = create(&fixture, clickhouse_peer("pg"), json!({"allow_update": true})).await;
    assert_eq!(answer["status"], "FAILED");
    assert!(answer["message"].as_str().is_some_and(|message| message.contains("used by m")), "{answer}");
}

#[tokio::test]
async fn a_query_timeout_is_read_in_its_unit_and_passwords_byte_for_byte() {
    // B236: nothing is encoded or decoded on the way.
    let fixture = Fixture::new().await;
    let mut peer = postgres_peer("p");
    let odd = "pass word+%20p@ss:w/?ord#\u{e9}";
    peer["postgres_config"]["password"] = odd.into();
    assert_eq!(create(&fixture, peer, json!({})).await["status"], "CREATED");
    fixture.get("peers/info/p").await.ok();
    let probed = fixture.stores.probed.lock().expect("whole").clone();
    assert!(probed.iter().all(|(_, password)| password == odd), "{}", probed.len());
}

async fn compare(fixture: &Fixture, peer: Value) -> Value {
    fixture.post("peers/compare", json!({"peer": peer})).await.ok()
}

#[tokio::test]
async fn a_peer_is_compared_with_the_stored_one_field_by_field_and_secrets_are_masks() {
    let fixture = Fixture::new().await.with_peers().await;
    assert_eq!(compare(&fixture, postgres_peer("new")).await, json!({"exists": false, "differences": []}));
    let same = json!({"exists": true, "differences": []});
    assert_eq!(compare(&fixture, postgres_peer("pg")).await, same);
    let mut peer = postgres_peer("pg");
    peer["postgres_config"]["password"] = json!("********");
    assert_eq!(compare(&fixture, peer.clone()).await, same, "the mask is the stored secret");
    peer["postgres_config"]["password"] = json!("planted-other");
    peer["postgres_config"]["host"] = json!("other");
    peer["postgres_config"]["require_tls"] = json!(true);
    let differs = |field: &str, stored: &str, given: &str| json!({"field": format!("postgres_config.{field}"), "stored": stored, "given": given});
    let answer = compare(&fixture, peer).await;
    assert_eq!(
        answer["differences"],
        json!([
            differs("host", "db.example", "other"),
            differs("password", "********", "********"),
            differs("require_tls", "false", "true")
        ])
    );
    assert!(fixture.stores.probed.lock().expect("whole").len() == 2, "no store was asked");
}

#[tokio::test]
async fn a_peer_that_cannot_be_is_not_compared() {
    let fixture = Fixture::new().await;
    let answer = fixture.post("peers/compare", json!({"peer": {"name": "a b", "postgres_config": {}}})).await;
    let (status, code, fields) = answer.refusal();
    assert_eq!((status, code), (400, 3));
    assert_eq!(
        fields,
        [
            "peer.name",
            "peer.postgres_config.host",
            "peer.postgres_config.user",
            "peer.postgres_config.database"
        ]
    );
    let answer = fixture.post("peers/compare", json!({"peer": {"name": "x", "type": "MONGO"}})).await;
    assert_eq!(answer.refusal().0, 400);
}

#[tokio::test]
async fn a_bucket_that_an_edition_ignores_makes_no_difference() {
    let fixture = Fixture::in_edition(Edition::Hosted).await;
    let mut peer = clickhouse_peer("ch");
    peer["clickhouse_config"]["s3_path"] = json!("s3://mine/x");
    assert_eq!(create(&fixture, peer.clone(), json!({})).await["status"], "CREATED");
    assert_eq!(compare(&fixture, peer).await, json!({"exists": true, "differences": []}));
}
