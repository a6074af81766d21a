//! Dead letters: kept once, sealed, bounded, settled for good.

use tarn_catalog::{Catalog, LetterQuery, LettersKept, MirrorMove, NewLetter, WaitingLetter};
use tarn_model::{DeadLetterState, DesiredState, DropOptions, MirrorState, RecordStage, Timestamp};

use crate::fixture::{Fixture, on_both};

/// The letters that wait, each with its record.
async fn waiting(catalog: &Catalog, mirror: i64) -> Vec<WaitingLetter> {
    let mut waiting = Vec::new();
    for letter in catalog.waiting_letters(mirror, &[], 9).await.expect("read") {
        waiting.push(catalog.waiting_letter(mirror, letter.id).await.expect("read").expect("it waits"));
    }
    waiting
}

const ROOM: u64 = 1 << 20;

fn letter(identity: &str, position: u64, key: &str) -> NewLetter {
    NewLetter {
        identity: identity.into(),
        row_keys: vec![key.into()],
        table: "public.users".into(),
        key: "id=1".into(),
        kind: "update".into(),
        stage: RecordStage::Script,
        position,
        ordinal: 2,
        commit_time: Some(Timestamp::from_micros(7)),
        script: "mask".into(),
        script_version: 3,
        line: 4,
        function: "clean".into(),
        message: "no country".into(),
        log_lines: vec!["one".into(), "two".into()],
        record: b"planted-row-value".to_vec(),
    }
}

fn every(state: Option<DeadLetterState>) -> LetterQuery {
    LetterQuery { state, after: 0, limit: 100 }
}

on_both! {
    async fn a_letter_reads_back_as_it_was_kept(fixture: Fixture) {
        let (catalog, mirror) = (&fixture.catalog, fixture.mirror("m").await);
        let kept = catalog.keep_letters(mirror, &[letter("a", 10, "k")], ROOM).await.expect("kept");
        assert_eq!(kept, LettersKept::Done);
        let waiting = waiting(catalog, mirror).await.remove(0);
        assert_eq!((waiting.record.as_slice(), &waiting.row_keys[..]), (&b"planted-row-value"[..], &["k".to_owned()][..]));
        let found = waiting.letter;
        assert_eq!((found.position, found.ordinal, found.commit_time), (10, 2, Some(Timestamp::from_micros(7))));
        assert_eq!((found.script.as_str(), found.script_version, found.line, found.function.as_str()), ("mask", 3, 4, "clean"));
        assert_eq!((found.table.as_str(), found.key.as_str(), found.kind.as_str()), ("public.users", "id=1", "update"));
        assert_eq!((found.message.as_str(), found.log_lines.join(",").as_str()), ("no country", "one,two"));
        assert_eq!((found.state, found.stage, found.settled_at), (DeadLetterState::Waiting, RecordStage::Script, None));
    }
}

on_both! {
    async fn a_record_that_comes_again_is_the_same_letter(fixture: Fixture) {
        let (catalog, mirror) = (&fixture.catalog, fixture.mirror("m").await);
        for message in ["first", "second"] {
            let again = NewLetter { message: message.into(), ..letter("a", 10, "k") };
            catalog.keep_letters(mirror, &[again], ROOM).await.expect("kept");
        }
        let letters = catalog.letters(mirror, every(None)).await.expect("read");
        let messages: Vec<_> = letters.iter().map(|letter| letter.message.as_str()).collect();
        assert_eq!(messages, ["second"]);
        // What was settled stays so.
        let ids = [letters[0].id];
        let settled = catalog.settle_letters(mirror, &ids, DeadLetterState::Replayed).await.expect("settled");
        assert_eq!(settled.iter().map(|mark| mark.identity.as_str()).collect::<Vec<_>>(), ["a"]);
        catalog.keep_letters(mirror, &[letter("a", 10, "k")], ROOM).await.expect("kept");
        assert!(catalog.settle_letters(mirror, &ids, DeadLetterState::Discarded).await.expect("answered").is_empty());
        assert!(catalog.letter_marks(mirror).await.expect("read").is_empty());
        let errors = catalog.record_errors(mirror).await.expect("read");
        assert_eq!((errors.waiting, errors.replayed, errors.bytes), (0, 1, 0));
    }
}

on_both! {
    async fn a_row_that_a_later_load_reads_waits_again_though_its_letter_was_settled(fixture: Fixture) {
        let (catalog, mirror) = (&fixture.catalog, fixture.mirror("m").await);
        for (position, state) in [(10, DeadLetterState::Replayed), (20, DeadLetterState::Discarded)] {
            catalog.keep_letters(mirror, &[letter("a", position, "k")], ROOM).await.expect("kept");
            let waiting = waiting(catalog, mirror).await.remove(0);
            assert_eq!((waiting.letter.position, waiting.letter.settled_at), (position, None));
            assert_eq!(waiting.record, b"planted-row-value");
            catalog.settle_letters(mirror, &[waiting.letter.id], state).await.expect("settled");
        }
        catalog.keep_letters(mirror, &[letter("a", 30, "k")], ROOM).await.expect("kept");
        assert_eq!(catalog.letter_marks(mirror).await.expect("read").len(), 1);
        // Of an earlier load nothing is left to come.
        catalog.keep_letters(mirror, &[letter("a", 20, "k")], ROOM).await.expect("kept");
        assert_eq!(catalog.waiting_letters(mirror, &[], 9).await.expect("read")[0].position, 30);
    }
}

on_both! {
    async fn letters_that_do_not_fit_are_refused_all_together(fixture: Fixture) {
        let (catalog, mirror) = (&fixture.catalog, fixture.mirror("m").await);
        let large = |identity: &str| NewLetter { record: vec![7; 4_000], ..letter(identity, 10, "k") };
        catalog.keep_letters(mirror, &[large("a")], 10_000).await.expect("kept");
        let before = catalog.record_errors(mirror).await.expect("read");
        let kept = catalog.keep_letters(mirror, &[large("b"), large("c")], 10_000).await.expect("answered");
        assert!(matches!(kept, LettersKept::Full { bytes } if bytes == before.bytes), "{kept:?}");
        assert_eq!(catalog.record_errors(mirror).await.expect("read"), before);
        // Another mirror has room of its own.
        let other = fixture.mirror("other").await;
        assert_eq!(catalog.keep_letters(other, &[large("a")], 10_000).await.expect("kept"), LettersKept::Done);
    }
}

on_both! {
    async fn letters_come_in_the_order_of_their_records_and_wait_for_earlier_ones(fixture: Fixture) {
        let (catalog, mirror) = (&fixture.catalog, fixture.mirror("m").await);
        let letters = [letter("late", 30, "k"), letter("early", 10, "k"), letter("apart", 20, "other")];
        catalog.keep_letters(mirror, &letters, ROOM).await.expect("kept");
        let waiting = waiting(catalog, mirror).await;
        let positions: Vec<_> = waiting.iter().map(|waiting| waiting.letter.position).collect();
        assert_eq!(positions, [10, 20, 30]);
        for (waiting, waits) in waiting.iter().zip([false, false, true]) {
            assert_eq!(catalog.waits_for_earlier(mirror, waiting).await.expect("read"), waits);
        }
    }
}

on_both! {
    async fn an_emptied_table_voids_its_older_letters(fixture: Fixture) {
        let (catalog, mirror) = (&fixture.catalog, fixture.mirror("m").await);
        let elsewhere = NewLetter { table: "public.t".into(), ..letter("elsewhere", 5, "x") };
        let letters = [letter("older", 10, "k"), letter("newer", 30, "k"), elsewhere];
        catalog.keep_letters(mirror, &letters, ROOM).await.expect("kept");
        let void = catalog.void_letters(mirror, Some("public.users"), Some((20, 0))).await.expect("void");
        assert_eq!(void.iter().map(|mark| mark.identity.as_str()).collect::<Vec<_>>(), ["older"]);
        let discarded = catalog.letters(mirror, every(Some(DeadLetterState::Discarded))).await.expect("read");
        assert_eq!(discarded.len(), 1);
        assert_eq!(catalog.letter(mirror, discarded[0].id).await.expect("read").expect("there").1, None);
        catalog.withdraw_letters(mirror, &["newer".to_owned()]).await.expect("withdrawn");
        assert_eq!(catalog.void_letters(mirror, None, None).await.expect("void").len(), 1);
    }
}

on_both! {
    async fn what_is_left_of_letters_that_are_void_is_bounded(fixture: Fixture) {
        const SETTLED_MAX: u64 = 10_000;
        let (catalog, mirror) = (&fixture.catalog, fixture.mirror("m").await);
        for many in [SETTLED_MAX, 7] {
            let small = |at| NewLetter { record: Vec::new(), ..letter(&format!("{many} {at}"), 10, "k") };
            let letters: Vec<_> = (0..many).map(small).collect();
            catalog.keep_letters(mirror, &letters, 1 << 30).await.expect("kept");
            catalog.void_letters(mirror, None, None).await.expect("void");
        }
        assert_eq!(catalog.record_errors(mirror).await.expect("read").discarded, SETTLED_MAX);
        let oldest = catalog.letters(mirror, every(None)).await.expect("read")[0].id;
        assert_eq!(oldest, 8, "the oldest went");
    }
}

on_both! {
    async fn records_are_sealed_anew_with_everything_else(fixture: Fixture) {
        let mirror = fixture.mirror("m").await;
        let letters = [letter("a", 10, "k"), letter("b", 11, "k")];
        fixture.catalog.keep_letters(mirror, &letters, ROOM).await.expect("kept");
        let (fixture, rotation) = fixture.rotated().await;
        assert_eq!(rotation.resealed, 4, "two peers and two letters");
        let waiting = waiting(&fixture.catalog, mirror).await;
        assert!(waiting.iter().all(|waiting| waiting.record == b"planted-row-value"));
    }
}

on_both! {
    async fn skipped_records_add_up_and_a_drop_with_statistics_forgets_all(fixture: Fixture) {
        let (catalog, mirror) = (&fixture.catalog, fixture.mirror("m").await);
        for count in [2, 3] {
            catalog.count_skipped(mirror, count).await.expect("counted");
        }
        catalog.keep_letters(mirror, &[letter("a", 10, "k")], ROOM).await.expect("kept");
        assert_eq!(catalog.record_errors(mirror).await.expect("read").skipped, 5);
        let moved = catalog.request::<()>("m", |_| Ok(MirrorMove {
            desired: DesiredState::Terminated,
            state: MirrorState::Terminating,
            edit: None,
            drop_options: Some(DropOptions { drop_mirror_stats: true, ..DropOptions::default() }),
        })).await.expect("stored").expect("known").expect("moved");
        catalog.observe(mirror, moved.epoch, MirrorState::Terminated, None).await.expect("stored");
        let errors = catalog.record_errors(mirror).await.expect("read");
        assert_eq!((errors.skipped, errors.waiting), (0, 0));
    }
}

#[tokio::test]
async fn no_record_lies_in_the_clear_on_the_disk() {
    let fixture = Fixture::sqlite().await;
    let mirror = fixture.mirror("m").await;
    fixture.catalog.keep_letters(mirror, &[letter("a", 10, "k")], ROOM).await.expect("kept");
    fixture.catalog.close().await;
    let bytes = fixture.bytes_on_disk();
    use base64::Engine as _;
    let coded = base64::engine::general_purpose::STANDARD.encode(b"planted-row-value");
    for clear in [b"planted-row-value".as_slice(), coded.as_bytes()] {
        assert!(!bytes.windows(clear.len()).any(|window| window == clear));
    }
}
