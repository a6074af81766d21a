//! A source behind an SSH server is mirrored like any other, and a tunnel that dies is opened again.

use serde_json::{Value, json};
use tarn_e2e::Scene;
use tarn_harness::{Sshd, until};

const TABLE: &str = "CREATE TABLE t (id bigint PRIMARY KEY, pad text NOT NULL);
    INSERT INTO t SELECT n, repeat('x', n % 500) FROM generate_series(1, 60000) n";
const SOURCE: &str = "SELECT id::text, md5(pad) FROM t ORDER BY t.id";
const TARGET: &str = "SELECT toString(id), lower(hex(MD5(pad))) FROM t FINAL ORDER BY id";

/// The source by a name that only the SSH server knows.
fn behind(sshd: &Sshd, scene: &Scene) -> Value {
    let mut config = scene.postgres.peer_config();
    config["host"] = sshd.inner_host().into();
    config["ssh_config"] = sshd.peer_config();
    config
}

fn create_source(scene: &Scene, config: &Value) -> Value {
    let peer = json!({"name": "source", "type": 3, "postgres_config": config});
    scene.post("peers/create", &json!({"peer": peer, "allow_update": true}))
}

#[test]
fn a_mirror_through_a_tunnel_goes_on_after_its_sessions_were_killed() {
    let sshd = Sshd::start();
    let scene = Scene::start();
    assert_eq!(create_source(&scene, &behind(&sshd, &scene))["status"], "CREATED");
    scene.postgres.query(TABLE);
    scene.mirror("t", &[("public.t", "t")], &json!({"snapshot_num_rows_per_partition": 2000}));
    // In the load, then in the stream.
    until("rows arrive", || {
        let count = scene.clickhouse.try_query("SELECT count() FROM t").ok()?;
        (count[0][0].as_deref() != Some("0")).then_some(())
    });
    sshd.kill_sessions();
    scene.wait_for_state("t", "STATUS_RUNNING");
    scene.wait_until_equal(SOURCE, TARGET);
    for round in 0..3 {
        scene.postgres.query(&format!(
            "INSERT INTO t SELECT -n, 'r' FROM generate_series({0}, {0} + 99) n",
            1 + round * 100
        ));
        assert!(sshd.sessions() > 0, "the stream goes through the tunnel");
        sshd.kill_sessions();
        scene.postgres.query(&format!("UPDATE t SET pad = 'u{round}' WHERE id % 97 = {round}"));
        scene.wait_until_equal(SOURCE, TARGET);
    }
    let log = scene.log("t");
    assert!(log.contains("ssh tunnel through 127.0.0.1:"), "the log names the tunnel:\n{log}");
    assert!(!log.contains(sshd.password()) && !scene.tarn.log().contains(sshd.password()));
}

#[test]
fn a_mirror_waits_for_an_ssh_server_that_is_away() {
    let mut sshd = Sshd::start();
    let scene = Scene::start();
    create_source(&scene, &behind(&sshd, &scene));
    scene.postgres.query(TABLE);
    scene.mirror("t", &[("public.t", "t")], &json!({}));
    scene.wait_for_state("t", "STATUS_RUNNING");
    sshd.kill();
    scene.postgres.query("DELETE FROM t WHERE id % 3 = 0");
    until("the log names the hop and the remedy", || {
        let log = scene.log("t");
        (log.contains("no connection to the ssh server") && log.contains("ssh_config.host")).then_some(())
    });
    sshd.start_again();
    scene.wait_until_equal(SOURCE, TARGET);
}

#[test]
fn a_peer_whose_way_is_barred_is_refused_with_hop_and_remedy_and_without_secrets() {
    let sshd = Sshd::start();
    let scene = Scene::start();
    let good = behind(&sshd, &scene);
    let changed = |key: &str, value: Value| {
        let mut config = good.clone();
        config["ssh_config"][key] = value;
        config
    };
    let mut no_such_store = good.clone();
    no_such_store["host"] = "nowhere.internal".into();
    for (config, parts) in [
        (changed("port", json!(1)), ["no connection to the ssh server", "check ssh_config.host"]),
        (changed("host_key", json!("SHA256:other")), ["shows the host key", "set ssh_config.host_key"]),
        (changed("password", json!("planted-ssh")), ["refuses user \"tarn\"", "check ssh_config.user"]),
        (changed("private_key", json!("planted-key")), ["ssh_config.private_key is not usable", "BEGIN"]),
        (no_such_store, ["nowhere.internal", "as the ssh server sees them"]),
    ] {
        let answer = create_source(&scene, &config);
        assert_eq!(answer["status"], "FAILED", "{answer}");
        let message = answer["message"].as_str().expect("a text");
        for part in parts {
            assert!(message.contains(part), "{part:?} in {message:?}");
        }
        assert!(!message.contains("planted") && !message.contains(sshd.password()), "{message}");
    }
    // The host key that a refusal shows is the one to set.
    let answer = create_source(&scene, &changed("host_key", json!("")));
    assert_eq!(answer["status"], "CREATED", "{answer}");
    assert!(scene.tarn.log().contains("the ssh server's host key is not checked"));
}
