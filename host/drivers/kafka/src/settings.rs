//! A peer's settings as librdkafka's.

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;
use tarn_model::KafkaConfig;

use crate::config;
use crate::error::Error;

/// What every client of a peer is made with.
pub(crate) fn base(config: &KafkaConfig) -> Result<ClientConfig, Error> {
    if config.servers.is_empty() {
        return Err(Error::settings("servers: is empty"));
    }
    let millis = |duration: std::time::Duration| duration.as_millis().to_string();
    let mut client = ClientConfig::new();
    client
        .set("bootstrap.servers", config.servers.join(","))
        .set("client.id", "tarn")
        .set("socket.timeout.ms", millis(config::REQUEST_DEADLINE))
        .set("socket.connection.setup.timeout.ms", millis(config::CONNECT_DEADLINE))
        .set("socket.keepalive.enable", "true")
        .set("reconnect.backoff.max.ms", millis(config::RECONNECT_PAUSE_MAX))
        // Its own lines are for whoever looks into trouble; what people need is in the errors.
        .set_log_level(RDKafkaLogLevel::Info);
    let sasl = !config.username.is_empty();
    let protocol = match (config.disable_tls, sasl) {
        (true, false) => "plaintext",
        (true, true) => "sasl_plaintext",
        (false, false) => "ssl",
        (false, true) => "sasl_ssl",
    };
    client.set("security.protocol", protocol);
    if sasl {
        let mechanism = if config.sasl.is_empty() { "PLAIN" } else { &config.sasl };
        client
            .set("sasl.mechanism", mechanism)
            .set("sasl.username", &config.username)
            .set("sasl.password", config.password.expose());
    }
    if !config.disable_tls {
        let texts = [
            ("ssl.ca.pem", config.root_ca.as_str()),
            ("ssl.certificate.pem", config.certificate.as_str()),
            ("ssl.key.pem", config.private_key.expose()),
        ];
        for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            client.set(name, text);
        }
    }
    Ok(client)
}

/// The largest message that the peer takes.
pub(crate) fn message_bytes_max(config: &KafkaConfig) -> u32 {
    match config.max_record_batch_bytes {
        0 => config::MESSAGE_BYTES_MAX,
        most => most,
    }
}

/// What of a producer may wait to be sent, in KiB: room for the largest message, which could never be sent otherwise.
fn waiting_kib_max(config: &KafkaConfig) -> usize {
    let largest = (message_bytes_max(config) as usize + config::MESSAGE_OVERHEAD_BYTES).div_ceil(1 << 10);
    config::WAITING_KIB_MAX.max(largest)
}

/// What a producer is made with besides.
pub(crate) fn producer(config: &KafkaConfig, id: &str, timeout_ms: u32) -> Result<ClientConfig, Error> {
    let mut client = base(config)?;
    client
        .set("message.max.bytes", message_bytes_max(config).to_string())
        .set("queue.buffering.max.kbytes", waiting_kib_max(config).to_string())
        .set("queue.buffering.max.messages", config::WAITING_MESSAGES_MAX.to_string())
        .set("message.timeout.ms", config::DELIVERY_DEADLINE.as_millis().to_string())
        .set("compression.type", "lz4")
        // Neither twice nor out of order, also where a request is repeated.
        .set("enable.idempotence", "true");
    if !id.is_empty() {
        let (least, most) = config::TRANSACTION_TIMEOUT_MS.into_inner();
        let timeout_ms = timeout_ms.clamp(least, most);
        let delivery_ms = config::DELIVERY_DEADLINE.as_millis().min(timeout_ms.into());
        client
            .set("transactional.id", id)
            .set("transaction.timeout.ms", timeout_ms.to_string())
            .set("message.timeout.ms", delivery_ms.to_string());
    }
    Ok(client)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_message_that_a_peer_takes_has_room_to_wait() {
        let room = |max_record_batch_bytes| {
            waiting_kib_max(&KafkaConfig { max_record_batch_bytes, ..KafkaConfig::default() })
        };
        assert_eq!(room(0), config::WAITING_KIB_MAX);
        assert_eq!(room(32 << 20), (32 << 10) + 1);
        assert_eq!(room(1_000_000_000), 976_563);
    }
}
