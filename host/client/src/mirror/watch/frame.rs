//! A look as a picture of lines on a terminal.

use console::{measure_text_width, truncate_str};
use tarn_model::{MirrorState, Timestamp};

use super::look::{Look, seconds_left};
use crate::answer::{LogEntry, TableLoad};
use crate::calls::state_name;
use crate::mirror::view::{batches, partitions, retrying, second};
use crate::table::{grouped, one_line};

/// Characters of a progress bar.
const BAR_WIDTH: usize = 24;

/// The picture: no line is wider than the terminal.
pub(super) fn frame(look: &Look, width: usize) -> Vec<String> {
    let mut lines =
        vec![format!("{}  {}  {} → {}", look.name, state_name(look.state), look.source, look.destination)];
    if let Some(failure) = &look.retrying {
        lines.push(format!("retrying: {}", one_line(&retrying(failure))));
    }
    if !look.loads.is_empty() {
        lines.push(String::new());
        lines.extend(snapshot(look));
    }
    lines.push(String::new());
    lines.push(stream(look));
    if !look.batches.is_empty() {
        lines.push(String::new());
        let newest: Vec<_> = look.batches.iter().collect();
        lines.extend(batches(&newest).lines().map(str::to_owned));
    }
    if !look.log.is_empty() {
        lines.push(String::new());
        lines.extend(look.log.iter().map(log_line));
    }
    lines.into_iter().map(|line| truncate_str(&line, width, "…").into_owned()).collect()
}

fn snapshot(look: &Look) -> Vec<String> {
    let name = |load: &TableLoad| one_line(&load.source_table);
    let wide = look.loads.iter().map(|load| measure_text_width(&name(load))).max().unwrap_or(0);
    let mut lines: Vec<_> = look
        .loads
        .iter()
        .map(|load| {
            let name = name(load);
            let space = " ".repeat(wide - measure_text_width(&name));
            let rows = grouped(load.num_rows_synced);
            format!("{name}{space}  {}  {:>9}  {rows} rows{}", bar(load), partitions(load), left(look, load))
        })
        .collect();
    if let (MirrorState::Snapshot, Some(rate)) = (look.state, look.load_rate) {
        lines.push(format!("loading {} rows/s", whole(rate)));
    }
    lines
}

fn bar(load: &TableLoad) -> String {
    let total = load.num_partitions_total.max(1) as usize;
    let full = BAR_WIDTH * (load.num_partitions_completed as usize).min(total) / total;
    format!("[{}{}]", "#".repeat(full), "-".repeat(BAR_WIDTH - full))
}

fn left(look: &Look, load: &TableLoad) -> String {
    match seconds_left(load, look.workers) {
        Some(seconds) => format!(", about {} left", duration(seconds)),
        None if load.consolidate_completed => ", done".to_owned(),
        None => String::new(),
    }
}

fn stream(look: &Look) -> String {
    let mut line = format!("stream  {} rows", grouped(look.streamed));
    if let Some(rate) = look.stream_rate {
        line.push_str(&format!(", {} rows/s", whole(rate)));
    }
    if let Some(lag) = look.lag_bytes {
        line.push_str(&format!(", {} behind", size(lag)));
    }
    line
}

/// A line of the log.
pub(super) fn log_line(entry: &LogEntry) -> String {
    let at = Timestamp::from_micros(entry.error_timestamp.saturating_mul(1000)).to_string();
    format!("{}  {:<5}  {}", second(&at), entry.error_type, one_line(&entry.error_message))
}

/// A rate without its fraction.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate is not negative")]
pub(super) fn whole(rate: f64) -> String {
    grouped(rate.round().max(0.0) as u64)
}

/// A time in the two largest units.
pub(super) fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A size in its largest unit.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut tenths = u128::from(bytes) * 10 / 1024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::answer::Batch;

    pub fn loading() -> Look {
        let load = |table: &str, completed, total, rows| TableLoad {
            source_table: format!("public.{table}"),
            table_name: table.into(),
            num_partitions_completed: completed,
            num_partitions_total: total,
            num_rows_synced: rows,
            avg_time_per_partition_ms: 30_000,
            consolidate_completed: total > 0 && completed == total,
        };
        Look {
            at: Timestamp::from_micros(1_800_000_000_000_000),
            name: "orders".into(),
            state: MirrorState::Snapshot,
            retrying: None,
            source: "shop".into(),
            destination: "analytics".into(),
            loads: vec![load("orders", 6, 12, 6_000_000), load("é", 1, 1, 10), load("later", 0, 0, 0)],
            workers: 4,
            load_rate: Some(123_456.7),
            streamed: 0,
            stream_rate: None,
            lag_bytes: None,
            batches: Vec::new(),
            log: vec![LogEntry {
                id: 1,
                error_type: "info".into(),
                error_message: "created".into(),
                error_timestamp: 1_800_000_000_000,
                ..LogEntry::default()
            }],
        }
    }

    pub fn streaming() -> Look {
        Look {
            state: MirrorState::Running,
            loads: Vec::new(),
            streamed: 12_345,
            stream_rate: Some(99.5),
            lag_bytes: Some(1_300_000),
            batches: vec![Batch {
                batch_id: 7,
                num_rows: 1_000,
                start_time: "2027-01-15T08:00:00.5Z".into(),
                end_time: Some("2027-01-15T08:00:01Z".into()),
            }],
            log: Vec::new(),
            ..loading()
        }
    }

    #[test]
    fn a_load_has_a_bar_a_table_and_says_how_long_it_takes() {
        let expected = [
            "orders  SNAPSHOT  shop → analytics",
            "",
            "public.orders  [############------------]       6/12  6,000,000 rows, about 1 min 0 s left",
            "public.é       [########################]        1/1  10 rows, done",
            "public.later   [------------------------]             0 rows",
            "loading 123,457 rows/s",
            "",
            "stream  0 rows",
            "",
            "2027-01-15T08:00:00  info   created",
        ];
        assert_eq!(frame(&loading(), 100), expected);
    }

    #[test]
    fn a_stream_shows_its_rate_its_lag_and_its_batches() {
        let expected = [
            "orders  RUNNING  shop → analytics",
            "",
            "stream  12,345 rows, 100 rows/s, 1.2 MiB behind",
            "",
            "BATCH   ROWS  BEGAN                ENDED",
            "    7  1,000  2027-01-15T08:00:00  2027-01-15T08:00:01",
        ];
        assert_eq!(frame(&streaming(), 100), expected);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        assert!(frame(&loading(), 20).iter().all(|line| measure_text_width(line) <= 20));
    }

    #[test]
    fn times_and_sizes_are_said_in_their_largest_units() {
        assert_eq!([5, 65, 7_290].map(duration), ["5 s", "1 min 5 s", "2 h 1 min"]);
        assert_eq!(
            [0, 1_023, 1_024, 1_572_864, 1 << 40].map(size),
            ["0 B", "1023 B", "1.0 KiB", "1.5 MiB", "1.0 TiB"]
        );
    }
}
