//! Records that a mirror kept aside, from the command line alone.

use serde_json::Value;
use tarn_harness::until;

use crate::shell::Shell;

#[test]
fn dead_letters_are_listed_shown_exported_replayed_and_discarded() {
    let shell = Shell::start();
    shell.scene.postgres.query(
        "CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL);
         INSERT INTO t SELECT i, 0 FROM generate_series(1, 100) i",
    );
    shell.create_peers();
    shell.write(
        "check.lua",
        "function onRecord(r)\n  if r.row.id % 25 == 0 then error('odd') end\n  return r\nend\n",
    );
    shell.write("route.lua", "function onRecord(r) return r end\n");
    shell.tarn("script put check.lua").ok();
    shell.tarn("script put route.lua").ok();
    let created = shell.tarn(
        "mirror create t --source shop --destination analytics --table public.t --script route,check \
         --record-errors dead-letter --record-error-limit 50 --idle-timeout 1 --watch",
    );
    created.ok();
    until("the letters are counted", || {
        shell.tarn("mirror describe t").ok().contains("DEAD_LETTER: 4 dead letters wait").then_some(())
    });
    let list = shell.tarn("mirror dead-letters list t --waiting").ok();
    assert!(
        list.contains("check@1:2") && list.ends_with("\n4 wait, 0 replayed, 0 discarded, 0 skipped\n"),
        "{list}"
    );
    let shown = shell.tarn("mirror dead-letters show t 1").ok();
    for part in ["state          WAITING", "where          check@1:2", "message        odd", "COLUMN  TYPE"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let export = shell.tarn("mirror dead-letters export t").ok();
    let letters: Vec<Value> =
        export.lines().map(|line| serde_json::from_str(line).expect("JSON a line")).collect();
    assert_eq!(letters.len(), 4);
    assert!(letters.iter().all(|letter| letter["record"]["after"][1]["value"] == "0"), "{export}");

    let replayed = shell.tarn("mirror dead-letters replay t --all");
    assert!(
        replayed.out.starts_with("replayed 0 dead letters of mirror t\n4 were not:\n"),
        "{}",
        replayed.out
    );
    assert!(
        replayed.code != 0 && replayed.err.contains("4 of 4 dead letters were not replayed"),
        "{}",
        replayed.err
    );
    shell.write("check.lua", "function onRecord(r) return r end\n");
    shell.tarn("script put check.lua").ok();
    assert_eq!(shell.tarn("mirror dead-letters discard t 1").ok(), "discarded 1 dead letters of mirror t\n");
    let again = shell.tarn("mirror dead-letters discard t 1 1");
    assert!(again.code != 0 && again.err.contains("1 of 1 dead letters do not wait"), "{}", again.err);
    let verified = shell.tarn("mirror verify t");
    for part in
        ["DIFFERENT", "dead letters of the mirror wait (3)", "were left out (1)", "dead-letters list t"]
    {
        assert!(verified.code == 1 && verified.out.contains(part), "{part} in {}", verified.out);
    }
    let replayed = shell.tarn("mirror dead-letters replay t --all").ok();
    assert_eq!(replayed, "replayed 3 dead letters of mirror t\n");
    shell.scene.wait_for_target("SELECT toString(count()) FROM t FINAL", "99");
    let list = shell.tarn("mirror dead-letters list t --json").ok();
    let list: Value = serde_json::from_str(&list).expect("JSON");
    assert_eq!(
        (&list["recordErrors"]["waiting"], &list["deadLetters"][3]["state"]),
        (&"0".into(), &"REPLAYED".into())
    );
    let edited = shell.tarn("mirror edit t --record-errors skip").ok();
    assert!(edited.starts_with("edited mirror t"), "{edited}");
}
