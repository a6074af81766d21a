//! Versions of scripts, and mirrors that use them.

use crate::shell::Shell;

const TABLE: &str = "CREATE TABLE items (id bigint PRIMARY KEY, name text);
    INSERT INTO items SELECT n, 'item ' || n FROM generate_series(1, 20) n";

const MASK: &str = "function onRecord(r)\n  r.row.name = '***'\n  return r.row\nend\n";

/// Inserts a row and waits for what becomes of its name.
#[track_caller]
fn insert(shell: &Shell, id: u32, expected: &str) {
    shell.scene.postgres.query(&format!("INSERT INTO items VALUES ({id}, 'item {id}')"));
    shell.scene.wait_for_target(&format!("SELECT name FROM items FINAL WHERE id = {id}"), expected);
}

#[test]
fn a_mirror_follows_a_version_that_it_is_pinned_to_and_uploaded_wasm() {
    let shell = Shell::start();
    shell.scene.postgres.query(TABLE);
    shell.create_peers();
    shell.write("mask.lua", MASK);
    shell.tarn("script put mask.lua").ok();
    let create = "mirror create items --source shop --destination analytics --table public.items --script mask \
        --idle-timeout 1 --recent-records 5";
    shell.tarn(create).ok();
    shell.tarn("mirror watch items --until running --timeout 90").ok();
    shell.scene.wait_for_target("SELECT concat(toString(count()), min(name)) FROM items FINAL", "20***");
    // The snapshot's rows are there to try a script on.
    shell.write("loud.lua", "function onRecord(r)\n  r.row.name = r.row.name:upper()\n  return r.row\nend\n");
    let tried = shell.tarn("script test loud.lua --mirror items --table public.items --limit 50").ok();
    assert_eq!(tried.matches("insert public.items → items: row").count(), 5, "{tried}");

    shell.write("mask.lua", &MASK.replace("***", "###"));
    assert_eq!(shell.tarn("script put mask.lua").ok(), "stored a new version of script mask\n");
    insert(&shell, 100, "###");
    let tried = shell.tarn("script test loud.lua --mirror items --table public.items --limit 1").ok();
    assert!(tried.contains("~  name    item 100  ITEM 100"), "as it came from the source: {tried}");

    let pinned = shell.tarn("script pin items mask@1").ok();
    assert_eq!(pinned, "mirror items uses version 1 of script mask, and is RUNNING\n");
    insert(&shell, 101, "***");
    let rolled_back = shell.tarn("script rollback mask").ok();
    assert_eq!(rolled_back, "stored version 3 of script mask, which is version 1 again\n");
    let versions = shell.tarn("script versions mask --json").json();
    assert_eq!(versions["versions"][0]["rolledBackFrom"], 1);
    assert_eq!(versions["versions"][0]["digest"], versions["versions"][2]["digest"]);
    let diff = "--- mask@1 code\n+++ mask@2 code\n@@ -1,4 +1,4 @@\n function onRecord(r)\n-  r.row.name = '***'\n\
        +  r.row.name = '###'\n   return r.row\n end\n";
    assert_eq!(shell.tarn("script diff mask 1 2").ok(), diff);
    assert_eq!(shell.tarn("script diff mask 1 3").ok(), "versions 1 and 3 of script mask are the same\n");

    // The second version again, as a component that was uploaded.
    shell.tarn("script component mask@2 -o hash.wasm").ok();
    shell.tarn("script put hash.wasm").ok();
    shell.tarn("script pin items hash").ok();
    insert(&shell, 102, "###");
    let refused = shell.tarn("script delete hash");
    assert!(refused.code == 1 && refused.err.contains("used by items"), "{}", refused.err);

    // Taken away, so that it can be deleted.
    shell.tarn("mirror edit items --no-script").ok();
    insert(&shell, 103, "item 103");
    shell.tarn("script delete hash").ok();

    // Nothing is kept any more once it is switched off.
    shell.tarn("mirror edit items --recent-records -1").ok();
    let refused = shell.tarn("script test loud.lua --mirror items --table public.items");
    assert!(refused.code == 1 && refused.err.contains("recent_records"), "{}", refused.err);
}
