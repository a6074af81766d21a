use std::time::{Duration, UNIX_EPOCH};

use tarn_catalog::BatchQuery;
use tarn_model::{Position, RowCounts, Timestamp};
use tarn_replication::{BatchRecord, Checkpoint, Checkpoints as _};

use crate::fixture::{Fixture, on_both};

async fn with_batches(fixture: &Fixture, count: u64) -> i64 {
    let id = fixture.mirror("m").await;
    fixture.catalog.begin_stream(id, &Position::default()).await.expect("stored");
    let batches = (1..=count).map(|number| BatchRecord {
        number,
        rows: number,
        first_sequence: number * 10,
        last_sequence: number * 10 + 9,
        started: UNIX_EPOCH + Duration::from_secs(number),
        ended: UNIX_EPOCH + Duration::from_secs(number + 1),
    });
    let checkpoint = Checkpoint { position: Position::default(), sequence: 1, batches: batches.collect() };
    fixture.catalog.checkpoints(id).save(&checkpoint).await.expect("stored");
    id
}

on_both! {
    async fn the_page_nearest_the_given_id_is_returned_in_the_order_asked_for(fixture: Fixture) {
        let id = with_batches(&fixture, 10).await;
        let newest = BatchQuery::default();
        for (query, ids, skipped) in [
            (newest, vec![10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 0),
            (BatchQuery { limit: Some(3), ..newest }, vec![10, 9, 8], 0),
            (BatchQuery { limit: Some(3), ascending: true, ..newest }, vec![1, 2, 3], 0),
            (BatchQuery { limit: Some(3), before: Some(5), ..newest }, vec![4, 3, 2], 6),
            (BatchQuery { limit: Some(3), before: Some(5), ascending: true, ..newest }, vec![2, 3, 4], 1),
            (BatchQuery { limit: Some(3), after: Some(5), ..newest }, vec![8, 7, 6], 2),
            (BatchQuery { limit: Some(3), after: Some(5), ascending: true, ..newest }, vec![6, 7, 8], 5),
            (BatchQuery { limit: Some(2), after: Some(2), before: Some(7), ..newest }, vec![6, 5], 4),
            (BatchQuery { after: Some(10), ..newest }, vec![], 0),
        ] {
            let page = fixture.catalog.batches(id, query).await.expect("listed");
            let found: Vec<_> = page.batches.iter().map(|batch| batch.batch_id).collect();
            assert_eq!((found, page.skipped), (ids, skipped), "{query:?}");
        }
    }
}

on_both! {
    async fn a_batch_under_way_has_no_end_and_is_never_mistaken_for_an_ended_one(fixture: Fixture) {
        let id = with_batches(&fixture, 1).await;
        fixture.catalog.begin_batch(id, 1, 77).await.expect("an ended batch stays as it is");
        fixture.catalog.begin_batch(id, 2, 20).await.expect("stored");
        fixture.catalog.begin_batch(id, 2, 21).await.expect("begun again after a crash");
        let batches = fixture.catalog.batches(id, BatchQuery::default()).await.expect("listed").batches;
        assert_eq!((batches[0].batch_id, batches[0].start_lsn, batches[0].end_time), (2, 21, None));
        assert_eq!(batches[1].end_time, Some(Timestamp::from_micros(2_000_000)));
        assert_eq!(fixture.catalog.resume(id).await.expect("read").expect("there").batch, 1);
    }
}

on_both! {
    async fn counts_of_tables_add_up(fixture: Fixture) {
        let id = fixture.mirror("m").await;
        let counts = |inserts| RowCounts { inserts_count: inserts, deletes_count: 1, ..RowCounts::default() };
        for inserts in [2, 3] {
            let counted = fixture.catalog.count_rows(id, &[("users".into(), counts(inserts))]).await;
            counted.expect("stored");
        }
        let expected = RowCounts { total_count: 7, inserts_count: 5, updates_count: 0, deletes_count: 2 };
        assert_eq!(fixture.catalog.row_counts(id).await.expect("read"), [("users".into(), expected)]);
    }
}
