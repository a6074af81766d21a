//! Failures of messages, with the record that they were made of.

use tarn_sdk::Failure;
use tarn_sdk::kafka::{Error, Trouble};

/// Kafka's code for a message that is too large.
const TOO_LARGE: i32 = 10;
/// Kafka's code for a transaction's time-out that the brokers do not allow.
const TIMEOUT_NOT_ALLOWED: i32 = 50;

/// The failure of an error, and of the record at `origin` (its table and key) where it is of one.
pub(crate) fn of_error(error: Error, origin: Option<(String, String)>) -> Failure {
    let (trouble, code) = (error.trouble, error.code);
    let mut failure = Failure::from(error);
    match (trouble, code) {
        (Trouble::Unfit, TOO_LARGE) => {
            "message_too_large".clone_into(&mut failure.code);
            failure = failure.with_hint(
                "raise max_record_batch_bytes of the peer and max.message.bytes of the topic, or leave columns out",
            );
        }
        (Trouble::Refused, TIMEOUT_NOT_ALLOWED) => {
            failure = failure.with_hint(
                "raise transaction.max.timeout.ms of the brokers to ten minutes, or set TARN_KAFKA_EXACTLY_ONCE to \
                 false",
            );
        }
        _ => {}
    }
    if let Some((table, key)) = origin {
        if !key.is_empty() {
            failure.message = format!("{} (key {key})", failure.message);
        }
        failure = failure.with_table(table);
    }
    failure
}
