//! Secrets are planted in every field that can hold one. After a life of peers, mirrors, failures and refusals
//! none of them is found on the disk, in the log, in an answer, or in the memory of a guest.

#[path = "secrets/guest_memory.rs"]
mod guest_memory;
#[path = "secrets/planted.rs"]
mod planted;
#[path = "secrets/rotation.rs"]
mod rotation;

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tarn_e2e::Scene;
use tarn_harness::{ClickHouse, Postgres, Tarn};

use crate::planted::{MARKER_TABLE, Planted, broken_peers};

/// Requests, with everything that was answered.
struct Transcript<'a> {
    tarn: &'a Tarn,
    text: RefCell<String>,
}

impl Transcript<'_> {
    fn keep(&self, what: &str, answer: &tarn_harness::HttpAnswer) {
        let line = format!("{what}\n{} {:?}\n{}\n", answer.status, answer.headers, answer.text());
        self.text.borrow_mut().push_str(&line);
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.tarn.post(&format!("/api/v1/{path}"), body);
        self.keep(path, &answer);
        serde_json::from_slice(&answer.body).unwrap_or(Value::Null)
    }

    fn get(&self, path: &str) {
        self.keep(path, &self.tarn.get(path));
    }
}

/// Everything that could know a secret says all it can; only compilers are left out, which would fill the disk.
const LOG: &str = "info,tarn=trace,tarn_api=trace,tarn_catalog=trace,tarn_clickhouse=trace,tarn_control=trace,\
    tarn_postgres=trace,tarn_replication=trace,tarn_transport=trace,tarn_wasm=trace,axum=trace,hyper=trace,\
    hyper_util=trace,object_store=trace,rustls=trace,sqlx=trace,tower=trace";
const TABLES: &str = "CREATE TABLE planted_marker_table (id bigint PRIMARY KEY, name text);
    INSERT INTO planted_marker_table SELECT n, 'item ' || n FROM generate_series(1, 1000) n";
const PICKY: &str =
    "function onRecord(r)\n  if r.row.id == 2000 then error('no more') end\n  return r.row\nend\n";

#[test]
fn no_planted_secret_is_found_anywhere_after_a_whole_life() {
    let scene = Scene {
        postgres: Postgres::start(),
        clickhouse: ClickHouse::start(),
        tarn: Tarn::start_with(&[("TARN_LOG", LOG)]),
    };
    scene.postgres.query(TABLES);
    let planted = Planted::of(&scene);
    let transcript = Transcript { tarn: &scene.tarn, text: RefCell::default() };
    live(&scene, &transcript);

    let found = guest_memory::search(scene.tarn.process_id(), &planted.needles());
    assert!(found.bytes > 0 && found.marker > 0, "guests were looked at: {found:?}");
    assert_eq!(found.leaks, [""; 0], "a guest never sees a secret");

    fail(&scene, &transcript);
    for path in ["/openapi.json", "/api/v1/openapi.json", "/healthz", "/readyz", "/metrics", "/nowhere"] {
        transcript.get(path);
    }
    for path in [
        "peers/list",
        "peers/info/source",
        "peers/info/target",
        "peers/info/tls",
        "peers/info/ssh",
        "peers/info/staged",
        "mirrors/list",
        "mirrors/names",
        "instance/info",
        "scripts/-1",
        "peers/slots/source",
    ] {
        transcript.get(&format!("/api/v1/{path}"));
    }
    let answers = transcript.text.borrow().clone();
    assert!(answers.contains("********"), "masks are shown");
    planted.assert_absent("an answer", answers.as_bytes());
    planted.assert_absent("the log", scene.tarn.log().as_bytes());
    let files = search_folder(&scene.tarn.data_dir(), &planted);
    assert!(files > 3, "the catalog was looked at");
    let mut tarn = scene.tarn;
    assert!(tarn.stop(), "it ends in order");
    planted.assert_absent("the log at the end", tarn.log().as_bytes());
    search_folder(&tarn.data_dir(), &planted);
}

/// Peers, a mirror that loads and streams through a script, an update that keeps a masked secret.
fn live(scene: &Scene, transcript: &Transcript<'_>) {
    for (name, kind, key, config) in [
        ("source", 3, "postgres_config", scene.postgres.peer_config()),
        ("target", 8, "clickhouse_config", scene.clickhouse.peer_config()),
    ] {
        let peer = json!({"name": name, "type": kind, key: config});
        for route in ["peers/validate", "peers/create", "peers/compare"] {
            transcript.post(route, &json!({"peer": peer}));
        }
        let mut masked = peer.clone();
        masked[key]["password"] = json!("********");
        let answer = transcript.post("peers/create", &json!({"peer": masked, "allow_update": true}));
        assert_eq!(answer["status"], "CREATED", "the mask keeps the password");
    }
    scene.script("picky", PICKY);
    scene.mirror("good", &[(MARKER_TABLE, "good")], &json!({"script": "picky"}));
    scene.wait_for_state("good", "STATUS_RUNNING");
    scene.wait_for_target("SELECT count() FROM good FINAL", "1000");
    transcript.post("mirrors/status", &json!({"flowJobName": "good", "includeFlowInfo": true}));
}

/// Everything that goes wrong: connections, passwords, scripts, requests.
fn fail(scene: &Scene, transcript: &Transcript<'_>) {
    for peer in broken_peers(scene) {
        for route in ["peers/validate", "peers/create", "peers/compare"] {
            transcript.post(route, &json!({"peer": peer}));
        }
        let stored = transcript
            .post("peers/create", &json!({"peer": peer, "disable_validation": true, "allow_update": true}));
        if peer["name"] == "source-wrong" || peer["name"] == "target-wrong" {
            assert_eq!(stored["status"], "CREATED", "{stored}");
        }
    }
    // A mirror that meets a wrong password while it is checked, and one while it runs.
    for (name, source, target) in
        [("m_source", "source-wrong", "target"), ("m_target", "source", "target-wrong")]
    {
        let configs = json!({"flow_job_name": name, "source_name": source, "destination_name": target,
            "do_initial_snapshot": true, "table_mappings": [
                {"source_table_identifier": MARKER_TABLE, "destination_table_identifier": name}]});
        transcript.post("flows/cdc/create", &json!({"connection_configs": configs}));
        transcript.post("flows/cdc/create", &json!({"connection_configs": configs, "skip_validation": true}));
        tarn_harness::until("the mirror told of its trouble", || {
            let log = scene.log(name);
            ["warn:", "error:"].iter().any(|level| log.contains(level)).then_some(())
        });
        transcript.post("mirrors/logs", &json!({"flow_job_name": name, "num_per_page": 100}));
        transcript.post("mirrors/status", &json!({"flowJobName": name, "includeFlowInfo": true}));
    }
    // A script's error, and a script that does not compile.
    scene.postgres.query("INSERT INTO planted_marker_table VALUES (2000, 'bad')");
    scene.wait_for_state("good", "STATUS_FAILED");
    transcript.post(
        "scripts",
        &json!({"script": {"id": -1, "lang": "lua", "name": "x", "source": "syntax error"}}),
    );
    transcript.post("mirrors/logs", &json!({"num_per_page": 1000}));
    // Secrets where something else belongs.
    for body in [
        json!({"peer": {"name": "y", "type": 3, "postgres_config": {"port": "planted-misplaced"}}}),
        json!({"peer": {"name": "y", "type": 3, "postgres_config": "planted-misplaced"}}),
        json!({"peer": "planted-misplaced"}),
    ] {
        transcript.post("peers/create", &body);
    }
    let wrong = scene.tarn.try_request(
        "GET",
        "/api/v1/peers/list",
        &[("Authorization", "Basic OnBsYW50ZWQtZ3Vlc3M=")],
        b"",
    );
    transcript.keep("a guess", &wrong.expect("an answer"));
}

/// Looks at every file of a folder, and says how many there were.
fn search_folder(folder: &Path, planted: &Planted) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            count += search_folder(&path, planted);
            continue;
        }
        // A file that a checkpoint of the database just removed holds nothing.
        let Ok(bytes) = fs::read(&path) else { continue };
        planted.assert_absent(&path.display().to_string(), &bytes);
        count += 1;
    }
    count
}
