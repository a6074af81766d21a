//! Large transactions that a mirror takes before they commit.

use serde_json::json;
use tarn_e2e::{PATIENCE, Scene};
use tarn_harness::{Postgres, until_within};

const SOURCE: &str = "SELECT id::text, t FROM items ORDER BY items.id";
const TARGET: &str = "SELECT toString(id), t FROM items FINAL ORDER BY items.id";

/// A mirror that takes them so, on a server that sends all but the smallest transactions so.
fn streaming(postgres: Postgres) -> Scene {
    let scene = Scene::start_on(postgres, &[]);
    scene
        .postgres
        .query("CREATE TABLE items (id int PRIMARY KEY, t text); INSERT INTO items VALUES (0, 'loaded')");
    let further = json!({"env": {"TARN_STREAM_IN_PROGRESS": "true"}});
    scene.mirror("items", &[("public.items", "items")], &further);
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene
}

/// Whether the server has sent the mirror something of a transaction that runs.
fn was_sent_early(scene: &Scene) -> bool {
    let sent = "SELECT stream_txns > 0 FROM pg_stat_replication_slots WHERE slot_name = 'tarn_slot_items'";
    scene.postgres.query(sent) == [[Some("t".to_owned())]]
}

fn insert(first: i32) -> String {
    format!("INSERT INTO items SELECT n, repeat('x', 100) FROM generate_series({first}, {first} + 4999) n")
}

fn interleaved(postgres: Postgres) {
    let mut scene = streaming(postgres);
    let (mut one, mut two, mut lost) =
        (scene.postgres.session(), scene.postgres.session(), scene.postgres.session());
    one.query(&format!("BEGIN; {}", insert(1)));
    two.query(&format!("BEGIN; {}; SAVEPOINT a; {}; ROLLBACK TO a", insert(10_001), insert(20_001)));
    lost.query(&format!("BEGIN; {}", insert(30_001)));
    until_within(PATIENCE, "transactions are sent before they commit", || {
        was_sent_early(&scene).then_some(())
    });
    // Nothing of them shows before, and others pass them by.
    scene.postgres.query("INSERT INTO items VALUES (900000, 'small')");
    scene.wait_for_target("SELECT max(id) FROM items FINAL", "900000");
    scene.wait_for_target("SELECT count() FROM items FINAL", "2");
    scene.tarn.kill();
    one.query(&format!("{}; UPDATE items SET t = 'changed' WHERE id <= 100", insert(40_001)));
    lost.query(&format!("{}; ROLLBACK", insert(50_001)));
    scene.tarn.start_again();
    two.query(&format!("{}; COMMIT", insert(60_001)));
    scene.wait_for_target("SELECT count() FROM items FINAL", "10002");
    one.query(&format!("{}; COMMIT", insert(70_001)));
    // In the middle of what is read back.
    until_within(PATIENCE, "a part of it has arrived", || {
        let count = scene.clickhouse.scalar("SELECT count() FROM items FINAL")?.parse::<u32>().ok()?;
        (count > 10_002).then_some(())
    });
    scene.tarn.kill();
    scene.tarn.start_again();
    scene.wait_until_equal(SOURCE, TARGET);
    let verification = scene.verify("items");
    assert_eq!(verification["verdict"], "VERDICT_EQUAL", "{verification:#}");
    scene.request_state("items", "STATUS_PAUSED");
    scene.wait_for_state("items", "STATUS_PAUSED");
    scene.postgres.query(&insert(80_001));
    scene.request_state("items", "STATUS_RUNNING");
    scene.wait_until_equal(SOURCE, TARGET);
}

const SMALLEST: &[(&str, &str)] = &[("logical_decoding_work_mem", "64kB")];

#[test]
fn interleaved_transactions_and_kills_lose_and_double_nothing() {
    // B130.
    let postgres = Postgres::start_with(SMALLEST);
    if postgres.scalar("SELECT current_setting('server_version_num')::int >= 140000").as_deref() == Some("t")
    {
        interleaved(postgres);
    }
}

#[test]
fn the_same_with_the_protocol_of_newer_servers() {
    // B130.
    if let Some(newest) = Postgres::majors().pop().filter(|major| *major >= 16) {
        interleaved(Postgres::start_major(newest, SMALLEST));
    }
}
