use std::time::{Duration, UNIX_EPOCH};

use tarn_catalog::StagedEntry;
use tarn_model::{FailureClass, Position, Secret};
use tarn_replication::{BatchRecord, Checkpoint, Checkpoints as _, Resume};

use crate::fixture::{Fixture, on_both};

fn position(byte: u8) -> Position {
    Position::new(vec![byte, 0, 255])
}

fn checkpoint(byte: u8, sequence: u64, numbers: &[u64]) -> Checkpoint {
    let batches = numbers.iter().map(|number| BatchRecord {
        number: *number,
        rows: 10,
        first_sequence: sequence - 1,
        last_sequence: sequence,
        started: UNIX_EPOCH + Duration::from_micros(1),
        ended: UNIX_EPOCH + Duration::from_micros(2),
    });
    Checkpoint { position: position(byte), sequence, batches: batches.collect() }
}

on_both! {
    async fn a_stream_restarts_at_its_last_checkpoint_or_its_start(fixture: Fixture) {
        let id = fixture.mirror("m").await;
        assert_eq!(fixture.catalog.resume(id).await.expect("read"), None);
        fixture.catalog.begin_stream(id, &position(1)).await.expect("stored");
        fixture.catalog.begin_stream(id, &position(2)).await.expect("a setup is repeated");
        let resume = fixture.catalog.resume(id).await.expect("read");
        assert_eq!(resume, Some(Resume { position: position(2), sequence: 0, batch: 0 }));
        fixture.catalog.checkpoints(id).save(&checkpoint(9, 100, &[1, 2])).await.expect("stored");
        fixture.catalog.begin_stream(id, &position(3)).await.expect("stored");
        let fixture = fixture.reopened().await;
        let resume = fixture.catalog.resume(id).await.expect("read");
        assert_eq!(resume, Some(Resume { position: position(9), sequence: 100, batch: 2 }));
        assert_eq!(fixture.catalog.stream_start(id).await.expect("read"), Some(position(3)));
        assert_eq!(fixture.catalog.mirror("m").await.expect("read").expect("there").rows_synced, 20);
    }
}

on_both! {
    async fn a_checkpoint_never_goes_back(fixture: Fixture) {
        let id = fixture.mirror("m").await;
        let mut checkpoints = fixture.catalog.checkpoints(id);
        let refused = checkpoints.save(&checkpoint(1, 5, &[])).await.expect_err("no stream began");
        assert_eq!(refused.class, FailureClass::Permanent);
        fixture.catalog.begin_stream(id, &position(0)).await.expect("stored");
        checkpoints.save(&checkpoint(1, 100, &[1])).await.expect("stored");
        checkpoints.save(&checkpoint(2, 100, &[])).await.expect("an equal sequence is fine");
        let back = checkpoints.save(&checkpoint(3, 99, &[2])).await.expect_err("backwards");
        assert_eq!((back.class, back.code.as_str()), (FailureClass::Permanent, "checkpoint_backwards"));
        let again = checkpoints.save(&checkpoint(4, 101, &[1])).await.expect_err("the batch ended before");
        assert_eq!((again.class, again.code.as_str()), (FailureClass::Permanent, "batch_not_new"));
        let resume = fixture.catalog.resume(id).await.expect("read").expect("there");
        assert_eq!((resume.position, resume.sequence, resume.batch), (position(2), 100, 1));
    }
}

on_both! {
    async fn a_resync_forgets_progress_and_counts_batches_on(fixture: Fixture) {
        let id = fixture.mirror("m").await;
        let catalog = &fixture.catalog;
        catalog.begin_stream(id, &position(1)).await.expect("stored");
        catalog.begin_load(id, &[("public.users".into(), "users".into())]).await.expect("stored");
        catalog.checkpoints(id).save(&checkpoint(2, 50, &[1])).await.expect("stored");
        catalog.move_load_start(id, &position(7)).await.expect("stored");
        assert_eq!(catalog.stream_start(id).await.expect("read"), Some(position(7)));
        assert_eq!(catalog.resume(id).await.expect("read").expect("there").position, position(2));
        catalog.forget_progress(id).await.expect("forgotten");
        assert_eq!(catalog.resume(id).await.expect("read"), None);
        assert!(catalog.loads(id).await.expect("read").is_empty());
        catalog.begin_stream(id, &position(8)).await.expect("stored");
        let resume = catalog.resume(id).await.expect("read");
        assert_eq!(resume, Some(Resume { position: position(8), sequence: 0, batch: 1 }));
    }
}

on_both! {
    async fn each_delivery_has_a_number_that_outlives_the_process(fixture: Fixture) {
        let (id, other) = (fixture.mirror("m").await, fixture.mirror("other").await);
        assert_eq!(fixture.catalog.delivery(id).await.expect("read"), 0);
        fixture.catalog.begin_delivery(id).await.expect("begun");
        let fixture = fixture.reopened().await;
        fixture.catalog.begin_delivery(id).await.expect("begun");
        assert_eq!(fixture.catalog.delivery(id).await.expect("read"), 2);
        assert_eq!(fixture.catalog.delivery(other).await.expect("read"), 0);
        assert_eq!(fixture.catalog.delivery(999).await.expect("read"), 0);
    }
}

fn entry(number: u64) -> StagedEntry {
    StagedEntry {
        number,
        place: "s3://rows".into(),
        name: format!("{number}.entry"),
        after: number * 10,
        bytes: 7,
        digest: "d".into(),
        key: Some(Secret::new(format!("key {number}"))),
    }
}

on_both! {
    async fn what_waits_is_listed_until_it_is_delivered_or_given_up(fixture: Fixture) {
        let (id, other) = (fixture.mirror("m").await, fixture.mirror("other").await);
        let catalog = &fixture.catalog;
        let life = catalog.begin_stage(id).await.expect("begun");
        assert_eq!((life.epoch, life.entries.len()), (1, 0));
        for number in [2, 1] {
            assert!(catalog.add_staged(id, 1, &entry(number)).await.expect("stored"));
        }
        let (fixture, _) = fixture.rotated().await;
        let catalog = &fixture.catalog;
        assert_eq!(catalog.staged(id).await.expect("read"), [entry(1), entry(2)]);
        assert_eq!(catalog.staged_after(id).await.expect("read"), Some(10));
        assert_eq!(catalog.staged_after(other).await.expect("read"), None);
        let standings = catalog.stage_standings().await.expect("read");
        let [(mirror, told)] = &standings[..] else { panic!("{standings:?}") };
        assert_eq!((*mirror, told.entries, told.bytes, told.oldest_at.is_some()), (id, 2, 14, true));
        assert!(catalog.remove_staged(id, 1, 1).await.expect("removed"));
        assert_eq!(catalog.stage_names(id).await.expect("read"), (1, vec!["2.entry".to_owned()]));
        assert!(!String::from_utf8_lossy(&fixture.bytes_on_disk()).contains("key 2"), "it rests sealed");
        catalog.forget_progress(id).await.expect("given up");
        assert_eq!(catalog.stage_names(id).await.expect("read"), (2, Vec::new()));
    }
}

on_both! {
    async fn a_life_of_a_stage_that_is_over_changes_nothing(fixture: Fixture) {
        let id = fixture.mirror("m").await;
        let catalog = &fixture.catalog;
        assert_eq!(catalog.begin_stage(id).await.expect("begun").epoch, 1);
        assert!(catalog.add_staged(id, 1, &entry(1)).await.expect("stored"));
        assert_eq!(catalog.begin_stage(id).await.expect("begun").entries, [entry(1)]);
        assert!(!catalog.add_staged(id, 1, &entry(2)).await.expect("answered"));
        assert!(!catalog.remove_staged(id, 1, 1).await.expect("answered"));
        assert_eq!(catalog.staged(id).await.expect("read"), [entry(1)]);
        assert_eq!(catalog.forget_staged(id).await.expect("given up"), [entry(1)]);
        assert!(!catalog.add_staged(id, 2, &entry(2)).await.expect("answered"), "given up is over, too");
    }
}
