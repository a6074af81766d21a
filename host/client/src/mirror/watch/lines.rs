//! What changed from one look to the next, a line each: for a file or a pipe.

use std::fmt::Write as _;

use super::frame::{log_line, size, whole};
use super::look::Look;
use crate::calls::state_name;
use crate::mirror::view::{partitions, second};
use crate::table::{grouped, one_line};

/// The lines; none where nothing changed.
pub(super) fn changes(before: Option<&Look>, look: &Look) -> String {
    let at = look.at.to_string();
    let mut text = String::new();
    let mut line = |what: &str| {
        let _fits = writeln!(text, "{}  {}  {what}", second(&at), look.name);
    };
    if before.is_none_or(|before| before.state != look.state) {
        line(state_name(look.state));
    }
    for load in &look.loads {
        let known = before
            .and_then(|before| before.loads.iter().find(|known| known.source_table == load.source_table));
        let is_news = known.map_or(load.num_partitions_total > 0, |known| known != load);
        if is_news {
            let table = one_line(&load.source_table);
            line(&format!(
                "{table}  {} partitions, {} rows",
                partitions(load),
                grouped(load.num_rows_synced)
            ));
        }
    }
    if before.is_none_or(|before| before.streamed != look.streamed) && look.streamed > 0 {
        let rate = look.stream_rate.map_or_else(String::new, |rate| format!(", {} rows/s", whole(rate)));
        let lag = look.lag_bytes.map_or_else(String::new, |bytes| format!(", {} behind", size(bytes)));
        line(&format!("stream  {} rows{rate}{lag}", grouped(look.streamed)));
    }
    let last = before.and_then(|before| before.log.last()).map_or(0, |entry| entry.id);
    for entry in look.log.iter().filter(|entry| entry.id > last) {
        let _fits = writeln!(text, "{}", log_line(entry));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::frame::tests::{loading, streaming};
    use super::*;

    #[test]
    fn the_first_look_says_everything_and_a_later_one_what_changed() {
        let first = loading();
        let expected = "\
2027-01-15T08:00:00  orders  SNAPSHOT
2027-01-15T08:00:00  orders  public.orders  6/12 partitions, 6,000,000 rows
2027-01-15T08:00:00  orders  public.é  1/1 partitions, 10 rows
2027-01-15T08:00:00  info   created
";
        assert_eq!(changes(None, &first), expected);
        assert_eq!(changes(Some(&first), &first), "");
        let expected = "\
2027-01-15T08:00:00  orders  RUNNING
2027-01-15T08:00:00  orders  stream  12,345 rows, 100 rows/s, 1.2 MiB behind
";
        assert_eq!(changes(Some(&first), &streaming()), expected);
    }
}
