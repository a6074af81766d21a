use serde_json::Value;

use crate::shell::Shell;

const TABLES: &str = "CREATE TABLE items (id bigint PRIMARY KEY, name text);
    INSERT INTO items SELECT n, 'item ' || n FROM generate_series(1, 5000) n;
    CREATE TABLE more (id bigint PRIMARY KEY, name text);
    INSERT INTO more SELECT n, 'more ' || n FROM generate_series(1, 100) n";
const MASK: &str = "function onRecord(r)\n  r.row.name = '***'\n  return r.row\nend\n";

#[test]
fn everything_is_done_without_another_client() {
    let shell = Shell::start();
    shell.scene.postgres.query(TABLES);
    shell.write("mask.lua", MASK);

    shell.create_peers();
    let list = shell.tarn("peer list").ok();
    assert_eq!(
        list,
        "NAME       KIND        SERVES AS\nanalytics  CLICKHOUSE  destination\nshop       POSTGRES    source\n"
    );
    assert_eq!(shell.tarn("peer validate shop").ok(), "peer shop can be connected to\n");
    assert_eq!(shell.tarn("script put mask.lua").ok(), "stored script mask\n");
    assert_eq!(shell.tarn("script put mask.lua").ok(), "script mask is like that already\n");
    assert_eq!(shell.tarn("script show mask").ok(), MASK);

    // A mirror, followed until it streams: without a terminal a line for each change.
    let created = shell.tarn(
        "mirror create items --source shop --destination analytics --table public.items:items --script mask \
         --idle-timeout 1 --rows-per-partition 1000 --watch",
    );
    let created = created.ok();
    assert!(created.starts_with("created mirror items\n"), "{created}");
    assert!(created.contains("items  RUNNING") && created.contains("5,000 rows"), "{created}");
    shell.scene.wait_for_target("SELECT concat(toString(count()), min(name)) FROM items FINAL", "5000***");

    let list = shell.tarn("mirror list").ok();
    assert!(
        list.lines().nth(1).is_some_and(|line| line.starts_with("items  RUNNING  shop    analytics")),
        "{list}"
    );
    let described = shell.tarn("mirror describe items").ok();
    for part in ["script         mask", "slot           tarn_slot_items", "public.items  items"] {
        assert!(described.contains(part), "{part} in {described}");
    }
    let peer = shell.tarn("peer describe shop").ok();
    assert!(peer.contains("used by   items") && peer.contains("password  ********"), "{peer}");

    assert_eq!(shell.tarn("mirror pause items --wait").ok(), "mirror items is paused\n");
    assert_eq!(shell.tarn("mirror resume items --wait").ok(), "mirror items goes on\n");
    let edited = shell.tarn("mirror edit items --add-table public.more --batch-size 5000").ok();
    assert_eq!(edited, "edited mirror items, which is RUNNING\n");
    shell.scene.wait_for_target("SELECT count() FROM more FINAL", "100");
    shell.scene.postgres.query("INSERT INTO more VALUES (101, 'x')");
    shell.scene.wait_for_target("SELECT count() FROM more FINAL", "101");

    let logs = shell.tarn("logs items").ok();
    let created = logs.lines().next().unwrap_or_default();
    assert!(created.ends_with("info   created"), "oldest first: {logs}");
    assert_eq!(shell.tarn("logs items -n 1 --level info").ok().lines().count(), 1);

    assert_eq!(shell.tarn("mirror drop items --wait").ok(), "mirror items is dropped\n");
    assert_eq!(shell.scene.leftovers(), [""; 0]);
    assert_eq!(shell.tarn("script delete mask").ok(), "deleted script mask\n");
    assert_eq!(shell.tarn("peer drop shop").ok(), "dropped peer shop\n");
    assert_eq!(shell.tarn("peer list").ok().lines().count(), 2);
}

#[test]
fn a_program_reads_json_from_every_command() {
    let shell = Shell::start();
    shell.scene.postgres.query(TABLES);
    shell.create_peers();
    assert_eq!(shell.tarn("peer list --json").json()["items"][0]["name"], "analytics");
    assert_eq!(shell.tarn("info --json").json()["edition"], "open-source");
    shell.write(
        "mirror.json",
        r#"{"flow_job_name": "items", "source_name": "shop", "destination_name": "analytics",
        "do_initial_snapshot": true, "idle_timeout_seconds": 1, "table_mappings": [
            {"source_table_identifier": "public.items", "destination_table_identifier": "items"}]}"#,
    );
    assert_eq!(shell.tarn("mirror validate -f mirror.json --json").json()["ok"], true);
    let created = shell.tarn("mirror create -f mirror.json --json").json();
    assert_eq!(created["workflowId"], "items-peerflow");

    // One object a look, the last of which tells of the end.
    let looks = shell.tarn("mirror watch items --until running --timeout 90 --json").ok();
    let last: Value = serde_json::from_str(looks.lines().next().expect("a look")).expect("JSON a line");
    assert_eq!(last["flowJobName"], "items");
    assert!(looks.contains("\"currentFlowState\":\"STATUS_RUNNING\""), "{looks}");
    for line in shell.tarn("logs --json").ok().lines() {
        let entry: Value = serde_json::from_str(line).expect("JSON a line");
        assert_eq!(entry["flowName"], "items");
    }
    assert_eq!(shell.tarn("mirror list --json").json()["mirrors"][0]["status"], "STATUS_RUNNING");

    let refused = shell.tarn("mirror create -f mirror.json --json");
    let error: Value = serde_json::from_str(&refused.err).expect("an error is JSON too");
    assert_eq!((refused.code, error["error"]["exitCode"].as_u64()), (1, Some(1)));
    assert_eq!(error["error"]["details"][0]["field"], "flow_job_name");
}
