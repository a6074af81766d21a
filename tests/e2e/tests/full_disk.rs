//! A data folder without room holds mirrors up, and says so; with room again they go on by themselves.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};

use serde_json::{Value, json};
use tarn_e2e::{PATIENCE, Scene};
use tarn_harness::{ClickHouse, HttpAnswer, Postgres, Tarn, until_within};

const MIRROR: &str = "t";
const DISK_MIB: u32 = 24;

fn ready(scene: &Scene) -> HttpAnswer {
    scene.tarn.try_request("GET", "/readyz", &[], b"").expect("it answers")
}

/// What the mirror's status tells that is tried again.
fn retrying(scene: &Scene) -> Value {
    let status = scene.post("mirrors/status", &json!({"flowJobName": MIRROR, "includeFlowInfo": true}));
    status["cdcStatus"]["retrying"].clone()
}

/// Takes all the room that is left.
fn fill(mut ballast: &File) {
    for bytes in [1 << 20, 4096, 1] {
        loop {
            match ballast.write_all(&vec![b'x'; bytes]) {
                Ok(()) => {}
                Err(full) if full.kind() == ErrorKind::StorageFull => break,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn a_full_data_folder_is_told_of_and_everything_goes_on_once_there_is_room() {
    let tarn = Tarn::start_on_disk(DISK_MIB);
    let scene = Scene { postgres: Postgres::start(), clickhouse: ClickHouse::start(), tarn };
    scene.create_peers();
    scene.postgres.query("CREATE TABLE t (id bigint PRIMARY KEY); INSERT INTO t VALUES (0)");
    scene.mirror(MIRROR, &[("public.t", "t")], &json!({}));
    scene.wait_for_state(MIRROR, "STATUS_RUNNING");
    assert_eq!(ready(&scene).status, 200);

    let path = scene.tarn.data_dir_of_process().join("ballast");
    let ballast = File::create(&path).expect("there is room");
    let mut rows = 0;
    let told = until_within(PATIENCE, "the mirror has no room", || {
        // What a checkpoint of the database frees is taken as well.
        fill(&ballast);
        rows += 1;
        scene.postgres.query(&format!("INSERT INTO t VALUES ({rows})"));
        Some(retrying(&scene)).filter(|told| told["code"] == "catalog_full")
    });
    assert!(told["message"].as_str().expect("text").contains("make room in the data folder"), "{told}");
    let unready = until_within(PATIENCE, "it is not ready", || {
        Some(ready(&scene)).filter(|answer| answer.status == 503)
    });
    let refused = scene.try_post(
        "mirrors/state_change",
        &json!({"flowJobName": MIRROR, "requestedFlowState": "STATUS_PAUSED"}),
    );
    assert_eq!(refused.status, 503, "{}", refused.text());
    for answer in [unready, refused] {
        let message = answer.json()["message"].clone();
        assert!(message.as_str().expect("text").contains("make room in the data folder"), "{message}");
    }

    drop(ballast);
    fs::remove_file(&path).expect("it is there");
    scene.wait_for_target("SELECT count() FROM t FINAL", &(rows + 1).to_string());
    until_within(PATIENCE, "nothing fails", || retrying(&scene).is_null().then_some(()));
    until_within(PATIENCE, "it is ready", || (ready(&scene).status == 200).then_some(()));
    scene.request_state(MIRROR, "STATUS_PAUSED");
    scene.wait_for_state(MIRROR, "STATUS_PAUSED");
}
