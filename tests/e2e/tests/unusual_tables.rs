//! Tables that are wide, many, empty of columns, or change in ways that few do; and mirrors that are asked for the
//! same thing twice.

use serde_json::json;
use tarn_e2e::Scene;
use tarn_harness::until;

#[test]
fn a_table_of_as_many_columns_as_postgresql_takes_is_mirrored() {
    // B133: statements about it are larger than ClickHouse's limit of a query by default.
    let scene = Scene::start();
    let columns: Vec<_> = (1..1500)
        .map(|n| format!("a_column_with_a_name_that_is_as_long_as_it_may_be_in_here_{n:05}"))
        .collect();
    scene.postgres.query(&format!("CREATE TABLE wide (id int PRIMARY KEY, {} int)", columns.join(" int, ")));
    scene.postgres.query("INSERT INTO wide (id) SELECT generate_series(1, 100)");
    scene.mirror("wide", &[("public.wide", "wide")], &json!({}));
    scene.wait_for_target("SELECT count() FROM wide FINAL", "100");
    let (first, last) = (&columns[0], &columns[columns.len() - 1]);
    scene.postgres.query(&format!("UPDATE wide SET {first} = 7, {last} = id WHERE id <= 50"));
    scene.postgres.query("DELETE FROM wide WHERE id > 90");
    scene.wait_until_equal(
        &format!("SELECT id::text, {first}::text, {last}::text FROM wide ORDER BY wide.id"),
        &format!("SELECT toString(id), toString({first}), toString({last}) FROM wide FINAL ORDER BY id"),
    );
}

#[test]
fn a_mirror_of_hundreds_of_tables_loads_and_streams_each() {
    // B134, B224.
    const TABLES: usize = 300;
    let scene = Scene::start();
    let name = |n: usize| format!("one_of_many_tables_with_a_name_of_some_length_{n:03}");
    let create: String = (0..TABLES)
        .map(|n| {
            let table = name(n);
            format!("CREATE TABLE {table} (id int PRIMARY KEY, v int); INSERT INTO {table} VALUES (1, {n});")
        })
        .collect();
    scene.postgres.query(&create);
    let names: Vec<_> = (0..TABLES).map(|n| (format!("public.{}", name(n)), name(n))).collect();
    let tables: Vec<_> = names.iter().map(|(source, target)| (source.as_str(), target.as_str())).collect();
    scene.mirror("many", &tables, &json!({}));
    scene.wait_for_state("many", "STATUS_RUNNING");
    let change: String = (0..TABLES).map(|n| format!("INSERT INTO {} VALUES (2, {n});", name(n))).collect();
    scene.postgres.query(&change);
    let union: Vec<_> = (0..TABLES).map(|n| format!("SELECT id, v FROM {} FINAL", name(n))).collect();
    let rows = format!(
        "SELECT concat(toString(count()), ' ', toString(sum(v))) FROM ({})",
        union.join(" UNION ALL ")
    );
    let sum: usize = (0..TABLES).map(|n| 2 * n).sum();
    scene.wait_for_target(&rows, &format!("{} {sum}", 2 * TABLES));
}

#[test]
fn a_table_without_columns_is_refused_with_the_remedy() {
    // B229: it has no key by which rows could be told apart.
    let scene = Scene::start();
    scene.postgres.query("CREATE TABLE nothing (); CREATE TABLE items (id int PRIMARY KEY)");
    let tables = [("public.items", "items"), ("public.nothing", "nothing")];
    let answer = scene.try_mirror("nothing", &tables, &json!({}));
    assert_eq!(answer.status, 400, "{}", answer.text());
    let text = answer.text();
    assert!(text.contains("table_mappings[1]") && text.contains("primary key"), "{text}");
}

#[test]
fn partitions_come_and_go_while_the_table_loads() {
    // B110.
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE parts (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
         CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (1) TO (100001);
         INSERT INTO parts SELECT n, repeat('x', 100) FROM generate_series(1, 100000) n;
         CREATE INDEX parts_v ON parts (v)",
    );
    let further = json!({"snapshot_num_rows_per_partition": 5000, "snapshot_max_parallel_workers": 1});
    scene.mirror("parts", &[("public.parts", "parts")], &further);
    until("rows of the load arrive", || {
        let count = scene.clickhouse.try_query("SELECT count() FROM parts").ok()?;
        (count != [[Some("0".to_owned())]]).then_some(())
    });
    // One that is made in place, one that comes with rows and an index of its own.
    scene.postgres.query("CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (100001) TO (200001)");
    scene.postgres.query("INSERT INTO parts SELECT n, 'made' FROM generate_series(100001, 100100) n");
    scene.postgres.query(
        "CREATE TABLE parts_3 (v text, gone int, id int NOT NULL PRIMARY KEY);
         ALTER TABLE parts_3 DROP gone;
         CREATE INDEX parts_3_v ON parts_3 (v);
         ALTER TABLE parts ATTACH PARTITION parts_3 FOR VALUES FROM (200001) TO (300001)",
    );
    scene.postgres.query("INSERT INTO parts SELECT n, 'attached' FROM generate_series(200001, 200100) n");
    scene.wait_until_equal(
        "SELECT id::text, v FROM parts ORDER BY parts.id",
        "SELECT toString(id), v FROM parts FINAL ORDER BY id",
    );
}

#[test]
fn a_resync_asked_for_twice_and_tables_added_after_it_are_complete() {
    // B196, B233.
    let scene = Scene::start();
    scene.postgres.query(
        "CREATE TABLE items (id int PRIMARY KEY, name text);
         INSERT INTO items SELECT n, 'item ' || n FROM generate_series(1, 20000) n;
         CREATE TABLE more (id int PRIMARY KEY, name text);
         INSERT INTO more SELECT n, 'more ' || n FROM generate_series(1, 500) n",
    );
    let rows = |table: &str| {
        (
            format!("SELECT id::text, name FROM {table} ORDER BY {table}.id"),
            format!("SELECT toString(id), name FROM {table} FINAL ORDER BY id"),
        )
    };
    let partitions = json!({"snapshot_num_rows_per_partition": 2000});
    scene.mirror("items", &[("public.items", "items")], &partitions);
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.request_state("items", "STATUS_RESYNC");
    // While it loads again, or after: a second one is taken or refused, and harms neither way.
    let body = json!({"flowJobName": "items", "requestedFlowState": "STATUS_RESYNC"});
    let answer = scene.try_post("mirrors/state_change", &body);
    assert!(answer.status == 200 || answer.status == 400, "{}", answer.text());
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene
        .postgres
        .query("UPDATE items SET name = 'changed' WHERE id % 100 = 0; DELETE FROM items WHERE id < 10");
    let (source, target) = rows("items");
    scene.wait_until_equal(&source, &target);
    scene.request_state("items", "STATUS_RESYNC");
    scene.wait_for_state("items", "STATUS_RUNNING");
    scene.wait_until_equal(&source, &target);

    scene.request_state("items", "STATUS_PAUSED");
    scene.wait_for_state("items", "STATUS_PAUSED");
    let update = json!({"flowJobName": "items", "requestedFlowState": "STATUS_RUNNING",
        "flowConfigUpdate": {"cdcFlowConfigUpdate": {"additionalTables": [
            {"sourceTableIdentifier": "public.more", "destinationTableIdentifier": "more"}]}}});
    scene.post("mirrors/state_change", &update);
    let (source, target) = rows("more");
    scene.wait_until_equal(&source, &target);
    assert_eq!(scene.leftovers().len(), 2, "one slot, one publication: {:?}", scene.leftovers());
    let tables = "SELECT arrayStringConcat(arraySort(groupArray(name)), ' ') FROM system.tables WHERE database = currentDatabase() AND name NOT LIKE '.%'";
    scene.wait_for_target(tables, "items more");
}
