//! What the engine itself refuses, by its own limits: each is told for what it is, with what helps, and a write that is
//! repeated once it was mended neither loses nor doubles a row.

use tarn_batch::{Table, Type};
use tarn_sdk::FailureClass;

use super::rows::{Rows, int, text};
use super::scene::{Scene, table};

fn items() -> Table {
    table("t", &[("id", Type::Int8, false), ("name", Type::Text, true)])
}

/// How the engine is brought to refuse, and how it is mended.
enum Trouble {
    /// Statements before and after.
    Statements(&'static [&'static str], &'static [&'static str]),
    /// The user's profile.
    Profile(&'static str, &'static str),
}
use Trouble::{Profile, Statements};

#[test]
fn limits_of_the_engine_are_told_for_what_they_are_and_a_repeated_write_is_right() {
    let cases = [
        (
            Statements(
                &["ALTER TABLE t MODIFY SETTING min_free_disk_bytes_to_perform_insert = 1000000000000000000"],
                &["ALTER TABLE t RESET SETTING min_free_disk_bytes_to_perform_insert"],
            ),
            (FailureClass::Retry, "clickhouse_waiting", "NOT_ENOUGH_SPACE", "make room on the server's disk"),
        ),
        (
            Statements(
                &[
                    "SYSTEM STOP MERGES t",
                    "ALTER TABLE t MODIFY SETTING parts_to_throw_insert = 1, parts_to_delay_insert = 0",
                ],
                &["ALTER TABLE t RESET SETTING parts_to_throw_insert", "SYSTEM START MERGES t"],
            ),
            (FailureClass::Retry, "clickhouse_waiting", "TOO_MANY_PARTS", "let merges catch up"),
        ),
        (
            Profile("max_memory_usage", "1"),
            (FailureClass::Retry, "clickhouse_waiting", "MEMORY_LIMIT_EXCEEDED", "more memory"),
        ),
        (
            Profile("readonly", "1"),
            (FailureClass::Permanent, "clickhouse_read_only", "READONLY", "a profile that may write"),
        ),
        (
            Statements(&["RENAME TABLE t TO aside"], &["RENAME TABLE aside TO t"]),
            (FailureClass::Permanent, "target_missing", "UNKNOWN_TABLE", "bring it back"),
        ),
        (
            Statements(
                &["ALTER TABLE t RENAME COLUMN name TO other"],
                &["ALTER TABLE t RENAME COLUMN other TO name"],
            ),
            (FailureClass::Permanent, "target_changed", "NO_SUCH_COLUMN_IN_TABLE", "changed by hand"),
        ),
    ];
    for (trouble, (class, code, name, helps)) in cases {
        let mut scene = Scene::new();
        scene.prepare(&items());
        scene
            .write(&Rows::new(&items(), 1).insert(&[int(1), text("a")]).insert(&[int(2), text("b")]).batch());
        match &trouble {
            Statements(before, _) => before.iter().for_each(|sql| drop(scene.query(sql))),
            Profile(setting, value) => scene.trouble.set_profile(&[(setting, value)]),
        }
        let mut rows = Rows::new(&items(), 10);
        rows.update(&[int(1), text("c")])
            .update_key(int(2), &[int(3), text("b")])
            .insert(&[int(4), text("d")]);
        let batch = rows.batch();
        for _ in 0..2 {
            let failure = scene.try_write(&batch).expect_err(name);
            assert_eq!((failure.class, failure.code.as_str()), (class, code), "{name}: {failure:?}");
            assert!(failure.message.contains(name) && failure.hint.contains(helps), "{name}: {failure:?}");
            assert!(failure.table == "public.t", "{failure:?}");
        }
        match &trouble {
            Statements(_, after) => after.iter().for_each(|sql| drop(scene.query(sql))),
            Profile(..) => scene.trouble.set_profile(&[]),
        }
        scene.write(&batch);
        scene.write(&batch);
        let seen = "SELECT id, name FROM t FINAL WHERE id > 0 ORDER BY id";
        assert_eq!(scene.rows(seen), ["1|c", "3|b", "4|d"], "{name}");
    }
}
