//! Keys of which the target should have no row.

use tarn_sdk::{ComparisonOutcome as Outcome, Failure, Finding};

use super::{DOING, QUIETLY, commit_of, key_text, until};
use crate::client::Client;
use crate::config::COMPARED_KEYS_MAX;
use crate::failure::of_error;
use crate::plan::Plan;
use crate::read_back::{Key, Purpose, ReadBack, Wanted, fitting};
use crate::row_binary::split_value;

/// The keys that the target has a row of although there should be none as of a sequence.
pub(crate) fn find(
    client: &mut impl Client,
    plan: &Plan,
    keys: &[Vec<String>],
    sequence: u64,
) -> Result<Vec<Finding>, Failure> {
    let wanted = keys.iter().map(|key| key_text::wanted(plan, key)).collect::<Result<Vec<_>, _>>()?;
    let held = held_forms(client, plan, &wanted)?;
    let latest = ReadBack {
        plan,
        columns: &[],
        until: None,
        keys_max: COMPARED_KEYS_MAX,
        bytes_max: usize::MAX,
        doing: DOING,
        settings: QUIETLY,
        purpose: Purpose::Looking,
    };
    let then = ReadBack { until: Some(until(sequence)), ..latest }.read(client, &wanted)?;
    let latest = latest.read(client, &wanted)?;
    let findings = held.iter().enumerate().filter_map(|(at, key)| {
        let last = latest.get(key)?;
        let commit = commit_of(last.version);
        let was_there = then.get(key).is_some_and(|then| !then.deleted);
        let outcome = match (commit > sequence, last.deleted) {
            (false, true) => return None,
            (false, false) => Outcome::Present,
            // It was deleted since, if it was there at all.
            (true, true) if !was_there => return None,
            (true, _) => Outcome::Later,
        };
        let at = u32::try_from(at).expect("few keys");
        Some(Finding { at, outcome, columns: Vec::new(), commit })
    });
    Ok(findings.collect())
}

/// Each key in the form that the target holds it in.
fn held_forms(client: &mut impl Client, plan: &Plan, wanted: &[Wanted]) -> Result<Vec<Key>, Failure> {
    let types: Vec<_> =
        plan.key.iter().filter_map(|&source| plan.column(source)).map(|column| &column.data_type).collect();
    let columns: Vec<String> = (1..=types.len()).map(|at| format!("tupleElement(k, {at})")).collect();
    let columns = columns.join(", ");
    let mut keys = Vec::with_capacity(wanted.len());
    let mut rest = wanted;
    while !rest.is_empty() {
        let (chunk, later) = rest.split_at(fitting(rest, COMPARED_KEYS_MAX));
        // A literal in brackets is a tuple where it has more than one column.
        let tuples: Vec<String> = chunk.iter().map(|wanted| format!("tuple{}", wanted.literal())).collect();
        let sql = format!(
            "SELECT {columns} FROM (SELECT arrayJoin([{}]) AS k) FORMAT RowBinary",
            tuples.join(", ")
        );
        let answer = client.query(&sql).map_err(|error| {
            of_error(error, &format!("{DOING} {}", plan.target)).with_table(plan.table.qualified_name())
        })?;
        let mut left = &answer[..];
        for _ in chunk {
            let start = left;
            for data_type in &types {
                left = split_value(data_type, left).map(|(_, after)| after).ok_or_else(|| cut_off(plan))?;
            }
            keys.push(start[..start.len() - left.len()].to_vec());
        }
        rest = later;
    }
    Ok(keys)
}

/// The failure of an answer that ends too early.
pub(super) fn cut_off(plan: &Plan) -> Failure {
    let message = format!("{DOING} {}: the answer breaks off", plan.target);
    Failure::retry("clickhouse_unreachable", message).with_table(plan.table.qualified_name())
}
