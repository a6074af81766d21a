use std::time::{Duration, UNIX_EPOCH};

use tarn_catalog::TimeUnit;
use tarn_model::{DropOptions, MirrorState, Position, Timestamp};
use tarn_replication::{BatchRecord, Checkpoint, Checkpoints as _};

use crate::fixture::{Fixture, on_both};

/// Batches of so many rows, each begun at so many minutes since 1970.
async fn write(fixture: &Fixture, id: i64, first: u64, batches: &[(u64, u64)]) {
    let batches = (first..).zip(batches).map(|(number, (minute, rows))| BatchRecord {
        number,
        rows: *rows,
        first_sequence: number,
        last_sequence: number,
        started: UNIX_EPOCH + Duration::from_secs(minute * 60 + 59),
        ended: UNIX_EPOCH + Duration::from_secs(minute * 60 + 90),
    });
    let checkpoint =
        Checkpoint { position: Position::default(), sequence: first, batches: batches.collect() };
    fixture.catalog.checkpoints(id).save(&checkpoint).await.expect("stored");
}

fn minutes(found: Vec<(Timestamp, u64)>) -> Vec<(i64, u64)> {
    found.into_iter().map(|(at, rows)| (at.micros() / 60_000_000, rows)).collect()
}

on_both! {
    async fn rows_are_told_by_minute_and_by_hour_from_a_moment_on(fixture: Fixture) {
        let id = fixture.mirror("m").await;
        fixture.catalog.begin_stream(id, &Position::default()).await.expect("stored");
        write(&fixture, id, 1, &[(59, 1), (60, 2), (60, 3), (61, 4)]).await;
        write(&fixture, id, 5, &[(119, 5), (120, 6)]).await;
        for (from, unit, expected) in [
            (0, TimeUnit::Minute, vec![(59, 1), (60, 5), (61, 4), (119, 5), (120, 6)]),
            (60, TimeUnit::Minute, vec![(60, 5), (61, 4), (119, 5), (120, 6)]),
            (0, TimeUnit::Hour, vec![(0, 1), (60, 14), (120, 6)]),
            (60, TimeUnit::Hour, vec![(60, 14), (120, 6)]),
            (121, TimeUnit::Minute, vec![]),
        ] {
            let from = Timestamp::from_micros(from * 60_000_000);
            let found = fixture.catalog.written_since(id, from, unit).await.expect("read");
            assert_eq!(minutes(found), expected, "{unit:?}");
        }
    }
}

on_both! {
    async fn a_drop_that_forgets_the_statistics_forgets_the_history(fixture: Fixture) {
        let id = fixture.mirror("m").await;
        fixture.catalog.begin_stream(id, &Position::default()).await.expect("stored");
        write(&fixture, id, 1, &[(1, 1)]).await;
        let drop_options = Some(DropOptions { drop_mirror_stats: true, ..DropOptions::default() });
        let step = |_: &tarn_model::Mirror| Ok::<_, ()>(tarn_catalog::MirrorMove {
            desired: tarn_model::DesiredState::Terminated,
            state: MirrorState::Terminating,
            edit: None,
            drop_options,
        });
        let moved = fixture.catalog.request("m", step).await.expect("stored").expect("there").expect("moved");
        fixture.catalog.observe(id, moved.epoch, MirrorState::Terminated, None).await.expect("stored");
        let found = fixture.catalog.written_since(id, Timestamp::default(), TimeUnit::Hour).await.expect("read");
        assert_eq!(found, []);
    }
}
