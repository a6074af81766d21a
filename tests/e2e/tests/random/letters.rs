//! Records that a script refuses are kept, and nothing of them is lost: once a corrected script has replayed
//! them, both sides are equal.

use std::time::{Duration, Instant};

use serde_json::json;
use tarn_e2e::{PATIENCE, Scene};

use super::run::MIRROR;

/// Refuses some of the rows.
pub const REFUSING: &str = "function onRecord(r)
  local row = r.new
  if row and row.n and row.n % 50 == 7 then error('no seven') end
  return r
end";

/// Refuses others, whatever becomes of them.
pub const SKIPPING: &str = "function onRecord(r)
  local row = r.new
  if row and row.note and row.note:sub(-1) == '3' then error('no three') end
  return r
end";

const TAKING: &str = "function onRecord(r) return r end";

/// Replays every letter with a script that takes all of them, which the stream goes on with.
///
/// # Errors
/// When a letter still waits in the end.
pub fn replay_all(scene: &Scene, script: i64) -> Result<(), String> {
    put(scene, script, TAKING);
    let begun = Instant::now();
    loop {
        let body = json!({"flow_job_name": MIRROR});
        let answer = scene.post("mirrors/dead_letters/replay", &body);
        let status = scene.post("mirrors/status", &json!({"flowJobName": MIRROR, "includeFlowInfo": true}));
        if status["cdcStatus"]["recordErrors"]["waiting"] == "0" {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            return Err(format!("letters are not taken by a replay: {answer:#}"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Goes back to the script that refuses.
pub fn refuse_again(scene: &Scene, script: i64) {
    put(scene, script, REFUSING);
}

fn put(scene: &Scene, id: i64, source: &str) {
    let script = json!({"id": id, "lang": "lua", "name": "on_the_way", "source": source});
    scene.post("scripts", &json!({"script": script}));
}
