//! Mirrors at one moment.

use std::fmt::Write as _;

use serde_json::json;
use tarn_model::{
    Enumerated as _, RecordErrorPolicy, RecordErrors, SchemaChangePolicy, SlotState, StreamLatency,
    TableLatency, Timestamp,
};

use crate::answer::{Batch, MirrorList, MirrorStatus, RetriedFailure, SlotHealth, StageStanding, TableLoad};
use crate::calls::state_name;
use crate::config::WATCH_BATCHES;
use crate::error::Error;
use crate::http::Client;
use crate::output::Report;
use crate::table::{Table, grouped};

pub(super) async fn list(client: &Client) -> Result<Report, Error> {
    let answer = client.get("mirrors/list").await?;
    let mut table = Table::new(&["NAME", "STATE", "SOURCE", "DESTINATION", "CREATED"]);
    for mirror in client.read::<MirrorList>(&answer)?.mirrors {
        let created = Timestamp::from_micros(mirror.created_at.saturating_mul(1000)).to_string();
        table.row([
            mirror.name,
            match mirror.retrying {
                Some(_) => format!("{}, retrying", state_name(mirror.status)),
                None => state_name(mirror.status).to_owned(),
            },
            mirror.source_name,
            mirror.destination_name,
            second(&created).to_owned(),
        ]);
    }
    Ok(Report::new(table.render(), answer))
}

pub(super) async fn describe(client: &Client, name: &str) -> Result<Report, Error> {
    let answer =
        client.post("mirrors/status", &json!({"flow_job_name": name, "include_flow_info": true})).await?;
    let status: MirrorStatus = client.read(&answer)?;
    Ok(Report::new(described(&status), answer))
}

fn described(status: &MirrorStatus) -> String {
    let MirrorStatus { flow_job_name, current_flow_state, created_at, cdc_status } = status;
    let config = &cdc_status.config;
    let mut facts = vec![
        ("mirror", flow_job_name.clone()),
        ("state", state_name(*current_flow_state).to_owned()),
        ("from", config.source_peer.clone()),
        ("to", config.destination_peer.clone()),
        ("created", second(created_at).to_owned()),
        ("script", config.script.clone()),
        ("record errors", record_errors(&cdc_status.record_errors, config.record_error_policy)),
        ("schema changes", schema_changes(config.schema_changes)),
        ("failed", cdc_status.failure.clone()),
        ("retrying", cdc_status.retrying.as_ref().map(retrying).unwrap_or_default()),
        ("publication", config.publication()),
        ("slot", config.slot()),
        ("slot holds", slot_holds(&cdc_status.slot_health)),
        ("slot warning", slot_warning(&cdc_status.slot_health)),
        ("snapshot", if config.do_initial_snapshot { "yes" } else { "no" }.to_owned()),
        ("batch size", format!("{} rows", grouped(config.max_batch_size.into()))),
        ("idle timeout", format!("{} s", config.idle_timeout_seconds)),
        ("rows streamed", grouped(cdc_status.rows_synced)),
        ("lag", lag(&cdc_status.latency)),
        ("staged", staged(&cdc_status.latency, &cdc_status.stage)),
        ("stage error", stage_error(&cdc_status.stage)),
        ("latency", latency(&cdc_status.latency)),
        ("source clock", clock(&cdc_status.latency)),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    let mut text = String::new();
    for (name, value) in facts {
        let _fits = writeln!(text, "{name:<15}{value}");
    }
    let mut tables =
        Table::new(&["TABLE", "TARGET", "EXCLUDED", "#PARTITIONS", "#ROWS LOADED", "#P50", "#P99"]);
    for table in &config.tables {
        let load = cdc_status.snapshot_status.clones.iter().find(|load| load.source_table == table.source);
        let rows = load.map_or_else(String::new, |load| grouped(load.num_rows_synced));
        let exclude = table.exclude.join(",");
        tables.row([
            table.source.clone(),
            table.destination.clone(),
            exclude,
            load.map(partitions).unwrap_or_default(),
            rows,
            quantile(&cdc_status.latency, &table.destination, |latency| latency.p50_ms),
            quantile(&cdc_status.latency, &table.destination, |latency| latency.p99_ms),
        ]);
    }
    let _fits = write!(text, "\n{}", tables.render());
    if !cdc_status.cdc_batches.is_empty() {
        let newest: Vec<_> = cdc_status.cdc_batches.iter().take(WATCH_BATCHES as usize).collect();
        let _fits = write!(text, "\n{}", batches(&newest));
    }
    text
}

/// How much of the source's log the slot holds; nothing before it was seen.
fn slot_holds(slot: &SlotHealth) -> String {
    if slot.wal_status.is_empty() {
        return String::new();
    }
    let [held, behind] = [slot.held_bytes, slot.behind_bytes].map(|bytes| grouped(bytes.div_ceil(1 << 20)));
    format!("{held} MiB of the source's log ({}), {behind} MiB of it not replicated", slot.wal_status)
}

fn slot_warning(slot: &SlotHealth) -> String {
    match slot.state {
        SlotState::Healthy => String::new(),
        state => format!("{}: {}; {}", state.name(), slot.warning, slot.remedy),
    }
}

/// How old the oldest change is that the destination does not have; nothing before there was any change.
fn lag(latency: &StreamLatency) -> String {
    match (latency.changes, latency.lag_ms) {
        (0, 0) => String::new(),
        (_, lag_ms) => time(lag_ms),
    }
}

/// What waits for a destination that is away, and where.
fn staged(latency: &StreamLatency, stage: &StageStanding) -> String {
    let mib = latency.staged_bytes.max(stage.bytes).div_ceil(1 << 20);
    let oldest =
        stage.oldest_at.as_ref().map(|oldest| format!(", since {}", second(oldest))).unwrap_or_default();
    match (mib, stage.place.as_str()) {
        (0, "") => String::new(),
        (0, place) => format!("nothing; would wait in: {place}"),
        (mib, place) => format!(
            "{} MiB in {} entries wait for the destination in: {place}{oldest}",
            grouped(mib),
            grouped(stage.entries)
        ),
    }
}

/// What fails just now and is tried again.
pub(super) fn retrying(failure: &RetriedFailure) -> String {
    let (since, next) = (second(&failure.since), second(&failure.next_attempt_at));
    let attempt = failure.attempt;
    format!("{}; since {since}, attempt {attempt} failed, the next is at {next}", failure.message)
}

/// What is wrong with the stage, since when.
fn stage_error(stage: &StageStanding) -> String {
    match &stage.failed_at {
        Some(at) if !stage.error.is_empty() => format!("{} (at {})", stage.error, second(at)),
        _ => stage.error.clone(),
    }
}

/// From commit until it can be queried, lately.
fn latency(latency: &StreamLatency) -> String {
    match latency.p99_ms {
        0 => String::new(),
        p99_ms => format!("p50 {}, p99 {}", time(latency.p50_ms), time(p99_ms)),
    }
}

/// What was found about the source's clock, where it is not right.
fn clock(latency: &StreamLatency) -> String {
    match latency.source_clock_ahead_ms {
        0..10 => String::new(),
        ahead_ms => format!("ahead of the server's by at least {}", time(ahead_ms)),
    }
}

fn quantile(latency: &StreamLatency, table: &str, of: impl Fn(&TableLatency) -> u64) -> String {
    let known = latency.tables.iter().find(|known| known.table_name == table);
    known.map(of).filter(|millis| *millis > 0).map(time).unwrap_or_default()
}

fn time(millis: u64) -> String {
    match millis {
        0..10_000 => format!("{}.{:03} s", millis / 1000, millis % 1000),
        _ => format!("{} s", grouped(millis / 1000)),
    }
}

/// The policy; nothing of the usual one.
fn schema_changes(policy: SchemaChangePolicy) -> String {
    match policy {
        SchemaChangePolicy::Apply => String::new(),
        policy => policy.name().to_owned(),
    }
}

/// The policy and what came of it; nothing of a mirror that stops and never had to.
fn record_errors(errors: &RecordErrors, policy: RecordErrorPolicy) -> String {
    let counts = [
        (errors.skipped, "skipped"),
        (errors.waiting, "dead letters wait"),
        (errors.replayed, "replayed"),
        (errors.discarded, "discarded"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<_> = counts.map(|(count, what)| format!("{} {what}", grouped(*count))).collect();
    match (policy, counts.is_empty()) {
        (RecordErrorPolicy::Stop, true) => String::new(),
        (policy, true) => policy.name().to_owned(),
        (policy, false) => format!("{}: {}", policy.name(), counts.join(", ")),
    }
}

/// `3/12`, or nothing before there is a plan.
pub(super) fn partitions(load: &TableLoad) -> String {
    match load.num_partitions_total {
        0 => String::new(),
        total => format!("{}/{total}", load.num_partitions_completed),
    }
}

/// Batches as a table.
pub(super) fn batches(batches: &[&Batch]) -> String {
    let mut table = Table::new(&["#BATCH", "#ROWS", "BEGAN", "ENDED"]);
    for batch in batches {
        table.row([
            batch.batch_id.to_string(),
            grouped(batch.num_rows),
            second(&batch.start_time).to_owned(),
            batch.end_time.as_deref().map_or("under way", second).to_owned(),
        ]);
    }
    table.render()
}

/// A moment of the API without its fraction: nobody reads microseconds in a table.
pub(super) fn second(moment: &str) -> &str {
    moment.split_once('.').map_or(moment.trim_end_matches('Z'), |(second, _)| second)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stage_tells_where_changes_wait_and_what_is_wrong() {
        let stage = StageStanding {
            place: "s3://rows".into(),
            entries: 1200,
            bytes: 3 << 20,
            oldest_at: Some("2026-01-02T03:04:05.678Z".into()),
            error: "no".into(),
            failed_at: Some("2026-01-02T03:04:06Z".into()),
        };
        let told = staged(&StreamLatency::default(), &stage);
        assert!(
            told.starts_with("3 MiB in 1,200 entries wait for the destination in: s3://rows, since 2026-"),
            "{told}"
        );
        assert!(stage_error(&stage).starts_with("no (at 2026-01-02"), "{}", stage_error(&stage));
        let idle = StageStanding { place: "data folder".into(), ..StageStanding::default() };
        assert_eq!(staged(&StreamLatency::default(), &idle), "nothing; would wait in: data folder");
        assert_eq!(staged(&StreamLatency::default(), &StageStanding::default()), "");
        assert_eq!(stage_error(&idle), "");
    }

    #[test]
    fn a_mirror_is_described_with_its_tables_and_batches() {
        let answer = json!({"flowJobName": "orders", "currentFlowState": "STATUS_RUNNING",
            "createdAt": "2026-01-01T10:00:00.123456Z", "cdcStatus": {
                "config": {"flowJobName": "orders", "sourceName": "shop", "destinationName": "analytics",
                    "doInitialSnapshot": true, "maxBatchSize": 250_000, "idleTimeoutSeconds": "10",
                    "recordErrorPolicy": "DEAD_LETTER",
                    "tableMappings": [{"sourceTableIdentifier": "public.orders",
                        "destinationTableIdentifier": "orders", "exclude": ["a", "b"]}]},
                "snapshotStatus": {"clones": [{"tableName": "orders", "sourceTable": "public.orders",
                    "numPartitionsCompleted": 3, "numPartitionsTotal": 12, "numRowsSynced": "1234567"}]},
                "cdcBatches": [{"batchId": "2", "numRows": "1000", "startTime": "2026-01-01T10:00:01.5Z",
                    "endTime": null}],
                "recordErrors": {"skipped": "0", "waiting": "1200", "replayed": "3", "discarded": "0", "bytes": "9"},
                "latency": {"lagMs": "250", "sourceClockAheadMs": "12", "changes": "1000", "p50Ms": "950",
                    "p99Ms": "12345", "tables": [{"tableName": "orders", "changes": "1000", "p50Ms": "950",
                    "p99Ms": "12345"}]},
                "rowsSynced": "1000",
                "retrying": {"message": "no connection to the source (connection_lost)", "code": "connection_lost",
                    "since": "2026-01-01T10:00:02.5Z", "attempt": 3, "nextAttemptAt": "2026-01-01T10:00:09.1Z"}}});
        let status: MirrorStatus = tarn_json::from_value(&answer).expect("an answer");
        let expected = "\
mirror         orders
state          RUNNING
from           shop
to             analytics
created        2026-01-01T10:00:00
record errors  DEAD_LETTER: 1,200 dead letters wait, 3 replayed
retrying       no connection to the source (connection_lost); since 2026-01-01T10:00:02, attempt 3 failed, the next is at 2026-01-01T10:00:09
publication    tarn_pub_orders
slot           tarn_slot_orders
snapshot       yes
batch size     250,000 rows
idle timeout   10 s
rows streamed  1,000
lag            0.250 s
latency        p50 0.950 s, p99 12 s
source clock   ahead of the server's by at least 0.012 s

TABLE          TARGET  EXCLUDED  PARTITIONS  ROWS LOADED      P50   P99
public.orders  orders  a,b             3/12    1,234,567  0.950 s  12 s

BATCH   ROWS  BEGAN                ENDED
    2  1,000  2026-01-01T10:00:01  under way
";
        assert_eq!(described(&status), expected);
    }
}
