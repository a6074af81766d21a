//! What goes wrong, and what a program does about it.

use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaErrorCode as Code;
use tarn_model::{Failure, FailureClass};

use crate::config::MESSAGE_TEXT_BYTES_MAX;

/// What to do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The way to the brokers, or a broker, failed in passing. What of an open transaction is committed is told by
    /// the position that the next producer of the id reads.
    Unavailable,
    /// One message cannot be taken, whatever is done: it is too large, or asks for a partition that is not there.
    Unfit,
    /// A topic is not there.
    UnknownTopic,
    /// The user may not, or is not who they say.
    Unauthorized,
    /// Another producer began with the same id.
    Fenced,
    /// The brokers refuse, and trying again cannot help.
    Refused,
}

/// Why a call has no result. No text holds a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What to do about it.
    pub trouble: Trouble,
    /// Kafka's error code, negative for librdkafka's own; 0 where neither has one.
    pub code: i32,
    /// What happened, for people.
    pub message: String,
    /// The topic it concerns, or empty.
    pub topic: String,
    /// Which message of the call it concerns, from 0.
    pub at: Option<u32>,
}

impl Error {
    pub(crate) fn new(trouble: Trouble, message: impl Into<String>) -> Self {
        Self { trouble, code: 0, message: message.into(), topic: String::new(), at: None }
    }

    /// A setting of the peer that cannot be used.
    pub(crate) fn settings(reason: impl Into<String>) -> Self {
        Self::new(Trouble::Refused, reason)
    }

    /// An error of the library while `doing` something.
    pub(crate) fn of(doing: &str, error: &KafkaError) -> Self {
        match error.rdkafka_error_code() {
            Some(code) => Self::of_code(doing, code),
            None => Self::new(Trouble::Refused, format!("{doing}: {error}")),
        }
    }

    pub(crate) fn of_code(doing: &str, code: Code) -> Self {
        let message = format!("{doing}: {code}");
        Self { code: code as i32, ..Self::new(trouble_of(code), message) }
    }

    pub(crate) fn of_topic(mut self, topic: &str) -> Self {
        topic.clone_into(&mut self.topic);
        self
    }

    pub(crate) fn at(mut self, at: u32) -> Self {
        self.at = Some(at);
        self
    }

    /// Whether the library gave a message up because of something else.
    pub(crate) fn is_given_up(&self) -> bool {
        [Code::PurgeQueue, Code::PurgeInflight].map(|code| code as i32).contains(&self.code)
    }

    /// What the library said of connections meanwhile: a bare time-out says nothing.
    pub(crate) fn because(mut self, heard: Option<Heard>) -> Self {
        if let Some(heard) = heard
            && self.trouble == Trouble::Unavailable
        {
            self.message = format!("{} ({})", self.message, heard.text);
            if let Some(trouble) = heard.trouble {
                self.trouble = trouble;
            }
        }
        let end = self.message.floor_char_boundary(MESSAGE_TEXT_BYTES_MAX);
        self.message.truncate(end);
        self
    }

    /// The error as a failure with its remedy.
    pub fn to_failure(&self) -> Failure {
        let (class, code, hint) = match self.trouble {
            Trouble::Unavailable => (
                FailureClass::Retry,
                "kafka_unreachable",
                "check servers and firewall, and whether the brokers serve TLS (disable_tls is for those that do not)",
            ),
            Trouble::Unfit => (FailureClass::Record, "kafka_message_unfit", ""),
            Trouble::UnknownTopic => {
                (FailureClass::Permanent, "kafka_topic_missing", "make the topic, then resume the mirror")
            }
            Trouble::Unauthorized => (
                FailureClass::Permanent,
                "kafka_authorization",
                "check username, password and sasl, and what the user may do",
            ),
            Trouble::Fenced => (
                FailureClass::Retry,
                "kafka_fenced",
                "if another server runs the same mirror, stop one of the two",
            ),
            Trouble::Refused => (FailureClass::Permanent, "kafka_refused", ""),
        };
        Failure::new(class, code, self.message.clone()).with_hint(hint)
    }
}

/// What the library told beside its answers.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) text: String,
    /// Where it says more than that brokers cannot be reached.
    pub(crate) trouble: Option<Trouble>,
}

/// Every code that Kafka and librdkafka have; one that is not listed is nobody's to try again.
pub(crate) fn trouble_of(code: Code) -> Trouble {
    match code {
        Code::MessageSizeTooLarge
        | Code::InvalidMessageSize
        | Code::InvalidRecord
        | Code::UnknownPartition => Trouble::Unfit,
        Code::UnknownTopicOrPartition | Code::UnknownTopic => Trouble::UnknownTopic,
        Code::TopicAuthorizationFailed
        | Code::GroupAuthorizationFailed
        | Code::ClusterAuthorizationFailed
        | Code::TransactionalIdAuthorizationFailed
        | Code::Authentication
        | Code::SaslAuthenticationFailed
        | Code::UnsupportedSASLMechanism
        | Code::IllegalSASLState => Trouble::Unauthorized,
        Code::Fenced | Code::ProducerFenced | Code::InvalidProducerEpoch => Trouble::Fenced,
        Code::BrokerTransportFailure
        | Code::Resolve
        | Code::MessageTimedOut
        | Code::AllBrokersDown
        | Code::OperationTimedOut
        | Code::QueueFull
        | Code::NodeUpdate
        | Code::SSL
        | Code::WaitingForCoordinator
        | Code::InProgress
        | Code::PreviousInProgress
        | Code::TimedOutQueue
        | Code::WaitCache
        | Code::Retry
        | Code::PurgeQueue
        | Code::PurgeInflight
        | Code::State
        | Code::LeaderNotAvailable
        | Code::NotLeaderForPartition
        | Code::RequestTimedOut
        | Code::BrokerNotAvailable
        | Code::ReplicaNotAvailable
        | Code::NetworkException
        | Code::CoordinatorLoadInProgress
        | Code::CoordinatorNotAvailable
        | Code::NotCoordinator
        | Code::NotEnoughReplicas
        | Code::NotEnoughReplicasAfterAppend
        | Code::NotController
        | Code::OutOfOrderSequenceNumber
        | Code::DuplicateSequenceNumber
        | Code::ConcurrentTransactions
        | Code::TransactionCoordinatorFenced
        | Code::InvalidTransactionalState
        | Code::UnknownProducerId
        | Code::InvalidProducerIdMapping
        | Code::KafkaStorageError
        | Code::ThrottlingQuotaExceeded
        | Code::UnstableOffsetCommit
        | Code::FencedLeaderEpoch
        | Code::UnknownLeaderEpoch
        | Code::StaleBrokerEpoch => Trouble::Unavailable,
        _ => Trouble::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_tried_again_and_what_does_not_is_told_apart() {
        for (code, class) in [
            (Code::BrokerTransportFailure, FailureClass::Retry),
            (Code::NotEnoughReplicas, FailureClass::Retry),
            (Code::InvalidProducerEpoch, FailureClass::Retry),
            (Code::MessageSizeTooLarge, FailureClass::Record),
            (Code::UnknownTopicOrPartition, FailureClass::Permanent),
            (Code::TopicAuthorizationFailed, FailureClass::Permanent),
            (Code::UnsupportedForMessageFormat, FailureClass::Permanent),
        ] {
            assert_eq!(Error::of_code("sending", code).to_failure().class, class, "{code:?}");
        }
    }

    #[test]
    fn a_time_out_says_what_the_library_heard() {
        let heard =
            Heard { text: "SASL authentication error".to_owned(), trouble: Some(Trouble::Unauthorized) };
        let error = Error::of_code("asking for topics", Code::OperationTimedOut).because(Some(heard));
        assert_eq!(error.trouble, Trouble::Unauthorized);
        assert!(error.message.ends_with("(SASL authentication error)"), "{error}");
    }
}
