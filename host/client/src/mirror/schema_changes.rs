//! `tarn mirror plan`, `approve` and `refuse`: what changes of columns would do, and what becomes of them.

use std::fmt::Write as _;

use clap::Args;
use serde_json::{Value, json};
use tarn_model::{Enumerated as _, MirrorState, TablePlan};

use super::view::second;
use crate::answer::{Approved, MirrorValid, SchemaChange, SchemaChanges};
use crate::calls::{Within, mirror_body};
use crate::error::Error;
use crate::http::Client;
use crate::output::Report;
use crate::table::{Table, one_line};

/// What is approved, or refused.
#[derive(Debug, Args)]
pub struct DecideArgs {
    /// The mirror.
    name: String,
    /// The change by its digest, as `tarn mirror plan` shows it; every change that waits now by default.
    #[arg(long, value_name = "DIGEST")]
    digest: Option<String>,
}

/// What the source's columns ask for now, and what the mirror waits at.
pub(super) async fn plan(client: &Client, name: &str) -> Result<Report, Error> {
    let spec = client.mirror_status(name).await?.cdc_status.config;
    let body = mirror_body(&spec, &json!({"attach_to_existing": true}));
    let answer = client.post("mirrors/cdc/validate", &body).await?;
    let MirrorValid { plans } = client.read(&answer)?;
    let waiting = client.get(&format!("mirrors/schema_changes/{name}")).await?;
    let SchemaChanges { changes } = client.read(&waiting)?;
    let mut text = planned(name, &plans);
    for change in &changes {
        let _fits = write!(text, "\n{}", described(change));
    }
    let programs = json!({"plans": answer["plans"], "changes": waiting["changes"]});
    Ok(Report::new(text, programs))
}

/// What would be done for the source's columns of now.
fn planned(name: &str, plans: &[TablePlan]) -> String {
    match plans {
        // Every table of a destination that has columns has a plan.
        [] => format!("mirror {name} writes messages, which have no columns to change: nothing waits\n"),
        plans => shown(plans),
    }
}

/// The plans of tables as a table with a row for each statement; a sentence where nothing is to be done.
pub(super) fn shown(plans: &[TablePlan]) -> String {
    let mut table = Table::new(&["TABLE", "TARGET", "STEP", "COLUMN", "WHAT", "STATEMENT"]);
    let mut notes = String::new();
    let mut rows = 0;
    for plan in plans {
        for step in &plan.steps {
            let mut told = [
                plan.table.clone(),
                plan.target.clone(),
                step.kind.name().to_owned(),
                step.column.clone(),
                step.detail.clone(),
            ];
            let statements: &[String] =
                if step.statements.is_empty() { &[String::new()] } else { &step.statements };
            for statement in statements {
                table.row(told.iter().cloned().chain([statement.clone()]));
                told = Default::default();
                rows += 1;
            }
            if !step.warning.is_empty() {
                let _fits = writeln!(notes, "{}: {}", plan.table, one_line(&step.warning));
            }
        }
        if !plan.refused.is_empty() {
            let _fits =
                writeln!(notes, "{} is refused: {}; {}", plan.table, one_line(&plan.refused), plan.hint);
        }
    }
    match (rows, notes.as_str()) {
        (0, "") => "the destination's tables have the source's columns\n".to_owned(),
        (0, notes) => notes.to_owned(),
        (_, "") => table.render(),
        (_, notes) => format!("{}\n{notes}", table.render()),
    }
}

/// A change that a mirror stopped at.
fn described(change: &SchemaChange) -> String {
    let state = if change.approved { "is approved" } else { "waits for approval" };
    let SchemaChange { digest, plan, noticed_at, .. } = change;
    format!(
        "change {digest} of {} {state} (since {})\n{}",
        plan.table,
        second(noticed_at),
        shown(std::slice::from_ref(plan))
    )
}

/// What becomes of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// It is made.
    Approve,
    /// The destination's table stays as it is.
    Refuse,
}

impl Decision {
    fn path(self) -> &'static str {
        match self {
            Self::Approve => "mirrors/approve_schema_change",
            Self::Refuse => "mirrors/refuse_schema_change",
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::Approve => "approved",
            Self::Refuse => "refused",
        }
    }
}

impl DecideArgs {
    pub(super) async fn run(self, client: &Client, decision: Decision) -> Result<Report, Error> {
        let Self { name, digest } = self;
        let listed = client.get(&format!("mirrors/schema_changes/{name}")).await?;
        let SchemaChanges { changes } = client.read(&listed)?;
        let digests: Vec<String> = match digest {
            Some(digest) => vec![digest],
            None => {
                changes.iter().filter(|change| !change.approved).map(|change| change.digest.clone()).collect()
            }
        };
        if digests.is_empty() {
            return Err(Error::Failed(format!("mirror {name} waits at no change of columns")));
        }
        let mut text = String::new();
        let mut answers = Vec::new();
        for digest in digests {
            if decision == Decision::Refuse {
                // A change is there to be seen before the mirror has stopped at it; and after a refusal it comes to the next.
                client.wait_for(&name, "stop at the change", Within::Deadline, at_rest).await?;
            }
            let body = json!({"flow_job_name": name, "digest": digest});
            let answer = client.post(decision.path(), &body).await?;
            let Approved { change, waiting, resumed } = client.read(&answer)?;
            let rest = match (resumed, waiting) {
                (true, _) => format!("mirror {name} goes on"),
                (false, 0) => format!("mirror {name} makes it when it comes to it"),
                (false, waiting) => format!("{waiting} more wait"),
            };
            let done = decision.done();
            let _fits = writeln!(text, "{done} the change {digest} of {}; {rest}", change.plan.table);
            answers.push(answer);
        }
        Ok(Report::new(text, Value::from(answers)))
    }
}

/// Whether an edit is taken.
fn at_rest(state: MirrorState) -> bool {
    matches!(state, MirrorState::Paused | MirrorState::Failed)
}

/// What a validation found, with what would be done.
pub(super) fn validated(name: &str, plans: &[TablePlan], answer: Value) -> Report {
    let text = match plans {
        [] => format!("mirror {name} can be created\n"),
        plans => format!("mirror {name} can be created\n\n{}", shown(plans)),
    };
    Report::new(text, answer)
}

#[cfg(test)]
mod tests {
    use tarn_model::{PlanStep, StepKind};

    use super::*;

    #[test]
    fn a_plan_is_a_table_with_a_row_for_each_statement_and_what_to_know_below_it() {
        let step = |kind, column: &str, statements: &[&str], warning: &str| PlanStep {
            kind,
            column: column.into(),
            source: column.into(),
            detail: "new".into(),
            statements: statements.iter().map(|&text| text.into()).collect(),
            warning: warning.into(),
        };
        let steps = vec![
            step(StepKind::Add, "a", &["ALTER 1"], ""),
            step(StepKind::Beside, "b_string", &["ALTER 2", "ALTER 3"], "b keeps\nits values"),
            step(StepKind::Keep, "c", &[], ""),
        ];
        let plan = TablePlan { table: "public.t".into(), target: "t".into(), steps, ..TablePlan::default() };
        let refused = TablePlan {
            table: "public.u".into(),
            refused: "column id is part of the sorting key".into(),
            hint: "resync".into(),
            ..TablePlan::default()
        };
        let expected = "\
TABLE     TARGET  STEP    COLUMN    WHAT  STATEMENT
public.t  t       ADD     a         new   ALTER 1
public.t  t       BESIDE  b_string  new   ALTER 2
                                          ALTER 3
public.t  t       KEEP    c         new

public.t: b keeps its values
public.u is refused: column id is part of the sorting key; resync
";
        assert_eq!(shown(&[plan, refused]), expected);
        assert!(planned("feed", &[]).starts_with("mirror feed writes messages"));
        assert_eq!(
            planned("t", &[TablePlan::default()]),
            "the destination's tables have the source's columns\n"
        );
    }
}
