//! How to reach Kafka.

use serde::{Deserialize, Serialize};

use crate::failure::Problem;
use crate::secret::Secret;

/// How to reach a Kafka cluster, and how messages are spread over it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct KafkaConfig {
    /// Brokers to begin with, `host:port` each.
    pub servers: Vec<String>,
    /// User to connect as; empty for none.
    pub username: String,
    /// That user's password.
    pub password: Secret,
    /// How the user proves who they are: `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`. Looked at where there is a
    /// user; empty means `PLAIN`.
    pub sasl: String,
    /// Connect without TLS.
    pub disable_tls: bool,
    /// How messages are spread over partitions: `StickyKey` (or empty) by key, `Manual` as they say, `RoundRobin`,
    /// `Sticky` and `LeastBackup` whatever their keys are.
    pub partitioner: String,
    /// PEM of a client certificate.
    pub certificate: String,
    /// PEM of its key.
    pub private_key: Secret,
    /// PEM of the authorities to trust instead of the machine's.
    pub root_ca: String,
    /// The largest message, in bytes; 0 means 1,000,000, which brokers take by default.
    pub max_record_batch_bytes: u32,
}

impl KafkaConfig {
    /// The largest message where a client says nothing.
    pub const MESSAGE_BYTES_MAX: u32 = 1_000_000;
    /// Smaller ones would hold no row, larger ones no broker can be told to take.
    const MESSAGE_BYTES: std::ops::RangeInclusive<u32> = 1_000..=1_000_000_000;
    /// Ways to prove who the user is.
    pub const SASL: [&str; 3] = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];
    /// Ways to spread messages.
    pub const PARTITIONERS: [&str; 5] = ["LeastBackup", "Manual", "RoundRobin", "StickyKey", "Sticky"];
    /// More than anybody lists to begin with.
    const SERVERS_MAX: usize = 100;

    /// Finds what cannot be right, whatever the brokers say.
    pub(super) fn find_problems(&self, problems: &mut Vec<Problem>) {
        let mut say = |path: &str, message: String, hint: String| {
            problems.push(Problem::new(path, message, hint));
        };
        if self.servers.is_empty() {
            say("servers", "is missing".into(), "name a broker, host:port".into());
        }
        if self.servers.len() > Self::SERVERS_MAX {
            say(
                "servers",
                format!("has more than {}", Self::SERVERS_MAX),
                "a few are enough to begin with".into(),
            );
        }
        if let Some(server) = self.servers.iter().find(|server| !is_address(server)) {
            say(
                "servers",
                format!("{server:?} is no host:port"),
                "write one like broker.internal:9092".into(),
            );
        }
        if !self.username.is_empty() && !self.sasl.is_empty() && !Self::SASL.contains(&self.sasl.as_str()) {
            let message = format!("there is no {:?}", self.sasl);
            say("sasl", message, format!("it is one of {}", Self::SASL.join(", ")));
        }
        if !self.partitioner.is_empty() && !Self::PARTITIONERS.contains(&self.partitioner.as_str()) {
            let message = format!("there is no {:?}", self.partitioner);
            say("partitioner", message, format!("it is one of {}, or empty", Self::PARTITIONERS.join(", ")));
        }
        match (self.certificate.is_empty(), self.private_key.is_empty()) {
            (true, false) => say("certificate", "is missing".into(), "set certificate".into()),
            (false, true) => say("private_key", "is missing".into(), "set private_key".into()),
            _ => {}
        }
        let bytes = self.max_record_batch_bytes;
        if bytes != 0 && !Self::MESSAGE_BYTES.contains(&bytes) {
            let (least, most) = Self::MESSAGE_BYTES.into_inner();
            let message = format!("is {bytes}; {least} to {most} are allowed");
            say("max_record_batch_bytes", message, "set what the brokers' message.max.bytes is".into());
        }
    }
}

/// Whether a text is a host and a port, and nothing that librdkafka would read as more than that.
fn is_address(server: &str) -> bool {
    let Some((host, port)) = server.rsplit_once(':') else { return false };
    let is_of_host = |c: char| c.is_ascii_alphanumeric() || "-._[]:%".contains(c);
    !host.is_empty() && host.chars().all(is_of_host) && port.parse::<u16>().is_ok_and(|port| port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(config: &KafkaConfig) -> Vec<String> {
        let mut problems = Vec::new();
        config.find_problems(&mut problems);
        problems.into_iter().map(|problem| problem.path).collect()
    }

    fn good() -> KafkaConfig {
        KafkaConfig {
            servers: vec!["broker-1.internal:9092".into(), "[::1]:9093".into()],
            ..KafkaConfig::default()
        }
    }

    #[test]
    fn what_cannot_be_right_is_refused_by_its_field() {
        assert_eq!(paths(&good()), [""; 0]);
        type Change = fn(&mut KafkaConfig);
        let cases: &[(Change, &str)] = &[
            (|c| c.servers.clear(), "servers"),
            (|c| c.servers[0] = "broker".into(), "servers"),
            (|c| c.servers[0] = "a:9092,b:9092".into(), "servers"),
            (|c| c.servers[0] = "SSL://a:9092".into(), "servers"),
            (|c| c.servers[0] = "a:0".into(), "servers"),
            (|c| (c.username, c.sasl) = ("u".into(), "GSSAPI".into()), "sasl"),
            (|c| c.partitioner = "sticky".into(), "partitioner"),
            (|c| c.certificate = "pem".into(), "private_key"),
            (|c| c.private_key = Secret::new("pem"), "certificate"),
            (|c| c.max_record_batch_bytes = 10, "max_record_batch_bytes"),
        ];
        for (change, path) in cases {
            let mut config = good();
            change(&mut config);
            assert_eq!(paths(&config), [*path]);
        }
    }

    #[test]
    fn how_a_user_proves_who_they_are_is_not_looked_at_without_one() {
        assert_eq!(paths(&KafkaConfig { sasl: "GSSAPI".into(), ..good() }), [""; 0]);
    }
}
