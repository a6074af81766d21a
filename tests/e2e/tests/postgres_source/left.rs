//! Partitions that came, left or were emptied while nobody looked.

use tarn_batch::Op;
use tarn_harness::{Postgres, until};
use tarn_sdk::log::{Level, lines_of};
use tarn_sdk::{Limits, Rereads, SourceConfig};

use crate::fixture::{Source, config, limits, rows, source, stream};
use crate::server;

/// A partitioned table of this many partitions with ten rows each.
fn make(name: &str, partitions: u32) {
    server().query(&format!(
        "CREATE TABLE {name} (id int, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part)"
    ));
    for part in 1..=partitions {
        server().query(&format!(
            "CREATE TABLE {name}_{part} PARTITION OF {name} FOR VALUES IN ({part});
             INSERT INTO {name} SELECT n, {part} FROM generate_series(1, 10) n"
        ));
    }
}

/// The texts of the next rows and the position behind them. A read may bring none while a partition is read.
fn next_rows(source: &mut Source, count: usize) -> (Vec<String>, Vec<u8>) {
    let mut texts = Vec::new();
    let position = until("the rows come", || {
        let changes = source.read(Limits { wait_ms: 50, ..limits(10) }).expect("the stream goes on");
        texts.extend(rows(&changes.batch).into_iter().map(|row| row.after.join(",")));
        (texts.len() >= count).then_some(changes.position)
    });
    (texts, position)
}

/// Inserts a row, which comes as the next one; the position behind it.
fn streamed(source: &mut Source, name: &str, id: i32) -> Vec<u8> {
    server().query(&format!("INSERT INTO {name} VALUES ({id}, 1)"));
    let (rows, position) = next_rows(source, 1);
    assert_eq!(rows, [format!("{id},1")]);
    position
}

/// Opens the stream; what it says of partitions.
fn told(source: &mut Source, position: &[u8]) -> Vec<(Level, String)> {
    let (opened, lines) = lines_of(|| source.open(position));
    opened.expect("the stream");
    lines.into_iter().filter(|(_, line)| line.contains("partitions")).collect()
}

#[track_caller]
fn assert_told(told: &[(Level, String)], expected: &[(Level, String)]) {
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for ((level, line), (expected_level, part)) in told.iter().zip(expected) {
        assert!(level == expected_level && line.contains(part.as_str()), "{told:?} has no {part}");
    }
}

#[test]
fn partitions_that_left_or_were_emptied_are_told_of_at_the_start() {
    for (name, rereads) in [("left_told", Rereads::All), ("left_told_unread", Rereads::None)] {
        make(name, 6);
        let config = SourceConfig { rereads, ..config(name, &[&format!("public.{name}")]) };
        let mut source = source(server(), config);
        let start = source.setup().expect("a slot");
        assert_told(&told(&mut source, &start), &[]);
        let position = streamed(&mut source, name, 11);
        server().query(&format!(
            "ALTER TABLE {name} DETACH PARTITION {name}_2; DROP TABLE {name}_3, {name}_4; TRUNCATE {name}_5;
             ALTER TABLE {name} DETACH PARTITION {name}_6; DELETE FROM {name}_6 WHERE id > 2"
        ));
        server().query(&format!("ALTER TABLE {name} ATTACH PARTITION {name}_6 FOR VALUES IN (6)"));
        let came = format!("public.{name} has new partitions, public.{name}_6.");
        let level = if rereads == Rereads::All { Level::Info } else { Level::Warn };
        let left = format!(
            "partitions of public.{name} were detached or dropped: public.{name}_2, public.{name}_6, 2 dropped \
             while the mirror did not look."
        );
        let emptied = format!("partitions of public.{name} were emptied by themselves: public.{name}_5.");
        let expected = [(level, came), (Level::Warn, left), (Level::Warn, emptied)];
        // Whatever was told is told again where the position is still the one from before.
        assert_told(&told(&mut source, &position), &expected);
        assert_told(&told(&mut source, &position), &expected);
        if rereads == Rereads::All {
            assert_eq!(next_rows(&mut source, 2).0, ["1,6", "2,6"]);
        }
        let position = streamed(&mut source, name, 12);
        assert_told(&told(&mut source, &position), &[]);
        source.teardown().expect("no failure");
    }
}

#[test]
fn they_are_told_of_when_they_left_before_the_stream_was_first_open_too() {
    make("left_first", 2);
    let mut source = source(server(), config("left_first", &["public.left_first"]));
    let start = source.setup().expect("a slot");
    drop(source);
    let mut source = crate::fixture::source(server(), config("left_first", &["public.left_first"]));
    server().query("ALTER TABLE left_first DETACH PARTITION left_first_2");
    let expected = "public.left_first were detached or dropped: public.left_first_2.";
    assert_told(&told(&mut source, &start), &[(Level::Warn, expected.to_owned())]);
    source.teardown().expect("no failure");
}

#[test]
fn what_the_stream_tells_and_what_was_never_there_is_no_alarm() {
    make("left_nothing", 2);
    let mut source = source(server(), config("left_nothing", &["public.left_nothing"]));
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    let position = streamed(&mut source, "left_nothing", 11);
    for sql in [
        "CREATE TABLE left_nothing_3 PARTITION OF left_nothing FOR VALUES IN (3)",
        "INSERT INTO left_nothing VALUES (1, 3)",
        "DROP TABLE left_nothing_3",
        "TRUNCATE left_nothing",
        "INSERT INTO left_nothing VALUES (1, 1)",
    ] {
        server().query(sql);
    }
    assert_told(&told(&mut source, &position), &[]);
    let (seen, mut positions) = stream(&mut source, 3, 10).expect("rows");
    let ops: Vec<Op> = seen.iter().map(|row| row.op).collect();
    assert_eq!(ops, [Op::Insert, Op::Truncate, Op::Insert]);
    // All files are others where the table is written anew.
    let position = positions.pop().expect("a position");
    server().query("ALTER TABLE left_nothing ADD stamp uuid DEFAULT gen_random_uuid()");
    assert_told(&told(&mut source, &position), &[]);
    source.teardown().expect("no failure");
}

#[test]
fn a_partition_that_was_seen_to_come_is_not_told_of_again_while_an_older_transaction_goes_on() {
    make("left_held", 2);
    let mut source = source(server(), config("left_held", &["public.left_held"]));
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    let mut older = server().session();
    older.query("BEGIN; SELECT pg_current_xact_id()");
    server().query("CREATE TABLE left_held_3 PARTITION OF left_held FOR VALUES IN (3)");
    let came = "public.left_held has new partitions, public.left_held_3.";
    assert_told(&told(&mut source, &start), &[(Level::Info, came.to_owned())]);
    let position = streamed(&mut source, "left_held", 11);
    assert_told(&told(&mut source, &position), &[]);
    older.query("ROLLBACK");
    source.teardown().expect("no failure");
}

#[test]
fn a_position_from_when_no_partitions_were_kept_tells_of_those_that_came() {
    make("left_earlier", 2);
    let mut source = source(server(), config("left_earlier", &["public.left_earlier"]));
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    let mut position = streamed(&mut source, "left_earlier", 11);
    // Behind the head: one table, its number, and two partitions of twelve bytes each; then four bytes for a primary key, two
    // for names of columns, four for how values are written, and no table with stored columns.
    assert_eq!(
        (position[0], &position[69..73], &position[77..81]),
        (9, &[1, 0, 0, 0][..], &[2, 0, 0, 0][..])
    );
    position.drain(69..81 + 2 * 12 + (4 + 4) + (4 + 2) + (4 + 4) + 4);
    position[0] = 8;
    server().query(
        "DROP TABLE left_earlier_2; CREATE TABLE left_earlier_3 PARTITION OF left_earlier FOR VALUES IN (3)",
    );
    let came = "public.left_earlier has new partitions, public.left_earlier_3.";
    let earlier = "an earlier version of Tarn ended";
    let expected = [(Level::Info, came.to_owned()), (Level::Warn, earlier.to_owned())];
    assert_told(&told(&mut source, &position), &expected);
    source.teardown().expect("no failure");
}

#[test]
fn a_partition_whose_detaching_has_begun_has_left() {
    // CONCURRENTLY came with 14.
    if crate::major() < 14 {
        return;
    }
    make("left_pending", 2);
    let mut source = source(server(), config("left_pending", &["public.left_pending"]));
    let start = source.setup().expect("a slot");
    source.open(&start).expect("the stream");
    let position = streamed(&mut source, "left_pending", 11);
    let mut reader = server().session();
    reader.query("BEGIN; SELECT count(*) FROM left_pending");
    std::thread::scope(|scope| {
        let detach = "ALTER TABLE left_pending DETACH PARTITION left_pending_2 CONCURRENTLY";
        let detaching = scope.spawn(move || server().try_query(detach));
        until("it waits for the reader", || {
            let pending = "SELECT count(*) FROM pg_inherits WHERE inhdetachpending";
            (server().scalar(pending).as_deref() == Some("1")).then_some(())
        });
        server().query(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%left_pending_2 CONCURRENTLY'
               AND pid <> pg_backend_pid()",
        );
        detaching.join().expect("no panic").expect_err("it was cancelled");
    });
    reader.query("ROLLBACK");
    let left = "public.left_pending were detached or dropped: public.left_pending_2.";
    assert_told(&told(&mut source, &position), &[(Level::Warn, left.to_owned())]);
    // What is done to it now is not in the stream.
    server().query("INSERT INTO left_pending_2 VALUES (20, 2)");
    let position = streamed(&mut source, "left_pending", 12);
    server().query("ALTER TABLE left_pending DETACH PARTITION left_pending_2 FINALIZE");
    assert_told(&told(&mut source, &position), &[]);
    source.teardown().expect("no failure");
}

#[test]
fn changes_of_a_table_that_was_attached_or_detached_follow_what_it_is_by_now_on_every_release() {
    for major in [13, 14, 15].into_iter().filter(|major| Postgres::is_here(*major)) {
        let server = Postgres::start_major(major, &[]);
        server.query(
            "CREATE TABLE follows (id int, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
             CREATE TABLE follows_1 PARTITION OF follows FOR VALUES IN (1);
             CREATE TABLE follows_2 (id int NOT NULL, part int NOT NULL, PRIMARY KEY (id, part));
             CREATE TABLE follows_3 PARTITION OF follows FOR VALUES IN (3)",
        );
        let mut source = source(&server, config("follows", &["public.follows"]));
        let start = source.setup().expect("a slot");
        source.open(&start).expect("the stream");
        // The server decides of each what it is.
        server.query("INSERT INTO follows_2 VALUES (1, 2); INSERT INTO follows VALUES (1, 3), (1, 1)");
        assert_eq!(next_rows(&mut source, 2).0, ["1,3", "1,1"], "PostgreSQL {major}");
        server.query(
            "ALTER TABLE follows ATTACH PARTITION follows_2 FOR VALUES IN (2); ALTER TABLE follows DETACH PARTITION follows_3",
        );
        // What the partition has is read once it was looked at.
        assert_eq!(next_rows(&mut source, 1).0, ["1,2"], "PostgreSQL {major}");
        server.query("INSERT INTO follows_3 VALUES (2, 3); INSERT INTO follows VALUES (2, 2), (2, 1)");
        assert_eq!(next_rows(&mut source, 2).0, ["2,2", "2,1"], "PostgreSQL {major}");
        source.teardown().expect("no failure");
    }
}
