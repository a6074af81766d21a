//! `tarn secrets rotate` as an operator runs it.

use serde_json::json;
use tarn_e2e::Scene;
use tarn_harness::Tarn;

/// Runs `tarn secrets rotate` on a server's data with further variables.
fn rotate(tarn: &Tarn, environment: &[(&str, &str)]) -> (i32, String) {
    let output = tarn
        .command(&["secrets", "rotate"])
        .env("TARN_DATA_DIR", tarn.data_dir())
        .envs(environment.iter().copied())
        .output()
        .expect("the binary runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().expect("it ended by itself"), String::from_utf8(text).expect("text"))
}

#[test]
fn a_rotated_server_goes_on_with_its_mirrors() {
    let mut scene = Scene::start();
    scene.postgres.query("CREATE TABLE items (id bigint PRIMARY KEY); INSERT INTO items VALUES (1), (2)");
    scene.mirror("items", &[("public.items", "items")], &json!({}));
    scene.wait_for_state("items", "STATUS_RUNNING");
    let (code, text) = rotate(&scene.tarn, &[]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("in use by another tarn; stop it first"), "{text}");

    assert!(scene.tarn.stop());
    let key = || std::fs::read_to_string(scene.tarn.data_dir().join("sealing.key")).expect("a key");
    let before = key();
    let (code, text) = rotate(&scene.tarn, &[]);
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("sealed 2 secrets anew with key ") && text.contains("sealing.key"), "{text}");
    assert!(key() != before && !text.contains(&key()) && !text.contains(&before), "{text}");

    scene.tarn.start_again();
    scene.postgres.query("INSERT INTO items VALUES (3)");
    scene.wait_for_target("SELECT count() FROM items FINAL", "3");
}

#[test]
fn a_key_of_the_environment_is_followed_by_another() {
    let old = "A".repeat(42) + "A=";
    let new = "B".repeat(42) + "A=";
    let mut tarn = Tarn::start_with(&[("TARN_SEALING_KEY", old.as_str())]);
    let peer = json!({"name": "ch", "clickhouse_config": {"host": "h", "password": "planted-secret"}});
    let answer = tarn.post("/api/v1/peers/create", &json!({"peer": peer, "disable_validation": true}));
    assert_eq!(answer.json()["status"], "CREATED");
    assert!(tarn.stop());
    let (code, text) = rotate(&tarn, &[("TARN_SEALING_KEY", &new)]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("give it as TARN_SEALING_KEY_PREVIOUS"), "{text}");
    let (code, text) = rotate(&tarn, &[("TARN_SEALING_KEY", &new), ("TARN_SEALING_KEY_PREVIOUS", &old)]);
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains(&new) && !text.contains(&old), "{text}");
    let (code, text) = rotate(&tarn, &[("TARN_SEALING_KEY", &new), ("TARN_SEALING_KEY_PREVIOUS", &old)]);
    assert!(code == 1 && text.contains("already"), "{text}");
    tarn.set("TARN_SEALING_KEY", &new);
    tarn.start_again();
    let answer = tarn.post("/api/v1/peers/compare", &json!({"peer": peer}));
    assert_eq!(answer.json(), json!({"exists": true, "differences": []}), "its password opens");
}
