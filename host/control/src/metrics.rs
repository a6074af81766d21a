//! What those who collect metrics read: lines of Prometheus' text format.

use std::fmt::Write as _;

use tarn_model::{Enumerated as _, Mirror, StreamLatency};

use crate::latency::Cumulative;
use crate::{Control, ControlError};

impl Control {
    /// All metrics, in Prometheus' text format 0.0.4.
    ///
    /// # Errors
    /// [`ControlError::Catalog`].
    pub async fn metrics(&self) -> Result<String, ControlError> {
        let mirrors = self.catalog().mirrors().await?.mirrors;
        let measured: Vec<_> = mirrors
            .iter()
            .filter_map(|mirror| {
                let latency = self.parts().latencies.known(mirror.id)?;
                Some((mirror, latency.told(), latency.ever()))
            })
            .collect();
        Ok(text(&mirrors, &measured))
    }
}

type Tables = Vec<(String, Cumulative)>;

fn text(mirrors: &[Mirror], measured: &[(&Mirror, StreamLatency, Tables)]) -> String {
    let mut lines = Lines::default();
    lines.begin("tarn_mirror_state", "gauge", "1 for the state that a mirror is in.");
    for mirror in mirrors {
        let labels = [("mirror", mirror.spec.name.as_str()), ("state", mirror.state.name())];
        lines.sample("tarn_mirror_state", &labels, 1);
    }
    lines.begin("tarn_mirror_rows_synced_total", "counter", "Rows that changes brought.");
    for mirror in mirrors {
        lines.sample("tarn_mirror_rows_synced_total", &[("mirror", &mirror.spec.name)], mirror.rows_synced);
    }
    lines.begin(
        "tarn_mirror_lag_seconds",
        "gauge",
        "Age of the oldest change that was read and is not at the destination.",
    );
    for (mirror, told, _) in measured {
        lines.sample("tarn_mirror_lag_seconds", &[("mirror", &mirror.spec.name)], seconds(told.lag_ms));
    }
    lines.begin(
        "tarn_mirror_source_clock_ahead_seconds",
        "gauge",
        "By how much the source's clock was seen to be ahead; latencies are corrected by it.",
    );
    for (mirror, told, _) in measured {
        let labels = [("mirror", mirror.spec.name.as_str())];
        lines.sample("tarn_mirror_source_clock_ahead_seconds", &labels, seconds(told.source_clock_ahead_ms));
    }
    lines.begin(
        "tarn_mirror_latency_seconds",
        "histogram",
        "From a change's commit until it can be queried.",
    );
    for (mirror, _, tables) in measured {
        for (table, ever) in tables {
            lines.histogram("tarn_mirror_latency_seconds", &mirror.spec.name, table, ever);
        }
    }
    lines.0
}

fn seconds(millis: u64) -> f64 {
    millis as f64 / 1000.0
}

#[derive(Default)]
struct Lines(String);

impl Lines {
    fn begin(&mut self, name: &str, kind: &str, help: &str) {
        let _fits = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<_> =
            labels.iter().map(|(key, text)| format!("{key}=\"{}\"", escaped(text))).collect();
        let _fits = writeln!(self.0, "{name}{{{}}} {value}", labels.join(","));
    }

    fn histogram(&mut self, name: &str, mirror: &str, table: &str, ever: &Cumulative) {
        let bucket = format!("{name}_bucket");
        let labels = [("mirror", mirror), ("table", table)];
        for (bound_ms, count) in ever.up_to_bounds() {
            let bound = seconds(bound_ms).to_string();
            self.sample(&bucket, &[labels[0], labels[1], ("le", &bound)], count);
        }
        self.sample(&bucket, &[labels[0], labels[1], ("le", "+Inf")], ever.count());
        self.sample(&format!("{name}_sum"), &labels, ever.sum_seconds());
        self.sample(&format!("{name}_count"), &labels, ever.count());
    }
}

/// A label's value as the format has it.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_buckets_add_up() {
        let mut lines = Lines::default();
        let mut ever = Cumulative::default();
        ever.add(70, 3);
        lines.histogram("x", "m", "a\"b\\c\nd", &ever);
        let text = lines.0;
        assert!(text.contains(r#"x_bucket{mirror="m",table="a\"b\\c\nd",le="0.05"} 0"#), "{text}");
        assert!(text.contains(r#",le="0.1"} 3"#) && text.contains(r#",le="+Inf"} 3"#), "{text}");
        assert!(text.ends_with("x_sum{mirror=\"m\",table=\"a\\\"b\\\\c\\nd\"} 0.21\nx_count{mirror=\"m\",table=\"a\\\"b\\\\c\\nd\"} 3\n"), "{text}");
    }
}
