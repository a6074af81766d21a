//! Topics: which tables go to which, and that they are there.

use std::collections::HashSet;

use tarn_sdk::kafka::Trouble;
use tarn_sdk::{DestinationConfig, Failure, log};

use crate::client::{Client, Error, NewTopic};
use crate::config::{POSITIONS, POSITIONS_PARTITIONS, TOPIC_NAME_BYTES_MAX, TOPICS_KNOWN_MAX};
use crate::failure::of_error;

/// The topics of a mirror.
#[derive(Debug)]
pub(crate) struct Topics {
    /// Those that are known to be there.
    known: HashSet<String>,
    /// How many were made that no table names.
    made: u32,
}

/// The topic that a table's records go to.
pub(crate) fn topic_of<'a>(config: &'a DestinationConfig, table: &str) -> Option<&'a str> {
    let mapping = config.tables.iter().find(|mapping| mapping.source == table)?;
    Some(&mapping.destination)
}

/// Whether Kafka takes a topic's name.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !name.is_empty()
        && name.len() <= TOPIC_NAME_BYTES_MAX
        && name.chars().all(fits)
        && name != "."
        && name != ".."
}

impl Topics {
    pub(crate) fn new() -> Self {
        Self { known: HashSet::new(), made: 0 }
    }

    pub(crate) fn is_known(&self, name: &str) -> bool {
        self.known.contains(name)
    }

    /// Makes sure that topics are there: makes those that are missing where the mirror may.
    pub(crate) fn ensure(
        &mut self,
        client: &mut impl Client,
        config: &DestinationConfig,
        names: &[String],
    ) -> Result<(), Failure> {
        let missing = self.missing(client, names).map_err(|error| of_error(error, None))?;
        if missing.is_empty() {
            return Ok(());
        }
        if !config.queue.create_topics {
            return Err(absent(&missing));
        }
        let is_of_script = |name: &&String| {
            *name != POSITIONS && !config.tables.iter().any(|table| table.destination == **name)
        };
        let of_scripts = missing.iter().filter(is_of_script).count();
        let made = self.made.saturating_add(u32::try_from(of_scripts).unwrap_or(u32::MAX));
        if of_scripts > 0 && made > config.queue.topics_max {
            return Err(too_many(config, &missing));
        }
        let new: Vec<NewTopic> = missing.iter().map(|name| planned(config, name)).collect();
        client.create_topics(&new).map_err(not_made)?;
        self.made = made;
        log::info(&format!("made the topics {}", missing.join(", ")));
        self.remember(&missing);
        Ok(())
    }

    /// Those of the topics that are not there.
    pub(crate) fn missing(
        &mut self,
        client: &mut impl Client,
        names: &[String],
    ) -> Result<Vec<String>, Error> {
        let mut asked: Vec<String> = names.iter().filter(|name| !self.is_known(name)).cloned().collect();
        asked.sort_unstable();
        asked.dedup();
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let there: Vec<String> = client.topics(&asked)?.into_iter().map(|topic| topic.name).collect();
        self.remember(&there);
        Ok(asked.into_iter().filter(|name| !there.contains(name)).collect())
    }

    fn remember(&mut self, names: &[String]) {
        if self.known.len() + names.len() > TOPICS_KNOWN_MAX {
            self.known.clear();
        }
        self.known.extend(names.iter().cloned());
    }
}

/// A topic as the mirror makes it.
fn planned(config: &DestinationConfig, name: &str) -> NewTopic {
    let queue = &config.queue;
    let partitions = if name == POSITIONS { POSITIONS_PARTITIONS.into() } else { queue.topic_partitions };
    NewTopic { name: name.to_owned(), partitions, replication: queue.topic_replication }
}

/// What is said of topics that are not there and are not made.
pub(crate) fn absent(missing: &[String]) -> Failure {
    Failure::permanent("topic_missing", format!("there is no topic {}", missing.join(", ")))
        .with_hint("make it (tarn_positions with 16 partitions), or set TARN_KAFKA_CREATE_TOPICS to true")
}

/// What is said where a script makes topics without end.
fn too_many(config: &DestinationConfig, missing: &[String]) -> Failure {
    let most = config.queue.topics_max;
    let message = format!("the scripts name more than {most} topics that are not there, {} next", missing[0]);
    Failure::permanent("topics_too_many", message).with_hint(
        "raise TARN_KAFKA_TOPICS_MAX, make the topics by hand, or let the script name fewer: a topic for each value of a \
         column may be more than brokers bear",
    )
}

fn not_made(error: Error) -> Failure {
    let passing = matches!(error.trouble, Trouble::Unavailable);
    let failure = of_error(error, None);
    if passing {
        failure
    } else {
        failure.with_hint("make the topic by hand, or let the peer's user make it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_brokers_take() {
        for name in ["a", "public.users", "A-b_c.9", &"x".repeat(249)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", ".", "..", "a b", "größe", "a/b", &"x".repeat(250)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
