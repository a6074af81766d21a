//! Changes of columns at the source, and what is done about them at the destination.

use serde::{Deserialize, Serialize};

use crate::enumerated::{Enumerated, serde_by_name};
use crate::mirror::{ColumnMapping, TableMapping};
use crate::timestamp::Timestamp;

/// What a mirror does where columns changed at the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SchemaChangePolicy {
    /// The destination's table is changed as well, and the stream goes on.
    #[default]
    Apply,
    /// The mirror stops before its destination's table is changed, until a person approves.
    Ask,
}

impl Enumerated for SchemaChangePolicy {
    const EXPECTED: &'static str = "a policy for changes of columns";
    const ALL: &'static [(Self, u32, &'static str)] = &[(Self::Apply, 1, "APPLY"), (Self::Ask, 2, "ASK")];
}

serde_by_name!(SchemaChangePolicy);

/// What a step of a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// The table is made.
    Create,
    /// A column is added.
    Add,
    /// A column gets another name, as it did at the source.
    Rename,
    /// A column whose name went to another one of the source's gets a name of its own.
    SetAside,
    /// A column gets a type that holds more.
    Widen,
    /// A column is added beside one whose type cannot hold what the source's has now.
    Beside,
    /// A column stays as it is: it left the source, or cannot have the name that it has there.
    Keep,
}

impl Enumerated for StepKind {
    const EXPECTED: &'static str = "a step of a plan";
    const ALL: &'static [(Self, u32, &'static str)] = &[
        (Self::Create, 1, "CREATE"),
        (Self::Add, 2, "ADD"),
        (Self::Rename, 3, "RENAME"),
        (Self::SetAside, 4, "SET_ASIDE"),
        (Self::Widen, 5, "WIDEN"),
        (Self::Beside, 6, "BESIDE"),
        (Self::Keep, 7, "KEEP"),
    ];
}

serde_by_name!(StepKind);

/// What is done to one table of a destination.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct TablePlan {
    /// `schema.name` at the source.
    pub table: String,
    /// Its name at the destination.
    pub target: String,
    /// In their order; none where the table is as it should be.
    pub steps: Vec<PlanStep>,
    /// Why the table cannot be brought to what the source has; empty where it can. Nothing is done to it then.
    pub refused: String,
    /// What a person does about that.
    pub hint: String,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PlanStep {
    /// What it is.
    pub kind: StepKind,
    /// The column of the destination that it concerns; empty where it is the table.
    #[serde(default)]
    pub column: String,
    /// The source's column that it is for; empty where there is none, or none any more.
    #[serde(default)]
    pub source: String,
    /// What becomes of the column and of the rows that are there.
    #[serde(default)]
    pub detail: String,
    /// What is run, in this order; none where nothing has to be done.
    #[serde(default)]
    pub statements: Vec<String>,
    /// What a person has to know of it; empty for nothing.
    #[serde(default)]
    pub warning: String,
}

impl TablePlan {
    /// What is run, in order.
    pub fn statements(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().flat_map(|step| &step.statements).map(String::as_str)
    }

    /// The steps that change something, for people: `ADD price: new, …`.
    pub fn changes(&self) -> String {
        let steps = self.steps.iter().filter(|step| !step.statements.is_empty());
        let told = steps.map(|step| match step.column.as_str() {
            "" => format!("{}: {}", step.kind.name(), step.detail),
            column => format!("{} {column}: {}", step.kind.name(), step.detail),
        });
        told.collect::<Vec<_>>().join("; ")
    }

    /// The mapping of its table under which nothing of it is done: columns that are new are left out, and those that were
    /// renamed keep their names at the destination.
    ///
    /// # Errors
    /// Why the table cannot stay as it is.
    pub fn refused_by(&self, mapping: &TableMapping) -> Result<TableMapping, String> {
        let mut refusing = mapping.clone();
        let is_set_aside = self.steps.iter().any(|step| step.kind == StepKind::SetAside);
        for step in self.steps.iter().filter(|step| !step.statements.is_empty()) {
            match step.kind {
                StepKind::Add if !step.source.is_empty() => {
                    refusing.columns.retain(|column| column.source_name != step.source);
                    refusing.exclude.push(step.source.clone());
                }
                StepKind::Rename if !is_set_aside && !step.source.is_empty() => {
                    let mut column = refusing.columns.iter().find(|column| column.source_name == step.source);
                    let renamed = ColumnMapping {
                        source_name: step.source.clone(),
                        destination_name: step.column.clone(),
                        ..column.take().cloned().unwrap_or_default()
                    };
                    refusing.columns.retain(|column| column.source_name != step.source);
                    refusing.columns.push(renamed);
                }
                // Its place is kept by who comes in it, and that one is left out.
                StepKind::SetAside => {}
                kind => return Err(format!("{} of column {} ({})", kind.name(), step.column, step.detail)),
            }
        }
        Ok(refusing)
    }

    /// Whether it runs nothing that another plan does not. A plan that was carried out in part is covered by the whole.
    pub fn is_covered_by(&self, approved: &Self) -> bool {
        self.table == approved.table
            && self.target == approved.target
            && self.statements().all(|statement| approved.statements().any(|other| other == statement))
    }
}

/// A change of a table that a mirror stopped at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaChange {
    /// Tells the change from every other one of the mirror.
    pub digest: String,
    /// What would be done.
    pub plan: TablePlan,
    /// Whether a person approved.
    pub approved: bool,
    /// When the mirror came to it.
    pub noticed_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(table: &str, statements: &[&str]) -> TablePlan {
        let step = |statement: &&str| PlanStep {
            kind: StepKind::Add,
            column: "a".into(),
            source: "a".into(),
            detail: "new".into(),
            statements: vec![(*statement).to_owned()],
            warning: String::new(),
        };
        TablePlan {
            table: table.into(),
            target: "t".into(),
            steps: statements.iter().map(step).collect(),
            ..TablePlan::default()
        }
    }

    #[test]
    fn what_is_left_of_an_approved_plan_is_covered_and_anything_else_is_not() {
        let approved = plan("public.t", &["one", "two"]);
        for (table, statements, covered) in [
            ("public.t", &["one", "two"][..], true),
            ("public.t", &["two"], true),
            ("public.t", &[], true),
            ("public.t", &["two", "three"], false),
            ("public.u", &["one"], false),
        ] {
            assert_eq!(plan(table, statements).is_covered_by(&approved), covered, "{table} {statements:?}");
        }
    }

    #[test]
    fn a_refusal_leaves_new_columns_out_and_keeps_names_and_says_what_cannot_stay() {
        let step = |kind, column: &str, source: &str| PlanStep {
            kind,
            column: column.into(),
            source: source.into(),
            detail: "new".into(),
            statements: vec!["run".into()],
            warning: String::new(),
        };
        let mapping = TableMapping {
            columns: vec![ColumnMapping {
                source_name: "now".into(),
                destination_type: "String".into(),
                ..ColumnMapping::default()
            }],
            exclude: vec!["before".into()],
            ..TableMapping::default()
        };
        let refused = |steps: Vec<PlanStep>| TablePlan { steps, ..TablePlan::default() }.refused_by(&mapping);
        let mapped = refused(vec![step(StepKind::Add, "a_there", "a"), step(StepKind::Rename, "was", "now")]);
        let mapped = mapped.expect("it can stay");
        assert_eq!(mapped.exclude, ["before", "a"]);
        assert_eq!(mapped.columns.len(), 1);
        assert_eq!(mapped.columns[0].destination_name, "was");
        assert_eq!(mapped.columns[0].destination_type, "String");
        let dropped_and_made_again =
            refused(vec![step(StepKind::SetAside, "f", ""), step(StepKind::Add, "f", "f")]);
        assert_eq!(dropped_and_made_again.expect("it can stay").exclude, ["before", "f"]);
        for steps in [
            vec![step(StepKind::Widen, "n", "n")],
            vec![step(StepKind::Add, "a", "a"), step(StepKind::Beside, "n_string", "n")],
            vec![step(StepKind::SetAside, "a", ""), step(StepKind::Rename, "b", "a")],
        ] {
            assert!(refused(steps.clone()).is_err(), "{steps:?}");
        }
    }

    #[test]
    fn a_plan_is_told_by_what_it_changes() {
        let mut told = plan("public.t", &["one"]);
        let kept = PlanStep { kind: StepKind::Keep, statements: Vec::new(), ..told.steps[0].clone() };
        told.steps.push(kept);
        assert_eq!(told.changes(), "ADD a: new");
    }
}
