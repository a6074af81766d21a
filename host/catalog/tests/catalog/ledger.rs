use tarn_model::FailureClass;
use tarn_replication::{PartitionDone, PartitionState, SnapshotLedger as _};

use crate::fixture::{Fixture, on_both};

fn done(number: u32, generation: u32, rows: u64) -> PartitionDone {
    PartitionDone { table: "public.a".into(), number, generation, horizon: format!("h{generation}"), rows }
}

on_both! {
    async fn a_load_goes_on_where_it_was(fixture: Fixture) {
        let id = fixture.mirror("m").await;
        let tables = [("public.b".into(), "b".into()), ("public.a".into(), "a".into())];
        fixture.catalog.begin_load(id, &tables).await.expect("stored");
        let ledger = fixture.catalog.ledger(id);
        let fresh = ledger.load().await.expect("read");
        assert_eq!(fresh.iter().map(|t| t.table.as_str()).collect::<Vec<_>>(), ["public.b", "public.a"]);
        assert!(fresh.iter().all(|table| table.partitions.is_none()));
        ledger.planned("public.a", &["p0".into(), "p1".into()]).await.expect("stored");
        ledger.planned("public.b", &[]).await.expect("an empty table has no partition");
        ledger.done(&done(1, 1, 500)).await.expect("stored");
        drop(ledger);

        let fixture = fixture.reopened().await;
        fixture.catalog.begin_load(id, &tables).await.expect("repeated after a restart");
        let ledger = fixture.catalog.ledger(id);
        let read = ledger.load().await.expect("read");
        assert_eq!(read[0].partitions.as_deref(), Some(&[][..]));
        let parts = read[1].partitions.as_ref().expect("planned");
        assert_eq!((parts[0].partition.as_str(), &parts[0].state), ("p0", &PartitionState::Pending));
        let state = PartitionState::Done { generation: 1, horizon: "h1".into() };
        assert_eq!((parts[1].partition.as_str(), &parts[1].state), ("p1", &state));
    }
}

on_both! {
    async fn a_partition_never_goes_back_to_an_older_point(fixture: Fixture) {
        let id = fixture.mirror("m").await;
        fixture.catalog.begin_load(id, &[("public.a".into(), "a".into())]).await.expect("stored");
        let ledger = fixture.catalog.ledger(id);
        let unplanned = ledger.done(&done(0, 1, 1)).await.expect_err("no plan");
        assert_eq!(unplanned.class, FailureClass::Permanent);
        ledger.planned("public.a", &["p0".into()]).await.expect("stored");
        ledger.planned("public.a", &["p0".into()]).await.expect_err("planned once");
        ledger.done(&done(0, 2, 1)).await.expect("stored");
        ledger.done(&done(0, 2, 1)).await.expect("again at the same point");
        let back = ledger.done(&done(0, 1, 1)).await.expect_err("an older point");
        assert_eq!(back.code, "partition_backwards");
    }
}

on_both! {
    async fn people_see_progress_per_table(fixture: Fixture) {
        let id = fixture.mirror("m").await;
        fixture.catalog.begin_load(id, &[("public.a".into(), "a".into())]).await.expect("stored");
        let ledger = fixture.catalog.ledger(id);
        ledger.planned("public.a", &["p0".into(), "p1".into()]).await.expect("stored");
        fixture.catalog.begin_partition(id, "public.a", 0).await.expect("stored");
        ledger.done(&done(0, 1, 40)).await.expect("stored");
        let half = fixture.catalog.loads(id).await.expect("read").remove(0);
        assert_eq!((half.table_name.as_str(), half.source_table.as_str()), ("a", "public.a"));
        assert_eq!((half.num_partitions_completed, half.num_partitions_total), (1, 2));
        assert_eq!((half.num_rows_synced, half.fetch_completed, half.start_time.is_some()), (40, false, true));
        ledger.done(&done(1, 1, 2)).await.expect("stored");
        let whole = fixture.catalog.loads(id).await.expect("read").remove(0);
        assert_eq!((whole.num_rows_synced, whole.consolidate_completed), (42, true));
        // A load that goes on after a crash reads what was done once more: it has begun after it ended.
        fixture.catalog.begin_partition(id, "public.a", 0).await.expect("stored");
        let again = fixture.catalog.loads(id).await.expect("read").remove(0);
        assert_eq!((again.num_rows_synced, again.avg_time_per_partition_ms), (42, 0));
        fixture.catalog.forget_load(id, &["public.a".into()]).await.expect("stored");
        assert!(fixture.catalog.loads(id).await.expect("read").is_empty());
    }
}

on_both! {
    async fn generations_only_grow(fixture: Fixture) {
        let id = fixture.mirror("m").await;
        assert_eq!(fixture.catalog.next_generation(id).await.expect("stored"), 1);
        let fixture = fixture.reopened().await;
        assert_eq!(fixture.catalog.next_generation(id).await.expect("stored"), 2);
    }
}
