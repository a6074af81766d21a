//! Capability `kafka`: topics of the peer's cluster, and messages in transactions. Only a running plugin has a peer:
//! called natively, these functions panic.

use crate::Failure;

pub use crate::bindings::imports::tarn::plugin::kafka::{
    Cluster, Error, NewTopic, Producer, Topic, Trouble, create_topics, describe, topics,
};

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.trouble {
            Trouble::Unavailable => Self::retry("kafka_unavailable", error.message),
            Trouble::Fenced => Self::retry("kafka_fenced", error.message)
                .with_hint("if another server runs the same mirror, stop one of the two"),
            Trouble::Unfit => Self::record("message_unfit", error.message),
            Trouble::UnknownTopic => Self::permanent("topic_missing", error.message)
                .with_hint("make the topic, then resume the mirror"),
            Trouble::Unauthorized => Self::permanent("kafka_unauthorized", error.message).with_hint(
                "let the peer's user write to the topic, use the transactional id, and read and write the group of its name",
            ),
            Trouble::Refused => Self::permanent("kafka_refused", error.message),
        }
    }
}
