//! What a mirror's `env` says of the types of columns whose own settings name none. The destination knows what they mean, and
//! tells what is wrong with them.

use serde_json::{Value, json};
use tarn_model::MirrorSpec;

const NUMERIC: &str = "TARN_CLICKHOUSE_NUMERIC";
const TIME: &str = "TARN_CLICKHOUSE_TIME";
const JSON: &str = "TARN_CLICKHOUSE_JSON";

/// All of their names.
pub(crate) const NAMES: [&str; 3] = [NUMERIC, TIME, JSON];

/// What the destination is told.
pub(crate) fn destination(spec: &MirrorSpec) -> Value {
    let text = |name: &str| spec.env.get(name).map_or("", |value| value.trim());
    json!({"numeric": text(NUMERIC), "time": text(TIME), "json": text(JSON)})
}
