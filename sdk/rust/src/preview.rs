//! What would be done to a destination's tables, told before it is done: the interface `preview` of `wit/v0.1`.

use serde::Serialize;

use crate::bindings::preview::exports::tarn::plugin::preview as wit;
use crate::instance::{self, Slot};
use crate::{Description, Destination, Failure};

/// A destination that tells what [`Destination::evolve`] would do. It is exported with the destination:
/// `export_destination!(MyDestination, comparison, replacement, preview);`.
pub trait Preview: Destination {
    /// The plan of each table that the mirror has. Nothing is changed.
    fn preview(&mut self, schema: Vec<Description>) -> Result<Vec<TablePlan>, Failure>;
}

/// What is done to one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanStep {
    /// What it is.
    pub kind: StepKind,
    /// The column of the destination that it concerns; empty where it is the table.
    pub column: String,
    /// The source's column that it is for; empty where there is none, or none any more.
    pub source: String,
    /// For people: what becomes of the column and of the rows that are there.
    pub detail: String,
    /// What is run, in this order; none where nothing has to be done.
    pub statements: Vec<String>,
    /// What a person has to know of it; empty for nothing.
    pub warning: String,
}

/// What a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
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

impl<S: Slot<Plugin: Preview>> wit::Guest for S {
    fn preview(schema: Vec<u8>) -> Result<String, Failure> {
        let plans =
            instance::call::<S, _>(|destination| destination.preview(Description::of_batch(&schema)?))?;
        Ok(serde_json::to_string(&plans).expect("texts and lists become JSON"))
    }
}
