//! Changes from the slot into a topic, each a JSON message in a transaction of the broker.

use serde_json::json;
use tarn_harness::Kafka;

use crate::measure::{Table, progress, rate, thousands};
use crate::process::cpu_seconds;
use crate::scene::Scene;
use crate::{limits, stream};

/// What the topic has. One writer fills all of them.
const PARTITIONS: &str = "4";

/// Measures the same changes read by `pg_recvlogical`, and brought to a topic of a broker that keeps them in memory.
pub fn run(scene: &Scene, changes: u64, table: &mut Table) {
    progress("queue");
    let broker = Kafka::start();
    let peer = json!({"name": "events", "type": 9, "kafka_config": broker.peer_config()});
    scene.post("peers/create", &json!({"peer": peer}));
    let env = json!({"TARN_KAFKA_TOPIC_PARTITIONS": PARTITIONS, "TARN_KAFKA_TOPIC_REPLICATION": "1"});
    scene.mirror(
        "queue",
        &json!({"destination_name": "events", "do_initial_snapshot": false, "max_batch_size": 250_000, "env": env}),
    );
    scene.wait_for("queue", "STATUS_RUNNING");
    scene.bring_to("queue", "STATUS_PAUSED");
    let limit = limits::receive_changes(&scene.postgres, "tarn_pub_queue", || stream::change(scene, changes));
    let limit = rate(changes, limit);
    table.add("pg_recvlogical to nowhere", thousands(limit), "the limit");
    let process = scene.tarn.process_id();
    let before = cpu_seconds(process);
    scene.request("queue", "STATUS_RUNNING");
    let reached = rate(changes, scene.wait_for_synced("queue", changes));
    let cpu = cpu_seconds(process) - before;
    table.add(
        "stream, slot to topic, as JSON",
        thousands(reached),
        format!(
            "{:.2} of pg_recvlogical; {:.1} CPU seconds a million changes",
            reached / limit,
            cpu * 1e6 / changes as f64
        ),
    );
    scene.bring_to("queue", "STATUS_TERMINATED");
}
