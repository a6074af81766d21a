use tarn_model::{PlanStep, StepKind, TablePlan};

use crate::fixture::{Fixture, on_both};

fn plan(table: &str, statement: &str) -> TablePlan {
    let step = PlanStep {
        kind: StepKind::Add,
        column: "a".into(),
        source: "a".into(),
        detail: "new".into(),
        statements: vec![statement.into()],
        warning: String::new(),
    };
    TablePlan { table: table.into(), target: "t".into(), steps: vec![step], ..TablePlan::default() }
}

on_both! {
    async fn an_approval_holds_for_its_change_until_another_one_of_the_table_comes(fixture: Fixture) {
        let catalog = &fixture.catalog;
        let (one, other) = (fixture.mirror("one").await, fixture.mirror("other").await);
        let first = catalog.keep_schema_change(one, &plan("public.t", "first")).await.expect("kept");
        assert!(!catalog.approve_schema_change(other, &first).await.expect("looked"));
        assert!(catalog.approve_schema_change(one, &first).await.expect("approved"));
        // It comes again, as after a crash.
        assert_eq!(catalog.keep_schema_change(one, &plan("public.t", "first")).await.expect("kept"), first);
        let changes = catalog.schema_changes(one).await.expect("read");
        assert_eq!((changes.len(), changes[0].approved), (1, true));
        assert_eq!(changes[0].plan, plan("public.t", "first"));
        let second = catalog.keep_schema_change(one, &plan("public.t", "second")).await.expect("kept");
        let changes = catalog.schema_changes(one).await.expect("read");
        assert_eq!((changes.len(), changes[0].approved, &changes[0].digest), (1, false, &second));
        assert!(!catalog.approve_schema_change(one, &first).await.expect("looked"));
        catalog.keep_schema_change(one, &plan("public.u", "first")).await.expect("kept");
        catalog.forget_schema_change(one, "public.t").await.expect("forgotten");
        let tables = catalog.schema_changes(one).await.expect("read").into_iter().map(|change| change.plan.table);
        assert_eq!(tables.collect::<Vec<_>>(), ["public.u"]);
        catalog.forget_schema_changes(one).await.expect("forgotten");
        assert_eq!(catalog.schema_changes(one).await.expect("read"), []);
    }
}
