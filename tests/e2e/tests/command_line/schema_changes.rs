//! Changes of columns, from the command line alone.

use serde_json::json;
use tarn_harness::until;

use crate::shell::Shell;

#[test]
fn a_change_of_columns_is_planned_waited_for_and_approved() {
    let shell = Shell::start();
    shell.scene.postgres.query("CREATE TABLE t (id bigint PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1)");
    shell.create_peers();
    let flags =
        "t --source shop --destination analytics --table public.t --idle-timeout 1 --schema-changes ask";
    let valid = shell.tarn(&format!("mirror validate {flags}")).ok();
    assert!(valid.starts_with("mirror t can be created\n") && valid.contains("CREATE TABLE"), "{valid}");
    shell.tarn(&format!("mirror create {flags} --watch")).ok();
    assert!(shell.tarn("mirror describe t").ok().contains("schema changes ASK\n"));
    assert_eq!(shell.tarn("mirror plan t").ok(), "the destination's tables have the source's columns\n");
    let none = shell.tarn("mirror approve t");
    assert_eq!((none.code, none.err.contains("waits at no change")), (1, true), "{}", none.err);

    shell.scene.postgres.query("ALTER TABLE t ADD note text; INSERT INTO t VALUES (2, 2, 'b')");
    until("the change waits", || {
        shell.tarn("mirror plan t").ok().contains("waits for approval").then_some(())
    });
    let plan = shell.tarn("mirror plan t").ok();
    for part in ["STATEMENT", "public.t", "ADD", "note", "ALTER TABLE"] {
        assert!(plan.contains(part), "{part} in {plan}");
    }
    let planned = shell.tarn("mirror plan t --json").json();
    assert_eq!(planned["plans"][0]["steps"], planned["changes"][0]["plan"]["steps"]);
    assert_eq!(planned["changes"][0]["approved"], json!(false));
    until("the mirror failed", || {
        shell.tarn("mirror describe t").ok().contains("schema_change_waits").then_some(())
    });
    let approved = shell.tarn("mirror approve t").ok();
    assert!(approved.contains("of public.t; mirror t goes on"), "{approved}");
    shell.scene.wait_for_target("SELECT note FROM t FINAL WHERE id = 2", "b");
    shell.scene.postgres.query("ALTER TABLE t ADD secret text; INSERT INTO t VALUES (5, 5, 'e', 's')");
    until("the mirror failed again", || {
        shell.tarn("mirror describe t").ok().contains("schema_change_waits").then_some(())
    });
    let none = shell.tarn("mirror refuse t --digest 0000");
    assert_eq!((none.code, none.err.contains("waits at no change")), (1, true), "{}", none.err);
    let refused = shell.tarn("mirror refuse t").ok();
    assert!(refused.contains("of public.t; mirror t goes on"), "{refused}");
    shell.scene.wait_for_target("SELECT note FROM t FINAL WHERE id = 5", "e");
    // A column that is there is left out by an edit, and its type, once everything is loaded again, chosen by one.
    let edited = shell.tarn("mirror edit t --exclude public.t:note --column-type public.t:n=String").ok();
    assert!(edited.starts_with("edited mirror t"), "{edited}");
    let plan = shell.tarn("mirror plan t").ok();
    assert!(plan.contains("KEEP") && plan.contains("note"), "{plan}");
    let unknown = shell.tarn("mirror edit t --exclude public.t:nothing");
    assert_eq!((unknown.code, unknown.err.contains("has no column")), (1, true), "{}", unknown.err);
    shell.tarn("mirror resync t --wait").ok();
    let types = "SELECT arrayStringConcat(groupArray(concat(name, ' ', type)), ', ') FROM (SELECT * FROM system.columns
                 WHERE database = currentDatabase() AND table = 't' AND name NOT LIKE '\\\\_tarn%' ORDER BY position)";
    shell.scene.wait_for_target(types, "id Int64, n Nullable(String)");
    let edited = shell.tarn("mirror edit t --schema-changes apply").ok();
    assert!(edited.starts_with("edited mirror t"), "{edited}");
    shell.scene.postgres.query("ALTER TABLE t ADD more text; INSERT INTO t VALUES (3, 3, 'c', 's', 'd')");
    shell.scene.wait_for_target("SELECT more FROM t FINAL WHERE id = 3", "d");
}
