//! Messages in the source's log reach the mirror's script, in their place among the rows.

use serde_json::json;
use tarn_e2e::{PATIENCE, Scene};
use tarn_harness::until_within;

/// Remembers who a transaction says it is of, and writes it into its rows.
const AUDIT: &str = "
    tarn.column('public.items', 'changed_by', 'text')
    local who
    function onMessage(r)
        if r.prefix == 'who' then who = r.content end
        if r.prefix == 'broken' then error('not understood: ' .. r.content) end
    end
    function onRecord(r)
        r.row.changed_by = who
        return r.row
    end";

#[test]
fn a_script_marks_the_rows_of_a_transaction_by_a_message_in_it() {
    let scene = Scene::start();
    if scene.postgres.scalar("SELECT current_setting('server_version_num')::int < 140000").as_deref()
        == Some("t")
    {
        return;
    }
    scene
        .postgres
        .query("CREATE TABLE items (id int PRIMARY KEY, t text); INSERT INTO items VALUES (0, 'loaded')");
    scene.script("audit", AUDIT);
    let further = json!({"script": "audit", "record_error_policy": "DEAD_LETTER"});
    scene.mirror("items", &[("public.items", "items")], &further);
    scene.wait_for_state("items", "STATUS_RUNNING");
    let by = |who: &str, id: i32| {
        format!(
            "BEGIN; INSERT INTO items VALUES ({id}, 'before'); SELECT pg_logical_emit_message(true, 'who', '{who}');
             SELECT pg_logical_emit_message(true, 'else', 'x'); INSERT INTO items VALUES ({id} + 1, 'after'); COMMIT;"
        )
    };
    scene.postgres.query(&by("ada", 1));
    scene.postgres.query(&by("eva", 3));
    scene.wait_for_target("SELECT count() FROM items FINAL", "5");
    scene.wait_until_equal(
        "VALUES ('0', NULL), ('1', NULL), ('2', 'ada'), ('3', 'ada'), ('4', 'eva')",
        "SELECT toString(id), changed_by FROM items FINAL ORDER BY items.id",
    );
    // One that the script does not understand is a record like others.
    scene
        .postgres
        .query("SELECT pg_logical_emit_message(false, 'broken', 'this'); INSERT INTO items VALUES (9, 'on')");
    scene.wait_for_target("SELECT changed_by FROM items FINAL WHERE id = 9", "eva");
    until_within(PATIENCE, "the message is a dead letter", || {
        let answer = scene.post("mirrors/dead_letters", &json!({"flowJobName": "items"})).to_string();
        answer.contains("not understood: this").then_some(())
    });
}
