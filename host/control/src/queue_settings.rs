//! What a mirror's `env` says of a destination that is a queue.

use serde_json::{Value, json};
use tarn_model::{MirrorSpec, Problem};

const EXACTLY_ONCE: &str = "TARN_KAFKA_EXACTLY_ONCE";
const DELETES: &str = "TARN_KAFKA_DELETES";
const CREATE_TOPICS: &str = "TARN_KAFKA_CREATE_TOPICS";
const TOPIC_PARTITIONS: &str = "TARN_KAFKA_TOPIC_PARTITIONS";
const TOPIC_REPLICATION: &str = "TARN_KAFKA_TOPIC_REPLICATION";
const TOPICS_MAX: &str = "TARN_KAFKA_TOPICS_MAX";
const RELATION_RECORDS: &str = "TARN_RELATION_RECORDS";

/// All of their names.
pub(crate) const NAMES: [&str; 7] =
    [EXACTLY_ONCE, DELETES, CREATE_TOPICS, TOPIC_PARTITIONS, TOPIC_REPLICATION, TOPICS_MAX, RELATION_RECORDS];

/// More partitions than a broker is asked for by somebody who means it, and more topics of one mirror.
const NUMBER_MAX: i32 = 10_000;

/// Topics that a script may have made where the mirror says nothing: by country or by tenant they are hundreds, by a
/// row's id more than brokers bear.
const TOPICS_MADE_MAX: i32 = 1_000;

/// What the settings may be.
const CHOICES: &[(&str, &[&str])] = &[
    (EXACTLY_ONCE, &["true", "false"]),
    (DELETES, &["record", "tombstone", "both"]),
    (CREATE_TOPICS, &["true", "false"]),
    (RELATION_RECORDS, &["none", "changes", "all"]),
];

/// What is wrong with them.
pub(crate) fn problems(spec: &MirrorSpec) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut say = |name: &str, value: &str, hint: String| {
        problems.push(Problem::new(format!("env.{name}"), format!("{value:?} is none of its values"), hint));
    };
    for (name, choices) in CHOICES {
        let value = text(spec, name);
        if !value.is_empty() && !choices.contains(&value) {
            say(name, value, format!("it is {}", choices.join(" or ")));
        }
    }
    for name in [TOPIC_PARTITIONS, TOPIC_REPLICATION, TOPICS_MAX] {
        let value = text(spec, name);
        if !value.is_empty() && number(value).is_none() {
            say(name, value, format!("it is a number from 1 to {NUMBER_MAX}"));
        }
    }
    problems
}

/// What the destination is told.
pub(crate) fn destination(spec: &MirrorSpec, delivery: &str, replays: bool) -> Value {
    let deletes = text(spec, DELETES);
    json!({
        "deliveryId": delivery,
        "exactlyOnce": text(spec, EXACTLY_ONCE) != "false",
        "deletes": if deletes.is_empty() { "record" } else { deletes },
        "replays": replays,
        "createTopics": text(spec, CREATE_TOPICS) != "false",
        "topicsMax": number(text(spec, TOPICS_MAX)).unwrap_or(TOPICS_MADE_MAX),
        "topicPartitions": number(text(spec, TOPIC_PARTITIONS)).unwrap_or(-1),
        "topicReplication": number(text(spec, TOPIC_REPLICATION)).unwrap_or(-1),
    })
}

/// Which relation records the source is to deliver.
pub(crate) fn relations(spec: &MirrorSpec) -> &str {
    match text(spec, RELATION_RECORDS) {
        "" => "changes",
        relations => relations,
    }
}

fn text<'a>(spec: &'a MirrorSpec, name: &str) -> &'a str {
    spec.env.get(name).map_or("", String::as_str)
}

fn number(text: &str) -> Option<i32> {
    text.parse().ok().filter(|number| (1..=NUMBER_MAX).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(env: &[(&str, &str)]) -> MirrorSpec {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        MirrorSpec { env, ..MirrorSpec::default() }
    }

    #[test]
    fn unset_settings_have_their_defaults_and_wrong_ones_are_told_by_name() {
        assert_eq!(problems(&spec(&[])), []);
        let told = destination(&spec(&[]), "tarn.m.1", false);
        assert_eq!(
            (&told["exactlyOnce"], &told["deletes"], &told["topicPartitions"], &told["topicsMax"]),
            (&json!(true), &json!("record"), &json!(-1), &json!(1_000))
        );
        let told = destination(&spec(&[(TOPIC_PARTITIONS, "6"), (EXACTLY_ONCE, "false")]), "", false);
        assert_eq!((&told["exactlyOnce"], &told["topicPartitions"]), (&json!(false), &json!(6)));
        let wrong = spec(&[(DELETES, "never"), (TOPIC_PARTITIONS, "0"), (RELATION_RECORDS, "yes")]);
        let paths: Vec<_> = problems(&wrong).into_iter().map(|problem| problem.path).collect();
        assert_eq!(
            paths,
            ["env.TARN_KAFKA_DELETES", "env.TARN_RELATION_RECORDS", "env.TARN_KAFKA_TOPIC_PARTITIONS"]
        );
    }
}
