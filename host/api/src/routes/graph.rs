//! A mirror's rows over time.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use tarn_control::Control;
use tarn_model::{GraphBar, GraphMode, GraphSpan};
use utoipa::ToSchema;

use crate::answer::{Answer, Answered};
use crate::error::Code;
use crate::operation::{Operation, example};
use crate::request::Input;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/api/v1/mirrors/cdc/graph", example!("graph_rows"), graph)
            .about("Tells how many rows a mirror's stream wrote when, in bars of equal spans up to now.")
            .takes::<GraphRequest>()
            .answers::<Graph>()
            .refuses(&[Code::NotFound]),
    ]
}

/// Which graph to draw.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct GraphRequest {
    /// The mirror.
    flow_job_name: String,
    /// The span of a bar, or of the whole.
    aggregate_type: GraphSpan,
    /// Which of the two.
    mode: GraphMode,
}

/// Rows over time.
#[derive(Serialize, ToSchema)]
pub(super) struct Graph {
    /// Bar by bar, the oldest first; the last is under way.
    data: Vec<Bar>,
    /// Rows of all bars.
    total_rows: u64,
}

/// One bar.
#[derive(Serialize, ToSchema)]
struct Bar {
    /// When it begins, in milliseconds since 1970.
    time: f64,
    /// Rows of the batches that began in it.
    rows: f64,
}

impl From<GraphBar> for Bar {
    #[expect(clippy::cast_precision_loss, reason = "clients read both as doubles; both are far below 2^53")]
    fn from(bar: GraphBar) -> Self {
        Self { time: bar.start.millis() as f64, rows: bar.rows as f64 }
    }
}

pub(super) async fn graph(
    State(control): State<Control>,
    Input(request): Input<GraphRequest>,
) -> Answered<Graph> {
    let bars = control.graph(&request.flow_job_name, request.aggregate_type, request.mode).await?;
    let total_rows = bars.iter().map(|bar| bar.rows).sum();
    Ok(Answer(Graph { data: bars.into_iter().map(Bar::from).collect(), total_rows }))
}
