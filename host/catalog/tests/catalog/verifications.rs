use tarn_catalog::VerificationPlanned;
use tarn_model::{ComparedRows, TableStage, TableVerification, VerificationState};

use crate::fixture::{Fixture, on_both};

fn table(compared: u64) -> TableVerification {
    TableVerification {
        source_table: "public.users".into(),
        stage: TableStage::Comparing { partitions: vec!["p".into()], done: 0 },
        rows: ComparedRows { compared, ..ComparedRows::default() },
        notes: vec!["a\0b".into()],
        ..TableVerification::default()
    }
}

on_both! {
    async fn progress_is_kept_with_its_digest_and_a_mirror_has_one_at_a_time(fixture: Fixture) {
        let mirror = fixture.mirror("one").await;
        let catalog = fixture.catalog.clone();
        let plan = || catalog.plan_verification(mirror, "one", 0.25, &[]);
        let VerificationPlanned::Done(id) = plan().await.expect("stored") else { panic!("the first") };
        assert_eq!(plan().await.expect("asked"), VerificationPlanned::Busy(id));
        catalog.note_verification(id, VerificationState::Running, "").await.expect("stored");
        catalog.save_verification(id, &[table(1)], Some(("public.users", &[1, 2]))).await.expect("stored");
        catalog.save_verification(id, &[table(7)], Some(("public.users", &[255, 0]))).await.expect("stored");
        drop(catalog);
        let fixture = fixture.reopened().await;
        let catalog = &fixture.catalog;
        let under_way = catalog.verifications_under_way().await.expect("read");
        assert_eq!(under_way.len(), 1);
        let found = &under_way[0];
        assert_eq!((found.id, found.mirror, found.name.as_str()), (id, mirror, "one"));
        assert_eq!((found.state, found.sample_rate), (VerificationState::Running, 0.25));
        assert_eq!(found.tables[0].rows.compared, 7);
        assert_eq!(found.tables[0].stage, table(7).stage);
        let digest = |table: &'static str| catalog.verification_digest(id, table);
        assert_eq!(digest("public.users").await.expect("read"), Some(vec![255, 0]));
        assert_eq!(digest("public.others").await.expect("read"), None);
    }
}

on_both! {
    async fn one_at_its_end_stays_as_it_is_and_makes_room(fixture: Fixture) {
        let mirror = fixture.mirror("one").await;
        let catalog = &fixture.catalog;
        let plan = || catalog.plan_verification(mirror, "one", 1.0, &[]);
        let VerificationPlanned::Done(id) = plan().await.expect("stored") else { panic!("the first") };
        catalog.save_verification(id, &[table(1)], Some(("public.users", &[1]))).await.expect("stored");
        catalog.note_verification(id, VerificationState::Cancelled, "gone").await.expect("stored");
        catalog.note_verification(id, VerificationState::Running, "").await.expect("nothing");
        catalog.save_verification(id, &[table(9)], None).await.expect("nothing");
        let found = catalog.verification(id).await.expect("read").expect("kept");
        assert_eq!((found.state, found.message.as_str()), (VerificationState::Cancelled, "gone"));
        assert_eq!(found.tables[0].rows.compared, 1);
        assert_eq!(catalog.verification_digest(id, "public.users").await.expect("read"), None);
        assert!(matches!(plan().await.expect("stored"), VerificationPlanned::Done(other) if other > id));
    }
}
