//! What those who collect metrics read: lines of Prometheus' text format.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::SystemTime;

use tarn_model::{Enumerated as _, Mirror, SlotHealth, StreamLatency, Timestamp};

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
        let slots = mirrors
            .iter()
            .filter_map(|mirror| Some((mirror.spec.name.as_str(), self.slot_healths().of(mirror.id)?)))
            .collect::<Vec<_>>();
        let mut lines = Lines(text(&mirrors, &measured));
        lines.retries(mirrors.iter().map(|mirror| {
            let attempts = self.retries().told(mirror.id).map_or(0, |failure| failure.attempt);
            (mirror.spec.name.as_str(), attempts)
        }));
        lines.slots(&slots);
        let waiting: HashMap<_, _> = self.catalog().stage_standings().await?.into_iter().collect();
        let now = Timestamp::from(SystemTime::now());
        lines.stages(mirrors.iter().map(|mirror| {
            StageSample {
                mirror: &mirror.spec.name,
                entries: waiting.get(&mirror.id).map_or(0, |stage| stage.entries),
                oldest_seconds: waiting
                    .get(&mirror.id)
                    .and_then(|stage| stage.oldest_at)
                    .map_or(0.0, |oldest| (now.micros() - oldest.micros()).max(0) as f64 / 1e6),
                troubles: self.parts().stages.trouble_count(mirror.id),
            }
        }));
        Ok(lines.0)
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
        "tarn_mirror_staged_bytes",
        "gauge",
        "Changes that wait in the stage until the destination takes them.",
    );
    for (mirror, told, _) in measured {
        lines.sample("tarn_mirror_staged_bytes", &[("mirror", &mirror.spec.name)], told.staged_bytes);
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

/// How a mirror's stage is.
struct StageSample<'a> {
    mirror: &'a str,
    entries: u64,
    oldest_seconds: f64,
    troubles: u64,
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

    /// How often mirrors failed without going on since.
    fn retries<'a>(&mut self, attempts: impl Iterator<Item = (&'a str, u32)>) {
        let name = "tarn_mirror_failed_attempts";
        self.begin(name, "gauge", "Attempts that failed since a mirror last went on; 0 while nothing fails.");
        for (mirror, attempts) in attempts {
            self.sample(name, &[("mirror", mirror)], attempts);
        }
    }

    /// How the mirrors' slots are.
    fn slots(&mut self, slots: &[(&str, SlotHealth)]) {
        self.begin("tarn_slot_state", "gauge", "1 for the state that a mirror's replication slot is in.");
        for (mirror, slot) in slots {
            self.sample("tarn_slot_state", &[("mirror", mirror), ("state", slot.state.name())], 1);
        }
        let mut each = |name: &str, help: &str, of: fn(&SlotHealth) -> Option<u64>| {
            self.begin(name, "gauge", help);
            for (mirror, slot) in slots {
                if let Some(value) = of(slot) {
                    self.sample(name, &[("mirror", mirror)], value);
                }
            }
        };
        each("tarn_slot_held_bytes", "Bytes of the source's log that a slot holds.", |slot| {
            Some(slot.held_bytes)
        });
        each("tarn_slot_behind_bytes", "Bytes of the log that the mirror has not confirmed.", |slot| {
            Some(slot.behind_bytes)
        });
        each(
            "tarn_slot_safe_bytes",
            "Bytes that can be written until what a slot holds is in danger.",
            |slot| slot.safe_bytes,
        );
        each("tarn_slot_seconds_left", "When the safe bytes are used up at the rate of the log.", |slot| {
            slot.seconds_left
        });
    }

    /// What waits in mirrors' stages, and how often those failed.
    fn stages<'a>(&mut self, stages: impl Iterator<Item = StageSample<'a>> + Clone) {
        self.begin("tarn_mirror_staged_entries", "gauge", "Files or objects in which changes wait.");
        for stage in stages.clone() {
            self.sample("tarn_mirror_staged_entries", &[("mirror", stage.mirror)], stage.entries);
        }
        self.begin("tarn_mirror_staged_oldest_seconds", "gauge", "Age of the oldest of them; 0 without any.");
        for stage in stages.clone() {
            let labels = [("mirror", stage.mirror)];
            self.sample("tarn_mirror_staged_oldest_seconds", &labels, stage.oldest_seconds);
        }
        self.begin("tarn_mirror_stage_errors_total", "counter", "Calls of the stage that failed.");
        for stage in stages {
            self.sample("tarn_mirror_stage_errors_total", &[("mirror", stage.mirror)], stage.troubles);
        }
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
    use tarn_model::SlotState;

    use super::*;

    #[test]
    fn what_a_source_does_not_tell_of_a_slot_has_no_line() {
        let known = SlotHealth {
            state: SlotState::AtRisk,
            held_bytes: 9,
            safe_bytes: Some(5),
            ..SlotHealth::default()
        };
        let mut lines = Lines::default();
        lines.slots(&[("a", SlotHealth::default()), ("b", known)]);
        for line in [
            r#"tarn_slot_state{mirror="a",state="HEALTHY"} 1"#,
            r#"tarn_slot_state{mirror="b",state="AT_RISK"} 1"#,
            r#"tarn_slot_held_bytes{mirror="b"} 9"#,
            r#"tarn_slot_safe_bytes{mirror="b"} 5"#,
        ] {
            assert!(lines.0.lines().any(|known| known == line), "{}", lines.0);
        }
        assert!(!lines.0.contains(r#"tarn_slot_safe_bytes{mirror="a"}"#), "{}", lines.0);
        assert!(!lines.0.contains("tarn_slot_seconds_left{"), "{}", lines.0);
    }

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
