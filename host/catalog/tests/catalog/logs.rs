use tarn_catalog::LogQuery;
use tarn_model::LogLevel;

use crate::fixture::{Fixture, on_both};

async fn with_entries(fixture: &Fixture) {
    for number in 1..=6 {
        let mirror = if number % 2 == 0 { "even" } else { "odd" };
        let level = if number == 3 { LogLevel::Error } else { LogLevel::Info };
        fixture.catalog.log(mirror, &[(level, format!("entry {number}"))]).await.expect("logged");
    }
}

on_both! {
    async fn entries_are_filtered_and_newest_first(fixture: Fixture) {
        with_entries(&fixture).await;
        let all = LogQuery { limit: 100, ..LogQuery::default() };
        let odd = LogQuery { mirror: "odd".into(), ..all.clone() };
        for (query, ids, total) in [
            (all.clone(), vec![6, 5, 4, 3, 2, 1], 6),
            (odd.clone(), vec![5, 3, 1], 3),
            (LogQuery { mirror: "od".into(), ..all.clone() }, vec![], 0),
            (LogQuery { level: Some(LogLevel::Error), ..all.clone() }, vec![3], 1),
            (LogQuery { level: Some(LogLevel::Warn), ..odd.clone() }, vec![], 0),
            (LogQuery { before: Some(3), ..all.clone() }, vec![2, 1], 6),
            (LogQuery { after: Some(3), ..all.clone() }, vec![6, 5, 4], 6),
            (LogQuery { after: Some(1), before: Some(4), ..all.clone() }, vec![3, 2], 6),
            (LogQuery { limit: 2, ..all.clone() }, vec![6, 5], 6),
            (LogQuery { limit: 2, offset: 2, ..all.clone() }, vec![4, 3], 6),
            (LogQuery { limit: 2, after: Some(1), ..all.clone() }, vec![3, 2], 6),
            (LogQuery { limit: 0, ..all.clone() }, vec![], 6),
        ] {
            let page = fixture.catalog.logs(&query).await.expect("listed");
            let found: Vec<_> = page.entries.iter().map(|entry| entry.id).collect();
            assert_eq!((found, page.total), (ids, total), "{query:?}");
        }
        let page = fixture.catalog.logs(&LogQuery { before: Some(4), ..odd }).await.expect("listed");
        assert_eq!((page.entries[0].message.as_str(), page.skipped), ("entry 3", 1));
    }
}

on_both! {
    async fn the_log_is_bounded_per_mirror(fixture: Fixture) {
        fixture.catalog.log("quiet", &[(LogLevel::Info, "kept".into())]).await.expect("logged");
        let block: Vec<_> = (0..1000).map(|number| (LogLevel::Warn, format!("{number}"))).collect();
        for _ in 0..11 {
            fixture.catalog.log("loud", &block).await.expect("logged");
        }
        let query = |mirror: &str| LogQuery { mirror: mirror.into(), ..LogQuery::default() };
        assert_eq!(fixture.catalog.logs(&query("quiet")).await.expect("listed").total, 1);
        let loud = fixture.catalog.logs(&query("loud")).await.expect("listed").total;
        assert!((10_000..10_100).contains(&loud), "{loud}");
    }
}

on_both! {
    async fn a_mirror_is_bounded_whoever_writes_beside_it(fixture: Fixture) {
        let block: Vec<_> = (0..99).map(|number| (LogLevel::Warn, format!("{number}"))).collect();
        for _ in 0..103 {
            fixture.catalog.log("loud", &block).await.expect("logged");
            fixture.catalog.log("beside", &[(LogLevel::Info, "each hundredth".into())]).await.expect("logged");
        }
        let query = LogQuery { mirror: "loud".into(), ..LogQuery::default() };
        let loud = fixture.catalog.logs(&query).await.expect("listed").total;
        assert!((10_000..10_100).contains(&loud), "{loud}");
    }
}

on_both! {
    async fn a_long_message_is_cut_at_a_character(fixture: Fixture) {
        let long = format!("a{}\0", "é".repeat(10_000));
        fixture.catalog.log("m", &[(LogLevel::Info, long), (LogLevel::Info, "a\0b".into())]).await.expect("logged");
        let query = LogQuery { limit: 2, ..LogQuery::default() };
        let entries = fixture.catalog.logs(&query).await.expect("listed").entries;
        assert!(entries[1].message.ends_with("é…") && entries[1].message.len() <= 8 * 1024 + 3);
        assert_eq!(entries[0].message, "a\u{fffd}b");
    }
}
