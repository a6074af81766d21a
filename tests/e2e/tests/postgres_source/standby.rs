//! Standbys: failing over to one, and reading from one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tarn_harness::{Postgres, until};
use tarn_sdk::Limits;

use crate::fixture::{config, limits, published_by, snapshot, source, stream};

/// A server of this version with a standby that follows it; nothing where it is not on this machine.
fn pair(major: u32, primary: &[(&str, &str)], sql: &str) -> Option<(Postgres, Postgres)> {
    if !Postgres::is_here(major) {
        return None;
    }
    let mut primary = Postgres::start_major(major, primary);
    primary.query("SELECT pg_create_physical_replication_slot('standby')");
    primary.query(sql);
    primary.stop();
    let standby = primary.standby(&[]);
    primary.start_again();
    Some((primary, standby))
}

#[test]
fn a_slot_that_a_standby_synchronised_goes_on_where_the_old_one_was() {
    // B151. The primary shows a mirror nothing that the standby has not received.
    let settings = [("synchronized_standby_slots", "standby")];
    let table = "CREATE TABLE followed (id int PRIMARY KEY)";
    let Some((mut primary, standby)) = pair(17, &settings, table) else { return };
    let mut first = source(&primary, config("followed", &["public.followed"]));
    let start = first.setup().expect("a slot");
    first.open(&start).expect("the stream");
    primary.query("INSERT INTO followed VALUES (1)");
    stream(&mut first, 1, 10).expect("a row");
    let synchronised = "SELECT count(*) FROM pg_replication_slots
         WHERE slot_name = 'tarn_slot_followed' AND synced AND NOT temporary";
    // The standby takes a slot once it has moved past what the standby itself keeps.
    let position = until("the standby has the slot", || {
        primary.query("SELECT pg_log_standby_snapshot()");
        let changes = first.read(Limits { wait_ms: 50, ..limits(10) }).expect("the log moves on");
        first.confirm(&changes.position).expect("confirmed");
        standby.query("SELECT pg_sync_replication_slots()");
        (standby.scalar(synchronised).as_deref() == Some("1")).then_some(changes.position)
    });
    drop(first);
    primary.stop();
    standby.query("SELECT pg_promote()");
    standby.query("INSERT INTO followed VALUES (2)");
    let mut second = source(&standby, config("followed", &["public.followed"]));
    second.open(&position).expect("the stream goes on");
    let (rows, _) = stream(&mut second, 1, 10).expect("a row");
    assert_eq!(rows[0].after[0], "2");
    assert_eq!(second.teardown().expect("no failure"), []);
}

#[test]
fn a_standby_is_loaded_and_streamed_from_and_goes_on_when_it_is_promoted() {
    let sql = "CREATE TABLE read_there (id int PRIMARY KEY);
         INSERT INTO read_there SELECT generate_series(1, 1000);
         CREATE PUBLICATION read_there FOR TABLE read_there";
    let Some((mut primary, standby)) = pair(16, &[], sql) else { return };
    let managed = config("read_there", &["public.read_there"]);
    let problems = source(&standby, managed.clone()).validate().expect("an answer");
    assert!(
        problems.iter().any(|problem| problem.message == "a standby takes no new publication"),
        "{problems:?}"
    );
    let given = published_by("read_there", managed);
    assert_eq!(source(&standby, given.clone()).validate().expect("an answer"), []);

    let mut reader = source(&standby, given.clone());
    let is_made = AtomicBool::new(false);
    let start = thread::scope(|scope| {
        // A standby's slot begins where the primary told of its transactions: an idle one does so rarely.
        scope.spawn(|| {
            while !is_made.load(Ordering::Relaxed) {
                primary.query("SELECT pg_log_standby_snapshot(), pg_sleep(0.1)");
            }
        });
        let start = reader.setup().expect("a slot");
        is_made.store(true, Ordering::Relaxed);
        start
    });
    primary.query("INSERT INTO read_there SELECT generate_series(1001, 1010)");
    let loaded = snapshot(&mut reader, "public.read_there", &start, 200);
    assert_eq!(loaded.len(), 1000);
    reader.open(&start).expect("the stream");
    let (rows, positions) = stream(&mut reader, 10, 4).expect("rows");
    assert_eq!(rows[9].after[0], "1010");
    let position = positions.last().expect("a position");
    reader.confirm(position).expect("confirmed");
    primary.stop();
    standby.query("SELECT pg_promote()");
    standby.query("INSERT INTO read_there VALUES (2000)");
    let (rows, positions) = stream(&mut reader, 1, 10).expect("a row");
    assert_eq!(rows[0].after[0], "2000");
    drop(reader);
    let mut next = source(&standby, given);
    next.open(&positions[0]).expect("the stream goes on");
    standby.query("INSERT INTO read_there VALUES (2001)");
    let (rows, _) = stream(&mut next, 1, 10).expect("a row");
    assert_eq!(rows[0].after[0], "2001");
    assert_eq!(next.teardown().expect("no failure"), []);
}
