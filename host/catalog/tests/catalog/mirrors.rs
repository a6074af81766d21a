use tarn_catalog::{MirrorCreated, MirrorMove, Observed};
use tarn_model::{
    DesiredState, DropOptions, Failure, LogLevel, MirrorSpec, MirrorState, PendingEdit, StateRequest,
    Verdict, decide,
};

use crate::fixture::{Fixture, on_both, spec};

/// What a request becomes in the catalog.
fn step(state: MirrorState, resume_at: MirrorState, request: StateRequest) -> Result<MirrorMove, Verdict> {
    match decide(state, resume_at, request) {
        Verdict::Move { desired, state } => Ok(MirrorMove { desired, state, edit: None, drop_options: None }),
        answer => Err(answer),
    }
}

on_both! {
    async fn a_mirror_begins_in_setup_and_reads_back_whole(fixture: Fixture) {
        let id = fixture.mirror("m").await;
        let fixture = fixture.reopened().await;
        let mirror = fixture.catalog.mirror("m").await.expect("read").expect("there");
        assert_eq!((mirror.id, mirror.spec.clone()), (id, spec("m")));
        assert_eq!((mirror.desired, mirror.state), (DesiredState::Running, MirrorState::Setup));
        assert_eq!(fixture.catalog.mirror_by_id(id).await.expect("read"), Some(mirror));
    }
}

on_both! {
    async fn a_name_is_taken_until_the_mirror_is_dropped(fixture: Fixture) {
        let id = fixture.mirror("m").await;
        let taken = fixture.catalog.create_mirror(&spec("m")).await.expect("answered");
        assert_eq!(taken, MirrorCreated::Exists(MirrorState::Setup));
        fixture.catalog.log("m", &[(LogLevel::Info, "of the first".into())]).await.expect("logged");
        let dropped = fixture.catalog.request("m", |m| step(m.state, m.resume_at, StateRequest::Drop)).await;
        let epoch = dropped.expect("stored").expect("known").expect("moved").epoch;
        fixture.catalog.observe(id, epoch, MirrorState::Terminated, None).await.expect("stored");
        assert!(fixture.catalog.mirrors().await.expect("listed").mirrors.is_empty());
        let MirrorCreated::Done(second) = fixture.catalog.create_mirror(&spec("m")).await.expect("created")
        else { panic!("the name is free") };
        assert!(second > id, "ids are never used again");
        assert_eq!(fixture.catalog.logged_mirrors().await.expect("listed"), ["m"]);
    }
}

on_both! {
    async fn a_mirror_needs_its_peers(fixture: Fixture) {
        let gone = fixture.catalog.create_mirror(&spec("m")).await.expect("answered");
        assert_eq!(gone, MirrorCreated::Gone("source_name"));
    }
}

on_both! {
    async fn a_report_under_an_older_epoch_is_void(fixture: Fixture) {
        let id = fixture.mirror("m").await;
        let seen = fixture.catalog.mirror("m").await.expect("read").expect("there");
        let report = fixture.catalog.observe(id, seen.epoch, MirrorState::Running, None).await;
        assert_eq!(report.expect("stored"), Observed::Stored);
        let paused = fixture.catalog.request("m", |m| step(m.state, m.resume_at, StateRequest::Pause)).await;
        let paused = paused.expect("stored").expect("known").expect("moved");
        assert_eq!((paused.state, paused.desired), (MirrorState::Pausing, DesiredState::Paused));
        let late = fixture.catalog.observe(id, seen.epoch, MirrorState::Running, None).await;
        assert_eq!(late.expect("answered"), Observed::Superseded);
        let rest = fixture.catalog.observe(id, paused.epoch, MirrorState::Paused, None).await;
        assert_eq!(rest.expect("stored"), Observed::Stored);
        let mirror = fixture.catalog.mirror("m").await.expect("read").expect("there");
        assert_eq!((mirror.state, mirror.resume_at), (MirrorState::Paused, MirrorState::Running));
        let resumed = fixture.catalog.request("m", |m| step(m.state, m.resume_at, StateRequest::Resume)).await;
        assert_eq!(resumed.expect("stored").expect("known").expect("moved").state, MirrorState::Running);
        for epoch in [seen.epoch, paused.epoch] {
            let late = fixture.catalog.observe(id, epoch, MirrorState::Failed, None).await;
            assert_eq!(late.expect("answered"), Observed::Superseded, "the move itself would be legal");
        }
    }
}

on_both! {
    async fn a_failure_is_kept_until_the_next_request(fixture: Fixture) {
        let id = fixture.mirror("m").await;
        let failure = Failure::permanent("slot_missing", "gone").with_hint("resync");
        fixture.catalog.observe(id, 1, MirrorState::Failed, Some(&failure)).await.expect("stored");
        let mirror = fixture.catalog.mirror("m").await.expect("read").expect("there");
        assert_eq!((mirror.state, mirror.failure), (MirrorState::Failed, Some(failure)));
        let resumed = fixture.catalog.request("m", |m| step(m.state, m.resume_at, StateRequest::Resume)).await;
        let resumed = resumed.expect("stored").expect("known").expect("moved");
        assert_eq!((resumed.state, resumed.failure), (MirrorState::Setup, None));
    }
}

on_both! {
    async fn an_edit_is_stored_with_the_move_and_cleared_when_done(fixture: Fixture) {
        let id = fixture.mirror("m").await;
        let mut edited = spec("m");
        edited.max_batch_size = 7;
        let pending = PendingEdit { skip_snapshot: true, ..PendingEdit::default() };
        let moved = fixture.catalog.request::<()>("m", |_| Ok(MirrorMove {
            desired: DesiredState::Running,
            state: MirrorState::Modifying,
            edit: Some((edited.clone(), pending.clone())),
            drop_options: None,
        })).await.expect("stored").expect("known").expect("moved");
        let read = fixture.catalog.mirror("m").await.expect("read").expect("there");
        assert_eq!((read.spec.max_batch_size, read.edit.as_ref()), (7, Some(&pending)));
        assert_eq!(read, moved);
        assert_eq!(fixture.catalog.edit_done(id, 1).await.expect("answered"), Observed::Superseded);
        assert_eq!(fixture.catalog.edit_done(id, moved.epoch).await.expect("stored"), Observed::Stored);
        assert_eq!(fixture.catalog.mirror("m").await.expect("read").expect("there").edit, None);
    }
}

on_both! {
    async fn fifty_contradicting_requests_end_in_one_legal_state_with_every_answer_true(fixture: Fixture) {
        let id = fixture.mirror("m").await;
        fixture.catalog.observe(id, 1, MirrorState::Running, None).await.expect("stored");
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..50 {
            let catalog = fixture.catalog.clone();
            let request = if number % 2 == 0 { StateRequest::Pause } else { StateRequest::Drop };
            tasks.spawn(async move {
                let answer = catalog.request("m", |m| step(m.state, m.resume_at, request)).await;
                (request, answer.expect("answered").expect("known"))
            });
        }
        let mut moves = Vec::new();
        while let Some(done) = tasks.join_next().await {
            let (request, answer) = done.expect("no panic");
            match answer {
                Ok(mirror) => moves.push((mirror.epoch, request, mirror.state)),
                Err(Verdict::Already) => {}
                Err(Verdict::Refused { .. }) => assert_eq!(request, StateRequest::Pause),
                Err(Verdict::Move { .. }) => panic!("a move is no answer"),
            }
        }
        moves.sort_by_key(|(epoch, ..)| *epoch);
        let last = fixture.catalog.mirror("m").await.expect("read").expect("there");
        assert_eq!(last.state, MirrorState::Terminating);
        let drops = moves.iter().filter(|(_, request, _)| *request == StateRequest::Drop).count();
        assert_eq!((drops, moves.last().map(|(epoch, ..)| *epoch)), (1, Some(last.epoch)));
    }
}

on_both! {
    async fn dropping_removes_progress_and_statistics_only_when_asked(fixture: Fixture) {
        for (name, drop_mirror_stats) in [("keep", false), ("lose", true)] {
            let id = fixture.mirror(name).await;
            fixture.catalog.begin_load(id, &[("public.users".into(), "users".into())]).await.expect("stored");
            fixture.catalog.begin_batch(id, 1, 10).await.expect("stored");
            let moved = fixture.catalog.request::<()>(name, |_| Ok(MirrorMove {
                desired: DesiredState::Terminated,
                state: MirrorState::Terminating,
                edit: None,
                drop_options: Some(DropOptions { drop_mirror_stats, skip_destination_drop: false }),
            })).await.expect("stored").expect("known").expect("moved");
            fixture.catalog.observe(id, moved.epoch, MirrorState::Terminated, None).await.expect("stored");
            assert!(fixture.catalog.loads(id).await.expect("read").is_empty());
            let batches = fixture.catalog.batches(id, Default::default()).await.expect("read").batches;
            assert_eq!(batches.is_empty(), drop_mirror_stats);
        }
    }
}

on_both! {
    async fn a_slot_serves_one_mirror_until_that_is_dropped(fixture: Fixture) {
        let id = fixture.mirror("first").await;
        let second = MirrorSpec { replication_slot_name: spec("first").slot(), ..spec("second") };
        let taken = fixture.catalog.create_mirror(&second).await.expect("answered");
        assert_eq!(taken, MirrorCreated::SlotTaken("first".into()));
        let dropped = fixture.catalog.request("first", |m| step(m.state, m.resume_at, StateRequest::Drop)).await;
        let epoch = dropped.expect("stored").expect("known").expect("moved").epoch;
        fixture.catalog.observe(id, epoch, MirrorState::Terminated, None).await.expect("stored");
        let free = fixture.catalog.create_mirror(&second).await.expect("answered");
        assert!(matches!(free, MirrorCreated::Done(_)), "{free:?}");
    }
}

/// A mirror that a later version wrote, or a disk damaged, is no trouble of the others (B241).
#[tokio::test]
async fn a_mirror_that_cannot_be_read_leaves_the_others_readable() {
    let fixture = Fixture::sqlite().await;
    let (bad, good) = (fixture.mirror("bad").await, fixture.mirror("good").await);
    fixture.execute("UPDATE mirrors SET spec = 'no JSON' WHERE name = 'bad'").await;
    let list = fixture.catalog.mirrors().await.expect("listed");
    assert_eq!(list.mirrors.iter().map(|mirror| mirror.id).collect::<Vec<_>>(), [good]);
    assert_eq!(list.unreadable.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [bad]);
}
