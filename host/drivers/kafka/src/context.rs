//! What librdkafka tells beside its answers: lines of its log, errors of connections, what became of messages.

use std::sync::{Mutex, PoisonError};

use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::KafkaError;
use rdkafka::message::Message;
use rdkafka::producer::{DeliveryResult, ProducerContext};
use rdkafka::types::RDKafkaErrorCode as Code;
use tarn_model::PeerConfig;

use crate::error::{Error, Heard, Trouble, trouble_of};

/// Where it goes.
pub(crate) struct Context {
    /// For striking secrets from what is said.
    peer: PeerConfig,
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    heard: Option<Heard>,
    /// The first message that was not delivered.
    undelivered: Option<Error>,
    /// The topic that the brokers last kept out of a transaction.
    kept_out: Option<String>,
}

impl Context {
    pub(crate) fn new(peer: PeerConfig) -> Self {
        Self { peer, told: Mutex::default() }
    }

    /// A text without the peer's secrets.
    pub(crate) fn strike_secrets(&self, text: &str) -> String {
        self.peer.strike_secrets(text)
    }

    /// What was heard of connections since it was last asked for.
    pub(crate) fn take_heard(&self) -> Option<Heard> {
        self.told().heard.take()
    }

    /// What was heard of connections last.
    pub(crate) fn heard(&self) -> Option<Heard> {
        self.told().heard.clone()
    }

    /// The first message that was not delivered, since it was last asked for.
    pub(crate) fn take_undelivered(&self) -> Option<Error> {
        self.told().undelivered.take()
    }

    /// The topic that the brokers kept out of a transaction, since it was last asked for.
    pub(crate) fn take_kept_out(&self) -> Option<String> {
        self.told().kept_out.take()
    }

    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        // A panic while something is noted leaves at worst the note out.
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientContext for Context {
    fn log(&self, _level: RDKafkaLogLevel, facility: &str, line: &str) {
        if let Some(topic) = kept_out(facility, line) {
            self.told().kept_out = Some(topic.to_owned());
        }
        let line = self.peer.strike_secrets(line);
        tracing::debug!(target: "librdkafka", facility, line);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        let code = error.rdkafka_error_code();
        // It follows the error of each connection, and says less.
        if code == Some(Code::AllBrokersDown) && self.told().heard.is_some() {
            return;
        }
        let text = self.peer.strike_secrets(reason);
        let trouble = code.map(trouble_of).filter(|trouble| *trouble == Trouble::Unauthorized);
        self.told().heard = Some(Heard { text, trouble });
    }
}

/// The topic that a line of the library's log says was kept out of a transaction. Only there is it named: the error that
/// follows says why, and the messages that were given up may be of other topics.
fn kept_out<'a>(facility: &str, line: &'a str) -> Option<&'a str> {
    if facility != "ADDPARTS" {
        return None;
    }
    let (_, rest) = line.split_once("Failed to add partition \"")?;
    rest.split_once('"').map(|(topic, _)| topic)
}

impl ProducerContext for Context {
    type DeliveryOpaque = ();

    fn delivery(&self, delivery: &DeliveryResult<'_>, (): ()) {
        let Err((error, message)) = delivery else { return };
        let mut told = self.told();
        let topic = message.topic();
        let mut error = Error::of(&format!("a message for topic {topic} was not taken"), error);
        // What is given up because of an error is not the error.
        let says_more = |first: &Error| first.is_given_up() && !error.is_given_up();
        if told.undelivered.as_ref().is_none_or(says_more) {
            error.message = self.peer.strike_secrets(&error.message);
            told.undelivered = Some(error.of_topic(topic));
        }
    }
}

impl ConsumerContext for Context {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_that_is_kept_out_of_a_transaction_is_read_from_the_log() {
        let line = "[thrd:127.0.0.1:1/1]: 127.0.0.1:1/1: Failed to add partition \"a.b\" [3] to transaction: Broker: Topic \
                    authorization failed";
        assert_eq!(kept_out("ADDPARTS", line), Some("a.b"));
        assert_eq!(kept_out("FAIL", line), None);
        assert_eq!(kept_out("ADDPARTS", "Failed to add partition(s) to transaction"), None);
    }
}
