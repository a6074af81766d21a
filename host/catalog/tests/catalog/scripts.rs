use tarn_catalog::{NewScript, ScriptDropped, ScriptStored};
use tarn_model::{ScriptLanguage, ScriptReference};

use crate::fixture::{Fixture, clickhouse_peer, on_both, postgres_peer, spec};

fn lua(name: &str, source: &str) -> NewScript {
    NewScript {
        name: name.into(),
        language: ScriptLanguage::Lua,
        source: source.into(),
        component: format!("\0component of {source}").into_bytes(),
        tests: String::new(),
        created_by: String::new(),
        rolled_back_from: None,
        follows: None,
    }
}

fn reference(text: &str) -> ScriptReference {
    ScriptReference::parse(text).expect("a reference")
}

on_both! {
    async fn every_update_makes_a_version_and_old_ones_stay(fixture: Fixture) {
        let catalog = &fixture.catalog;
        assert_eq!(catalog.store_script(None, &lua("mask", "one")).await.expect("stored"), ScriptStored::Done(1));
        assert_eq!(catalog.store_script(Some(1), &lua("mask", "two")).await.expect("stored"), ScriptStored::Done(1));
        let newest = catalog.script(&reference("mask")).await.expect("read").expect("there");
        assert_eq!((newest.version, newest.source.as_str()), (2, "two"));
        let pinned = catalog.script(&reference("mask@1")).await.expect("read").expect("there");
        assert_eq!((pinned.version, pinned.source.as_str()), (1, "one"));
        assert_eq!(catalog.script(&reference("mask@3")).await.expect("read"), None);
        let versions: Vec<_> = catalog.script_versions(1).await.expect("read").iter().map(|s| s.version).collect();
        assert_eq!(versions, [2, 1]);
        let component = catalog.component(&pinned.digest).await.expect("read").expect("there");
        assert_eq!(component, b"\0component of one");
    }
}

on_both! {
    async fn a_version_that_was_made_from_an_older_one_is_not_stored(fixture: Fixture) {
        let catalog = &fixture.catalog;
        let store = async |source: &str, follows| {
            let script = NewScript { follows, ..lua("mask", source) };
            catalog.store_script(Some(1), &script).await.expect("answered")
        };
        catalog.store_script(None, &lua("mask", "one")).await.expect("stored");
        assert_eq!(store("two", Some(1)).await, ScriptStored::Done(1));
        assert_eq!(store("three", Some(1)).await, ScriptStored::Overtaken);
        assert_eq!(store("three", None).await, ScriptStored::Done(1));
        let version = async |version| catalog.script_version(1, version).await.expect("read").map(|script| script.source);
        assert_eq!(version(2).await.as_deref(), Some("two"));
        assert_eq!(version(3).await.as_deref(), Some("three"));
        assert_eq!(version(4).await, None);
    }
}

on_both! {
    async fn a_version_keeps_its_cases_who_stored_it_and_what_it_took_up_again(fixture: Fixture) {
        let catalog = &fixture.catalog;
        let first = NewScript { tests: "cases".into(), created_by: "ann".into(), ..lua("mask", "one") };
        catalog.store_script(None, &first).await.expect("stored");
        catalog.store_script(Some(1), &lua("mask", "two")).await.expect("stored");
        let again = NewScript { created_by: "eva".into(), rolled_back_from: Some(1), ..first };
        catalog.store_script(Some(1), &again).await.expect("stored");
        let versions = catalog.script_versions(1).await.expect("read");
        let kept: Vec<_> = versions
            .iter()
            .map(|script| (script.version, script.tests.as_str(), script.created_by.as_str(), script.rolled_back_from))
            .collect();
        assert_eq!(kept, [(3, "cases", "eva", Some(1)), (2, "", "", None), (1, "cases", "ann", None)]);
    }
}

on_both! {
    async fn names_are_unique_and_ids_must_exist(fixture: Fixture) {
        let catalog = &fixture.catalog;
        for (id, name, stored) in [
            (None, "a", ScriptStored::Done(1)),
            (None, "a", ScriptStored::NameTaken),
            (None, "b", ScriptStored::Done(2)),
            (Some(2), "a", ScriptStored::NameTaken),
            (Some(2), "c", ScriptStored::Done(2)),
            (Some(9), "d", ScriptStored::Unknown),
        ] {
            assert_eq!(catalog.store_script(id, &lua(name, "x")).await.expect("answered"), stored, "{id:?} {name}");
        }
        let listed: Vec<_> = catalog.scripts(None).await.expect("read").into_iter().map(|s| (s.id, s.name)).collect();
        assert_eq!(listed, [(1, "a".into()), (2, "c".into())]);
        assert!(catalog.scripts(Some(7)).await.expect("read").is_empty());
    }
}

on_both! {
    async fn a_script_in_use_keeps_its_name_and_stays(fixture: Fixture) {
        let catalog = &fixture.catalog;
        catalog.store_script(None, &lua("mask", "one")).await.expect("stored");
        for peer in [postgres_peer("pg", ""), clickhouse_peer("ch")] {
            fixture.peer(&peer).await;
        }
        let mut with_script = spec("m");
        with_script.script = "mask@1".into();
        catalog.create_mirror(&with_script).await.expect("created");
        let renamed = catalog.store_script(Some(1), &lua("hide", "one")).await.expect("answered");
        assert_eq!(renamed, ScriptStored::NameInUse);
        let dropped = catalog.drop_script(1).await.expect("answered");
        assert_eq!(dropped, ScriptDropped::InUse(vec!["m".into()]));
        catalog.store_script(None, &lua("spare", "two")).await.expect("stored");
        let digest = catalog.script(&reference("spare")).await.expect("read").expect("there").digest;
        assert_eq!(catalog.drop_script(2).await.expect("dropped"), ScriptDropped::Done);
        assert_eq!(catalog.component(&digest).await.expect("read"), None);
        assert_eq!(catalog.drop_script(2).await.expect("answered"), ScriptDropped::Unknown);
    }
}

on_both! {
    async fn every_script_of_a_chain_is_in_use(fixture: Fixture) {
        let catalog = &fixture.catalog;
        for name in ["mask", "route", "spare"] {
            catalog.store_script(None, &lua(name, name)).await.expect("stored");
        }
        for peer in [postgres_peer("pg", ""), clickhouse_peer("ch")] {
            fixture.peer(&peer).await;
        }
        let mut chained = spec("m");
        chained.script = "mask, route@1".into();
        catalog.create_mirror(&chained).await.expect("created");
        for id in [1, 2] {
            assert_eq!(catalog.drop_script(id).await.expect("answered"), ScriptDropped::InUse(vec!["m".into()]));
        }
        assert_eq!(catalog.drop_script(3).await.expect("dropped"), ScriptDropped::Done);
        chained = spec("n");
        chained.script = "mask,spare".into();
        let gone = catalog.create_mirror(&chained).await.expect("answered");
        assert_eq!(gone, tarn_catalog::MirrorCreated::Gone("script"));
    }
}
