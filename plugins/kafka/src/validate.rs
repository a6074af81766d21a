//! What would keep a mirror from running.

use tarn_sdk::{DestinationConfig, Failure, Problem};

use crate::client::{Client, Error};
use crate::config::{PART_TIMEOUT_MS, POSITIONS, POSITIONS_PARTITIONS};
use crate::failure::of_error;
use crate::topics::{Topics, absent, is_name};

/// Everything that is wrong, at once. Nothing is made.
pub(crate) fn validate<C: Client>(
    client: &mut C,
    topics: &mut Topics,
    config: &DestinationConfig,
) -> Result<Vec<Problem>, Failure> {
    let failed = |error: Error| of_error(error, None);
    client.describe().map_err(failed)?;
    let mut problems = Vec::new();
    let mut names = Vec::new();
    for (at, table) in config.tables.iter().enumerate() {
        let path = |field: &str| format!("table_mappings[{at}].{field}");
        if is_name(&table.destination) {
            names.push(table.destination.clone());
        } else {
            let message = format!("{:?} is no name of a topic", table.destination);
            problems.push(
                Problem::new(path("destination_table_identifier"), message)
                    .with_hint("a topic's name has letters, digits, '.', '_' and '-', at most 249 of them"),
            );
        }
        if table.columns.iter().any(|column| column != &plain(&column.source_name)) {
            let message = "columns have no settings of their own in a queue";
            problems.push(
                Problem::new(path("columns"), message).with_hint("let a script write them as they should be"),
            );
        }
    }
    if !config.queue.create_topics {
        if config.queue.exactly_once {
            names.push(POSITIONS.to_owned());
        }
        let missing = topics.missing(client, &names).map_err(failed)?;
        for name in missing {
            let at = config.tables.iter().position(|table| table.destination == name);
            let path = at.map_or("destination_name".to_owned(), |at| {
                format!("table_mappings[{at}].destination_table_identifier")
            });
            let Failure { message, hint, .. } = absent(&[name]);
            problems.push(Problem::new(path, message).with_hint(hint));
        }
    }
    if config.queue.exactly_once {
        let there = client.topics(&[POSITIONS.to_owned()]).map_err(failed)?;
        if let Some(topic) = there.first().filter(|topic| topic.partitions < POSITIONS_PARTITIONS.into()) {
            let message = format!("the topic {POSITIONS} has {} partitions", topic.partitions);
            let hint = format!("give it {POSITIONS_PARTITIONS}: positions are kept beside them");
            problems.push(Problem::new("destination_name", message).with_hint(hint));
        }
        // Whether the user may use transactions, and the brokers have them, for as long as a part of a load may take.
        let id = format!("tarn.{}.check", config.mirror);
        if let Err(error) = client.open(&id, "", PART_TIMEOUT_MS) {
            let failure = of_error(error, None);
            problems.push(Problem::new("destination_name", failure.message).with_hint(format!(
                "allow transactional ids and groups that begin with tarn., or set TARN_KAFKA_EXACTLY_ONCE to false{}",
                if failure.hint.is_empty() { String::new() } else { format!("; {}", failure.hint) }
            )));
        }
    }
    Ok(problems)
}

/// A column's settings that say nothing.
fn plain(source_name: &str) -> tarn_sdk::DestinationColumn {
    tarn_sdk::DestinationColumn { source_name: source_name.to_owned(), ..Default::default() }
}
