use tarn_e2e::Scene;

use crate::shell::{SOURCE_PASSWORD, Shell};

const TABLES: &str = "CREATE TABLE items (id bigint PRIMARY KEY, name text);
    INSERT INTO items SELECT n, 'item ' || n FROM generate_series(1, 1000) n;
    CREATE TABLE more (id bigint PRIMARY KEY, name text);
    INSERT INTO more SELECT n, 'more ' || n FROM generate_series(1, 100) n";
const MASK: &str = "function onRecord(r)\n  r.row.name = '***'\n  return r.row\nend\n";
const ONE_TABLE: &str = "    table_mappings:\n      - {source_table_identifier: public.items, destination_table_identifier: items}\n";
const OTHER_TABLE: &str = "    max_batch_size: 5000\n    table_mappings:\n      - {source_table_identifier: public.more, destination_table_identifier: more}\n";

fn shell() -> Shell {
    let shell = Shell::start();
    shell.scene.postgres.query(TABLES);
    shell.write("mask.lua", MASK);
    shell.write("setup.yaml", &shell.setup(ONE_TABLE));
    shell
}

const UNCHANGED: &str = "  peer shop: unchanged
  peer analytics: unchanged
  script mask: unchanged
  mirror items: unchanged
0 to create, 0 to change, 0 to drop, 4 unchanged
";

#[test]
fn a_setup_is_applied_once_and_then_unchanged() {
    let shell = shell();
    let plan = "\
+ peer shop
+ peer analytics
+ script mask
+ mirror items
4 to create, 0 to change, 0 to drop, 0 unchanged
";
    assert_eq!(shell.tarn("apply -f setup.yaml --dry-run").ok(), plan);
    assert_eq!(shell.tarn("peer list").ok(), "NAME  KIND  SERVES AS\n", "a dry run does nothing");
    let done = "\
created peer shop
created peer analytics
created script mask
created mirror items
applied
";
    assert_eq!(shell.tarn("apply -f setup.yaml").ok(), format!("{plan}{done}"));
    shell.tarn("mirror watch items --until running --timeout 90").ok();
    assert_eq!(shell.tarn("apply -f setup.yaml").ok(), UNCHANGED);
    shell.scene.wait_for_target("SELECT concat(toString(count()), min(name)) FROM items FINAL", "1000***");
}

#[test]
fn what_changed_is_shown_and_changed_and_nothing_else() {
    let mut shell = shell();
    shell.tarn("apply -f setup.yaml").ok();
    shell.tarn("mirror watch items --until running --timeout 90").ok();
    // Another password for the source, another script, another table and another batch size.
    let Scene { postgres, .. } = &shell.scene;
    postgres.query(&format!("ALTER ROLE {} PASSWORD 'planted new password'", postgres.user()));
    shell.set(SOURCE_PASSWORD, "planted new password");
    shell.write("mask.lua", &MASK.replace("***", "###"));
    shell.write("setup.yaml", &shell.setup(OTHER_TABLE));
    let plan = "\
~ peer shop
    postgres_config.password: another secret
  peer analytics: unchanged
~ script mask: a new version
~ mirror items: pause, edit, resume
    max_batch_size: 250000 → 5000
    + table public.more → more
    - table public.items → items
0 to create, 3 to change, 0 to drop, 1 unchanged
";
    let done = "changed peer shop\nchanged script mask\nedited mirror items\napplied\n";
    assert_eq!(shell.tarn("apply -f setup.yaml").ok(), format!("{plan}{done}"));
    assert_eq!(shell.tarn("apply -f setup.yaml").ok(), UNCHANGED);
    shell.scene.wait_for_target("SELECT concat(toString(count()), min(name)) FROM more FINAL", "100###");
}

#[test]
fn a_paused_mirror_is_edited_and_paused_again() {
    let shell = shell();
    shell.tarn("apply -f setup.yaml").ok();
    shell.tarn("mirror watch items --until running --timeout 90").ok();
    shell.tarn("mirror pause items --wait").ok();
    shell.write("setup.yaml", &shell.setup(&format!("    snapshot_max_parallel_workers: 2\n{ONE_TABLE}")));
    let applied = shell.tarn("apply -f setup.yaml").ok();
    assert!(applied.contains("edited mirror items, which is paused again"), "{applied}");
    shell.tarn("mirror watch items --until paused --timeout 5").ok();
    assert_eq!(shell.tarn("apply -f setup.yaml").ok(), UNCHANGED);
}

#[test]
fn a_script_that_the_file_names_no_more_is_taken_away() {
    let shell = shell();
    shell.tarn("apply -f setup.yaml").ok();
    shell.tarn("mirror watch items --until running --timeout 90").ok();
    shell.write(
        "setup.yaml",
        &shell.setup(ONE_TABLE).replace("    script: mask\n", "    script_workers: 2\n"),
    );
    let applied = shell.tarn("apply -f setup.yaml").ok();
    let plan = "~ mirror items: pause, edit, resume\n    script: mask → \"\"\n    script_workers: 1 → 2\n";
    assert!(applied.contains(plan), "{applied}");
    shell.scene.postgres.query("INSERT INTO items VALUES (5000, 'as it is')");
    shell.scene.wait_for_target("SELECT name FROM items FINAL WHERE id = 5000", "as it is");
    assert_eq!(shell.tarn("apply -f setup.yaml").ok(), UNCHANGED);
}

#[test]
fn a_mirror_whose_edit_is_refused_goes_on() {
    let shell = shell();
    shell.tarn("apply -f setup.yaml").ok();
    shell.tarn("mirror watch items --until running --timeout 90").ok();
    let gone = "      - {source_table_identifier: public.gone, destination_table_identifier: gone}\n";
    shell.write("setup.yaml", &shell.setup(&format!("{ONE_TABLE}{gone}")));
    let refused = shell.tarn("apply -f setup.yaml");
    assert_eq!(refused.code, 1, "{}", refused.err);
    assert!(refused.err.contains("mirror items") && refused.err.contains("public.gone"), "{}", refused.err);
    shell.tarn("mirror watch items --until running --timeout 90").ok();
}

#[test]
fn what_cannot_be_changed_in_place_is_said_before_anything_is_done() {
    let shell = shell();
    shell.tarn("apply -f setup.yaml").ok();
    let setup = shell.setup(&format!("    publication_name: other\n{ONE_TABLE}"));
    let extra = "  - {name: other, clickhouse_config: {host: nowhere}}\nscripts:";
    shell.write("setup.yaml", &setup.replace("scripts:", extra));
    let refused = shell.tarn("apply -f setup.yaml");
    assert_eq!(refused.code, 1);
    let stuck = "\
! mirror items: cannot be changed in place
    publication_name: \"\" → other
    drop it and apply again: tarn mirror drop items
";
    assert!(refused.out.contains(stuck), "{}", refused.out);
    assert!(refused.err.contains("nothing was done"), "{}", refused.err);
    assert_eq!(shell.tarn("peer list").ok().lines().count(), 3, "the peer was not created either");
}

#[test]
fn pruning_drops_what_the_file_does_not_name_and_only_when_told() {
    let shell = shell();
    shell.tarn("apply -f setup.yaml").ok();
    shell.tarn("mirror watch items --until running --timeout 90").ok();
    shell.write("empty.yaml", "version: 1\n");
    let kept = shell.tarn("apply -f empty.yaml").ok();
    assert_eq!(kept, "0 to create, 0 to change, 0 to drop, 0 unchanged\n");
    let asked = shell.tarn("apply -f empty.yaml --prune");
    assert_eq!(asked.code, 2, "there is nobody to ask: {}", asked.err);
    assert!(asked.err.contains("--yes"), "{}", asked.err);
    let expected = "\
- peer analytics
- peer shop
- script mask
- mirror items
0 to create, 0 to change, 4 to drop, 0 unchanged
dropped mirror items
deleted script mask
dropped peer analytics
dropped peer shop
applied
";
    assert_eq!(shell.tarn("apply -f empty.yaml --prune --yes").ok(), expected);
    assert_eq!(shell.scene.leftovers(), [""; 0]);
}

#[test]
fn an_exported_setup_holds_references_and_is_what_the_server_has() {
    let mut shell = shell();
    shell.tarn("apply -f setup.yaml").ok();
    let exported = shell.tarn("export").ok();
    for reference in ["${env:TARN_PEER_SHOP_PASSWORD}", "${env:TARN_PEER_ANALYTICS_PASSWORD}"] {
        assert!(exported.contains(reference), "{exported}");
    }
    shell.tarn("export -o exported.yaml").ok();
    assert_eq!(std::fs::read_to_string(shell.path("exported.yaml")).expect("written"), exported);
    let missing = shell.tarn("apply -f exported.yaml");
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("TARN_PEER_SHOP_PASSWORD is not set"), "{}", missing.err);
    let (source, target) =
        (shell.scene.postgres.password().to_owned(), shell.scene.clickhouse.password().to_owned());
    shell.set("TARN_PEER_SHOP_PASSWORD", &source);
    shell.set("TARN_PEER_ANALYTICS_PASSWORD", &target);
    let applied = shell.tarn("apply -f exported.yaml --prune").ok();
    assert!(applied.ends_with("0 to create, 0 to change, 0 to drop, 4 unchanged\n"), "{applied}");
    // And it makes the same of an empty server.
    shell.tarn("mirror drop items --wait").ok();
    shell.write("empty.yaml", "{}");
    shell.tarn("apply -f empty.yaml --prune --yes").ok();
    shell.tarn("apply -f exported.yaml").ok();
    assert_eq!(shell.tarn("export").ok(), exported);
}
