//! A ClickHouse that is away does not make PostgreSQL keep its log: changes wait in the stage, and arrive.
//!
//! With a million changes instead of some ten thousand, and figures:
//! `TARN_STAGE_ROWS=1000000 cargo test --workspace --test stage in_a_bucket -- --nocapture`

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tarn_e2e::{Certificate, Scene};
use tarn_harness::{Bucket, ClickHouse, Postgres, Tarn, until, until_within};

const SOURCE: &str = "SELECT id::text, n::text, md5(big), to_jsonb(t)->>'late' FROM t ORDER BY t.id";
const TARGET: &str =
    "SELECT toString(id), toString(n), lower(hex(MD5(big))), toString(late) FROM t FINAL ORDER BY id";

/// How long a million changes may take on a busy machine, to be put aside or to be delivered.
const LONG: Duration = Duration::from_secs(600);

fn mirrored(tarn: &[(&str, &str)]) -> Scene {
    mirrored_by(Scene::start_with(&[], tarn))
}

/// The same with the rows that wait in a bucket.
fn mirrored_through(bucket: &Bucket) -> Scene {
    let scene = Scene::start_with(&[], &[]);
    let answer = name_bucket(&scene, &bucket.staging());
    assert_eq!(answer["status"], "CREATED", "{answer}");
    mirrored_by(scene)
}

/// Gives the target a bucket.
fn name_bucket(scene: &Scene, staging: &Value) -> Value {
    let mut config = scene.clickhouse.peer_config();
    config.as_object_mut().expect("an object").extend(staging.as_object().expect("an object").clone());
    let peer = json!({"name": "target", "type": 8, "clickhouse_config": config});
    scene.post("peers/create", &json!({"peer": peer, "allow_update": true}))
}

fn mirrored_by(scene: Scene) -> Scene {
    scene.postgres.query(
        "CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL, big text);
         ALTER TABLE t ALTER COLUMN big SET STORAGE EXTERNAL;
         CREATE TABLE emptied (id int PRIMARY KEY); INSERT INTO emptied VALUES (1);
         INSERT INTO t SELECT n, 0, repeat(md5(n::text), 100) FROM generate_series(1, 1000) n",
    );
    scene.mirror("t", &[("public.t", "t"), ("public.emptied", "emptied")], &json!({}));
    scene.wait_for_state("t", "STATUS_RUNNING");
    scene
}

fn status(scene: &Scene) -> Value {
    scene.post("mirrors/status", &json!({"flowJobName": "t", "includeFlowInfo": true}))
}

fn stage(scene: &Scene) -> Value {
    status(scene)["cdcStatus"]["stage"].clone()
}

/// Waits until the status tells of trouble with the stage that says this.
fn wait_for_trouble(scene: &Scene, words: &[&str]) {
    let mut last = Value::Null;
    let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        until_within(tarn_e2e::PATIENCE, "the status tells of it", || {
            last = stage(scene);
            let error = last["error"].as_str().unwrap_or_default();
            words.iter().all(|word| error.contains(word)).then_some(())
        });
    }));
    assert!(told.is_ok(), "{words:?}: {last}; log:\n{}", scene.log("t"));
}

/// Waits until the source may forget everything that was committed so far.
fn wait_until_confirmed(scene: &Scene) {
    let now = scene.postgres.scalar("SELECT pg_current_wal_lsn()").expect("a position");
    let sql = format!(
        "SELECT confirmed_flush_lsn >= '{now}' FROM pg_replication_slots WHERE slot_name = 'tarn_slot_t'"
    );
    until_within(LONG, "the slot moves on", || {
        (scene.postgres.scalar(&sql).as_deref() == Some("t")).then_some(())
    });
}

#[test]
fn with_clickhouse_away_the_slot_moves_on_and_everything_arrives_over_kills_of_tarn() {
    let mut scene = mirrored(&[]);
    scene.clickhouse.kill();
    for round in 1..=4 {
        for part in 0..10 {
            let first = round * 100_000 + part * 1_000;
            scene.postgres.query(&format!(
                "INSERT INTO t (id, n, big) SELECT n, 1, 'new' FROM generate_series({first}, {first} + 999) n;
                 UPDATE t SET n = n + 1 WHERE id % 10 = {part};
                 UPDATE t SET id = -id WHERE id = {round} * 20 + {part};
                 DELETE FROM t WHERE id % 997 = {part}"
            ));
        }
        match round {
            1 => wait_until_confirmed(&scene),
            2 => drop(scene.postgres.query("ALTER TABLE t ADD COLUMN late int DEFAULT 7")),
            3 => drop(scene.postgres.query("TRUNCATE emptied; INSERT INTO emptied VALUES (2)")),
            _ => {}
        }
        // In the middle of what is read, staged and confirmed.
        scene.tarn.kill();
        scene.tarn.start_again();
    }
    wait_until_confirmed(&scene);
    assert_eq!(status(&scene)["currentFlowState"], "STATUS_RUNNING");
    assert_ne!(status(&scene)["cdcStatus"]["latency"]["stagedBytes"], "0");
    let log = scene.log("t");
    assert!(log.contains("wait in the stage until the destination takes them"), "{log}");

    scene.clickhouse.start_again();
    scene.wait_until_equal(SOURCE, TARGET);
    scene.wait_for_target("SELECT toString(groupArray(id)) FROM emptied FINAL", "[2]");
    until("nothing waits any more", || {
        (status(&scene)["cdcStatus"]["latency"]["stagedBytes"] == "0").then_some(())
    });
    // From here on the stage is passed by.
    scene.postgres.query("UPDATE t SET n = -1 WHERE id % 3 = 0");
    scene.wait_until_equal(SOURCE, TARGET);
    let verification = scene.verify("t");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
    let log = scene.log("t");
    assert!(log.contains("the destination has everything that waited in the stage"), "{log}");
}

#[test]
fn a_full_stage_is_told_of_with_its_remedy_and_the_rest_waits_at_the_source() {
    let mut scene = mirrored(&[("TARN_STAGE_MIB_MAX", "1")]);
    scene.clickhouse.kill();
    for round in 1..=8 {
        let first = round * 10_000;
        scene.postgres.query(&format!(
            "INSERT INTO t (id, n, big) SELECT n, 1, repeat(md5(n::text), 100) FROM generate_series({first}, {first} + 199) n"
        ));
    }
    until_within(tarn_e2e::PATIENCE, "the log tells of the full stage", || {
        let log = scene.log("t");
        (log.contains("the stage is full") && log.contains("stage_mib_max")).then_some(())
    });
    scene.postgres.query("ALTER TABLE t ADD COLUMN late int; UPDATE t SET late = 1 WHERE id = 1");
    scene.clickhouse.start_again();
    scene.wait_until_equal(SOURCE, TARGET);
}

#[test]
fn a_disk_without_room_for_the_stage_is_told_of_and_the_rest_waits_at_the_source() {
    let tarn = Tarn::start_with_stage_on_disk(1);
    let scene = Scene { postgres: Postgres::start(), clickhouse: ClickHouse::start(), tarn };
    scene.create_peers();
    let mut scene = mirrored_by(scene);
    scene.clickhouse.kill();
    for round in 1..=8 {
        let first = round * 10_000;
        scene.postgres.query(&format!(
            "INSERT INTO t (id, n, big) SELECT n, 1, repeat(md5(n::text), 100) FROM generate_series({first}, {first} + 199) n"
        ));
    }
    wait_for_trouble(&scene, &["No space left on device", "make room for it"]);
    until_within(tarn_e2e::PATIENCE, "the log tells of it", || {
        scene.log("t").contains("has no room for more of the stage").then_some(())
    });
    scene.postgres.query("ALTER TABLE t ADD COLUMN late int; UPDATE t SET late = 1 WHERE id = 1");
    scene.clickhouse.start_again();
    scene.wait_until_equal(SOURCE, TARGET);
    until("nothing waits any more", || (stage(&scene)["entries"] == "0").then_some(()));
}

#[test]
fn a_table_whose_target_somebody_dropped_is_removed_though_its_rows_wait() {
    let mut scene = mirrored(&[]);
    scene.postgres.query("ALTER TABLE t ADD COLUMN late int; UPDATE t SET late = 1 WHERE id = 1");
    scene.wait_until_equal(SOURCE, TARGET);
    scene.clickhouse.kill();
    // A description of columns waits, too: it does not make the target anew.
    scene.postgres.query("ALTER TABLE emptied ADD COLUMN late int");
    scene.postgres.query("UPDATE t SET n = 7 WHERE id < 100; INSERT INTO emptied VALUES (5, 1)");
    scene
        .postgres
        .query("TRUNCATE emptied; INSERT INTO emptied VALUES (6); UPDATE t SET n = 8 WHERE id < 50");
    wait_until_confirmed(&scene);
    scene.request_state("t", "STATUS_PAUSED");
    scene.wait_for_state("t", "STATUS_PAUSED");
    scene.clickhouse.start_again();
    scene.clickhouse.query("DROP TABLE emptied SYNC");
    let edit = json!({"flowJobName": "t", "requestedFlowState": "STATUS_RUNNING", "flowConfigUpdate":
        {"cdcFlowConfigUpdate": {"removedTables": [
            {"sourceTableIdentifier": "public.emptied", "destinationTableIdentifier": "emptied"}]}}});
    assert_eq!(scene.post("mirrors/state_change", &edit), json!({}));
    scene.wait_for_state("t", "STATUS_RUNNING");
    scene.postgres.query("UPDATE t SET n = 9 WHERE id < 10; INSERT INTO emptied VALUES (7)");
    scene.wait_until_equal(SOURCE, TARGET);
    let log = scene.log("t");
    let told = "table public.emptied leaves the mirror, and its target cannot take what waits for it";
    assert_eq!(log.matches(told).count(), 1, "{log}");
    assert_eq!(scene.clickhouse.scalar("EXISTS TABLE emptied").as_deref(), Some("0"));
}

#[test]
fn what_waits_is_delivered_before_an_edit_and_gone_after_a_resync_or_a_drop() {
    let mut scene = mirrored(&[]);
    scene.postgres.query("ALTER TABLE t ADD COLUMN late int; UPDATE t SET late = 1 WHERE id = 1");
    scene.wait_until_equal(SOURCE, TARGET);
    scene.clickhouse.kill();
    scene
        .postgres
        .query("INSERT INTO t (id, n) VALUES (5000, 1); TRUNCATE emptied; INSERT INTO emptied VALUES (3)");
    wait_until_confirmed(&scene);
    // What waits for a table that is removed reaches it all the same, and first.
    scene.request_state("t", "STATUS_PAUSED");
    scene.wait_for_state("t", "STATUS_PAUSED");
    let edit = json!({"flowJobName": "t", "requestedFlowState": "STATUS_RUNNING", "flowConfigUpdate":
        {"cdcFlowConfigUpdate": {"removedTables": [
            {"sourceTableIdentifier": "public.emptied", "destinationTableIdentifier": "emptied"}]}}});
    scene.post("mirrors/state_change", &edit);
    scene.clickhouse.start_again();
    scene.wait_until_equal(SOURCE, TARGET);
    scene.wait_for_target("SELECT toString(groupArray(id)) FROM emptied FINAL", "[3]");

    scene.wait_for_state("t", "STATUS_RUNNING");
    scene.clickhouse.kill();
    scene.postgres.query("UPDATE t SET n = 5");
    wait_until_confirmed(&scene);
    scene.request_state("t", "STATUS_RESYNC");
    scene.clickhouse.start_again();
    until_within(tarn_e2e::PATIENCE, "the resync is done", || {
        scene.log("t").contains("took the place of the old ones").then_some(())
    });
    scene.wait_until_equal(SOURCE, TARGET);
    scene.wait_for_state("t", "STATUS_RUNNING");

    scene.clickhouse.kill();
    scene.postgres.query("UPDATE t SET n = 6");
    wait_until_confirmed(&scene);
    let staged = || {
        let folders = std::fs::read_dir(scene.tarn.data_dir().join("stage")).expect("a folder");
        folders.flatten().flat_map(|folder| std::fs::read_dir(folder.path())).flatten().flatten().count()
    };
    assert!(staged() > 0);
    scene.request_state("t", "STATUS_TERMINATED");
    until_within(tarn_e2e::PATIENCE, "it is dropped", || {
        scene.log("t").contains("dropped; the destination's tables stay").then_some(())
    });
    assert_eq!(staged(), 0);
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures are for who asked for many rows")]
fn with_clickhouse_away_a_million_changes_can_wait_in_a_bucket_over_kills_and_its_troubles() {
    let changes: u64 =
        std::env::var("TARN_STAGE_ROWS").ok().map_or(20_000, |text| text.parse().expect("a number"));
    let bucket = Bucket::start();
    let mut scene = mirrored_through(&bucket);
    scene.clickhouse.kill();
    let began = Instant::now();
    let quarter = changes / 4;
    for round in 1..=4 {
        let first = round * 10_000_000;
        // Two thirds of the changes insert, two ninths update, the others delete.
        scene.postgres.query(&format!(
            "INSERT INTO t (id, n, big) SELECT n, 1, 'new' FROM generate_series({first}, {first} + {quarter} * 2 / 3) n;
             UPDATE t SET n = n + 1 WHERE id >= {first} AND id % 3 = 0;
             UPDATE t SET n = n + 1 WHERE id % 10 = {round};
             UPDATE t SET id = -id WHERE id = {round} * 20;
             DELETE FROM t WHERE id >= {first} AND id % 5 = 0"
        ));
        match round {
            1 => {
                wait_until_confirmed(&scene);
                scene.tarn.kill();
                scene.tarn.start_again();
            }
            2 => {
                // In the middle of what is put there.
                bucket.close();
                wait_for_trouble(&scene, &["cannot reach", "check endpoint"]);
                scene.tarn.kill();
                scene.tarn.start_again();
                bucket.open();
                wait_until_confirmed(&scene);
            }
            3 => {
                bucket.set_keys("AKIAOTHER0000000001", "another/secret");
                wait_for_trouble(&scene, &["InvalidAccessKeyId", "correct access_key_id"]);
                bucket.set_keys(bucket.key(), bucket.secret());
                wait_until_confirmed(&scene);
            }
            _ => {
                bucket.freeze();
                scene.tarn.kill();
                bucket.thaw();
                scene.tarn.start_again();
            }
        }
    }
    wait_until_confirmed(&scene);
    let staged = began.elapsed();
    assert_eq!(status(&scene)["currentFlowState"], "STATUS_RUNNING");
    let told = stage(&scene);
    let place = format!("s3://{}/some/prefix at {}", bucket.name(), bucket.endpoint());
    assert_eq!((&told["place"], &told["error"]), (&json!(place), &json!("")), "{told}");
    assert!(told["oldestAt"].is_string(), "{told}");
    let objects = bucket.objects();
    let bytes: u64 = objects.iter().map(|(_, bytes)| bytes).sum();
    assert!(
        objects.len() as u64 >= told["entries"].as_str().expect("a number").parse().expect("one"),
        "{told}"
    );
    let metrics = scene.tarn.get("/metrics").text();
    for name in ["tarn_mirror_staged_entries", "tarn_mirror_staged_oldest_seconds"] {
        let line = metrics.lines().find(|line| line.starts_with(&format!("{name}{{mirror=\"t\"}}")));
        assert!(line.is_some_and(|line| !line.ends_with(" 0")), "{name}: {line:?}");
    }
    assert!(metrics.contains("tarn_mirror_stage_errors_total{mirror=\"t\"}"), "{metrics}");

    let began = Instant::now();
    scene.clickhouse.start_again();
    until_within(LONG, "nothing waits any more", || (stage(&scene)["entries"] == "0").then_some(()));
    scene.wait_until_equal(SOURCE_WITHOUT_LATE, TARGET_WITHOUT_LATE);
    eprintln!(
        "{changes} changes: put aside within {staged:?} in {} objects, {} MiB; delivered within {:?}",
        objects.len(),
        bytes >> 20,
        began.elapsed()
    );
    let verification = scene.verify("t");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
    // What puts that ended late have left is removed at a start.
    scene.tarn.stop();
    scene.tarn.start_again();
    until_within(tarn_e2e::PATIENCE, "the bucket is empty", || bucket.objects().is_empty().then_some(()));
    let said = scene.tarn.log() + &scene.log("t");
    assert!(!said.contains(bucket.secret()) && !said.contains("another/secret"), "a secret was told");
}

const SOURCE_WITHOUT_LATE: &str = "SELECT id::text, n::text, md5(big) FROM t ORDER BY t.id";
const TARGET_WITHOUT_LATE: &str =
    "SELECT toString(id), toString(n), lower(hex(MD5(big))) FROM t FINAL ORDER BY id";

#[test]
fn a_bucket_that_is_missing_or_loses_objects_loses_no_change_and_is_told_of() {
    let bucket = Bucket::start();
    let mut scene = mirrored_through(&bucket);
    bucket.remove();
    scene.postgres.query("UPDATE t SET n = 1 WHERE id = 1");
    scene.wait_until_equal(SOURCE_WITHOUT_LATE, TARGET_WITHOUT_LATE); // nobody needs it yet
    scene.clickhouse.kill();
    scene.postgres.query("UPDATE t SET n = 2");
    wait_for_trouble(&scene, &["NoSuchBucket", "make the bucket"]);
    bucket.make();
    wait_until_confirmed(&scene);
    let name = &bucket.objects().pop().expect("the rows wait in an object").0;
    let content = bucket.content(name);
    bucket.plant(name, &content[1..]);
    scene.clickhouse.start_again();
    scene.wait_for_state("t", "STATUS_FAILED");
    assert!(scene.log("t").contains("stage_damaged"), "{}", scene.log("t"));
    bucket.take(name);
    scene.request_state("t", "STATUS_RUNNING");
    until_within(tarn_e2e::PATIENCE, "the log tells that it is missing", || {
        scene.log("t").contains("stage_missing").then_some(())
    });
    scene.wait_for_state("t", "STATUS_FAILED");
    bucket.plant(name, &content);
    scene.request_state("t", "STATUS_RUNNING");
    scene.wait_until_equal(SOURCE_WITHOUT_LATE, TARGET_WITHOUT_LATE);

    // A drop needs no bucket, and what it leaves is removed at the next start.
    scene.clickhouse.kill();
    scene.postgres.query("UPDATE t SET n = 3");
    wait_until_confirmed(&scene);
    bucket.set_keys("AKIAOTHER0000000001", "another/secret");
    scene.request_state("t", "STATUS_TERMINATED");
    until_within(tarn_e2e::PATIENCE, "it is dropped", || {
        scene.log("t").contains("dropped; the destination's tables stay").then_some(())
    });
    assert!(scene.log("t").contains("could not be removed yet"), "{}", scene.log("t"));
    assert!(!bucket.objects().is_empty());
    bucket.set_keys(bucket.key(), bucket.secret());
    scene.tarn.stop();
    scene.tarn.start_again();
    until_within(tarn_e2e::PATIENCE, "the bucket is empty", || bucket.objects().is_empty().then_some(()));
}

/// B202: exactly the rights that staging uses are asked for.
#[test]
fn a_peer_with_a_bucket_that_cannot_be_used_is_refused_with_the_remedy() {
    let bucket = Bucket::start();
    let scene = Scene::start();
    let refused = |field: &str, value: &str| {
        let mut staging = bucket.staging();
        staging[field] = value.into();
        let answer = name_bucket(&scene, &staging);
        assert_eq!(answer["status"], "FAILED", "{answer}");
        answer["message"].as_str().expect("a text").to_owned()
    };
    for (field, value, words) in [
        ("secret_access_key", "not/the/secret", "correct access_key_id and secret_access_key"),
        ("secret_access_key", "", "secret_access_key is empty"),
        ("s3_path", "s3://another-bucket", "make the bucket, or correct s3_path"),
        ("s3_path", "another-bucket", "s3_path is not of the form"),
        ("endpoint", "http://127.0.0.1:1", "check endpoint"),
    ] {
        let message = refused(field, value);
        assert!(message.contains("bucket of peer target") && message.contains(words), "{message}");
        assert!(!message.contains(bucket.secret()) && !message.contains("not/the/secret"), "{message}");
    }
    let needed = ["s3:PutObject", "s3:GetObject", "s3:ListBucket", "s3:DeleteObject"];
    for without in needed {
        let rights: Vec<_> = needed.into_iter().filter(|right| *right != without).collect();
        bucket.allow(&rights);
        let answer = name_bucket(&scene, &bucket.staging());
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(message.contains("AccessDenied") && message.contains("the right to"), "{without}: {answer}");
    }
    bucket.allow(&needed);
    let left = bucket.objects().len();
    assert!(left <= 1, "only who may not delete leaves something");
    assert_eq!(name_bucket(&scene, &bucket.staging())["status"], "CREATED");
    assert_eq!(bucket.objects().len(), left);
}

#[test]
fn a_bucket_by_https_is_trusted_by_its_peers_authorities_or_else_the_machines_alone() {
    let certificate = Certificate::of("127.0.0.1");
    let bucket = Bucket::start_with_https(certificate.file(), certificate.key_file());
    let stranger = Scene::start();
    let pem = |certificate: &Certificate| std::fs::read_to_string(certificate.file()).expect("a file");
    let another = pem(&Certificate::of("127.0.0.1"));
    for authorities in ["", &another] {
        let mut staging = bucket.staging();
        staging["s3_root_ca"] = authorities.into();
        let answer = name_bucket(&stranger, &staging);
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(answer["status"] == "FAILED" && message.contains("certificate"), "{answer}");
    }
    let mut staging = bucket.staging();
    staging["s3_root_ca"] = pem(&certificate).into();
    assert_eq!(name_bucket(&stranger, &staging)["status"], "CREATED");
    assert!(bucket.log().contains("DELETE"), "it was tried: {}", bucket.log());
    drop(stranger);
    let authorities = certificate.file().display().to_string();
    let scene = Scene::start_with(&[], &[("SSL_CERT_FILE", &authorities)]);
    assert_eq!(name_bucket(&scene, &bucket.staging())["status"], "CREATED");
}

#[test]
fn the_services_bucket_keeps_changes_over_kills_whatever_bucket_a_peer_names_in_the_hosted_edition() {
    let certificate = Certificate::of("127.0.0.1");
    let bucket = Bucket::start_with_https(certificate.file(), certificate.key_file());
    let of_peer = Bucket::start();
    let authorities = certificate.file().display().to_string();
    let scene = Scene::start_with(
        &[],
        &[
            ("TARN_EDITION", "hosted"),
            ("TARN_STAGE_S3_PATH", "s3://tarn-rows/of/all"),
            ("TARN_STAGE_S3_ACCESS_KEY_ID", bucket.key()),
            ("TARN_STAGE_S3_SECRET_ACCESS_KEY", bucket.secret()),
            ("TARN_STAGE_S3_ENDPOINT", &bucket.endpoint()),
            ("TARN_STAGE_S3_ROOT_CA", &authorities),
        ],
    );
    assert_eq!(name_bucket(&scene, &of_peer.staging())["status"], "CREATED");
    let mut scene = mirrored_by(scene);
    scene.clickhouse.kill();
    for round in 1..=3 {
        scene.postgres.query(&format!(
            "UPDATE t SET n = n + 1 WHERE id % {round} = 0; UPDATE t SET id = -id WHERE id = {round} * 11;
             INSERT INTO t (id, n) SELECT {round} * 10000 + i, {round} FROM generate_series(1, 500) i"
        ));
        if round < 3 {
            wait_until_confirmed(&scene);
        }
        scene.tarn.kill();
        scene.tarn.start_again();
    }
    wait_until_confirmed(&scene);
    let told = stage(&scene);
    let place = format!("s3://tarn-rows/of/all at {}", bucket.endpoint());
    assert_eq!((&told["place"], &told["error"]), (&json!(place), &json!("")), "{told}");
    let objects = bucket.objects();
    assert!(
        !objects.is_empty() && objects.iter().all(|(name, _)| name.starts_with("of/all/tarn/")),
        "{objects:?}"
    );
    assert!(of_peer.objects().is_empty(), "{:?}", of_peer.objects());
    scene.clickhouse.start_again();
    scene.wait_until_equal(SOURCE_WITHOUT_LATE, TARGET_WITHOUT_LATE);
    until_within(tarn_e2e::PATIENCE, "nothing waits any more", || {
        (stage(&scene)["entries"] == "0").then_some(())
    });
    let verification = scene.verify("t");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
    scene.tarn.stop();
    scene.tarn.start_again();
    until_within(tarn_e2e::PATIENCE, "the bucket is empty", || bucket.objects().is_empty().then_some(()));
}

#[test]
fn a_server_whose_buckets_authorities_are_not_there_says_so_and_does_not_start() {
    let mut tarn = Tarn::launch(&[
        ("TARN_STAGE_S3_PATH", "s3://rows"),
        ("TARN_STAGE_S3_ACCESS_KEY_ID", "key"),
        ("TARN_STAGE_S3_SECRET_ACCESS_KEY", "secret"),
        ("TARN_STAGE_S3_ROOT_CA", "/nowhere/ca.pem"),
    ]);
    assert!(!tarn.wait_for_end());
    assert!(tarn.log().contains("stage_s3_root_ca (/nowhere/ca.pem) cannot be read"), "{}", tarn.log());
}

#[test]
fn without_room_changes_wait_at_the_source_over_restarts_and_what_waited_before_is_delivered() {
    let mut scene = mirrored(&[]);
    let confirmed = "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = 'tarn_slot_t'";
    scene.clickhouse.kill();
    scene.postgres.query("UPDATE t SET n = 1 WHERE id < 500; INSERT INTO t (id, n) VALUES (5000, 1)");
    wait_until_confirmed(&scene);
    assert_ne!(stage(&scene)["entries"], "0");
    scene.tarn.stop();
    scene.tarn.set("TARN_STAGE_MIB_MAX", "0");
    scene.tarn.start_again();
    // The slot stays where it is.
    let before = scene.postgres.scalar(confirmed);
    scene.postgres.query("UPDATE t SET n = 2 WHERE id < 300; UPDATE t SET id = 6000 WHERE id = 5000; DELETE FROM t WHERE id = 7");
    let tries = |scene: &Scene| scene.log("t").matches("failed, the next is in").count();
    for end in [Tarn::kill as fn(&mut Tarn), |tarn: &mut Tarn| assert!(tarn.stop())] {
        until_within(tarn_e2e::PATIENCE, "the destination was tried", || (tries(&scene) > 0).then_some(()));
        assert_eq!(scene.postgres.scalar(confirmed), before);
        assert_eq!(scene.state("t"), "STATUS_RUNNING");
        end(&mut scene.tarn);
        scene.tarn.start_again();
    }
    let told = stage(&scene);
    assert_eq!((&told["place"], &told["error"]), (&json!(""), &json!("")), "{told}");
    scene.clickhouse.start_again();
    scene.wait_until_equal(SOURCE_WITHOUT_LATE, TARGET_WITHOUT_LATE);
    wait_until_confirmed(&scene);
    let verification = scene.verify("t");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
    // From now on nothing is put there at all.
    scene.clickhouse.kill();
    let before = scene.postgres.scalar(confirmed);
    scene.postgres.query("UPDATE t SET n = 3 WHERE id < 200");
    until_within(tarn_e2e::PATIENCE, "the status tells of the destination", || {
        scene.log("t").contains("the destination").then_some(())
    });
    assert_eq!((&stage(&scene)["entries"], scene.postgres.scalar(confirmed)), (&json!("0"), before));
    scene.clickhouse.start_again();
    scene.wait_until_equal(SOURCE_WITHOUT_LATE, TARGET_WITHOUT_LATE);
}
