//! Where the HTTP interface is.

use hyper::Uri;
use tarn_model::ClickHouseConfig;
use tarn_transport::{ClientIdentity, TlsSettings, Verification};

use crate::error::Error;

/// The server as the connector reaches it, and the beginning of every URL.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// `None` for bare HTTP.
    pub(crate) tls: Option<TlsSettings>,
}

impl Address {
    /// Reads the peer's settings.
    pub(crate) fn new(config: &ClickHouseConfig) -> Result<Self, Error> {
        if config.host.is_empty() {
            return Err(Error::Settings { field: "host", reason: "is empty".to_owned() });
        }
        let tls = (!config.disable_tls).then(|| tls(config));
        if let Some(tls) = &tls {
            // What is wrong with a certificate is said at once, not by each connection.
            tarn_transport::client_config(tls).map_err(|error| unusable(&config.host, error))?;
        }
        let host = config.host.trim_matches(['[', ']']).to_owned();
        Ok(Self { host, port: http_port(config), tls })
    }

    /// The URL of a request, with what follows the port.
    pub(crate) fn url(&self, path_and_query: &str) -> Result<Uri, Error> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let authority = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{scheme}://{authority}:{}{path_and_query}", self.port).parse().map_err(|_| Error::Settings {
            field: "host",
            reason: format!("{:?} is no host name", self.host),
        })
    }

    /// Host and port for people.
    pub(crate) fn name(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// The HTTP port that a configured port means: the native protocol's defaults stand for their HTTP
/// siblings, since peers are often entered with the port the client program uses.
fn http_port(config: &ClickHouseConfig) -> u16 {
    match config.port {
        9000 => 8123,
        9440 => 8443,
        0 if config.disable_tls => 8123,
        0 => 8443,
        port => port,
    }
}

fn tls(config: &ClickHouseConfig) -> TlsSettings {
    let name = if config.tls_host.is_empty() { &config.host } else { &config.tls_host };
    TlsSettings {
        verification: Verification::Full,
        server_name: name.trim_matches(['[', ']']).to_owned(),
        root_ca: config.root_ca.clone(),
        client: (!config.certificate.is_empty()).then(|| ClientIdentity {
            certificate: config.certificate.clone(),
            private_key: config.private_key.clone(),
        }),
    }
}

/// A certificate or key that cannot be read, by the field that it has in this kind of peer.
fn unusable(host: &str, error: tarn_transport::Error) -> Error {
    match error {
        tarn_transport::Error::Pem { field, reason } => {
            Error::Settings { field: field.trim_start_matches("client_tls."), reason }
        }
        error => Error::Connect { address: host.to_owned(), source: error.into() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(host: &str, port: u16) -> Address {
        let config = ClickHouseConfig {
            host: host.to_owned(),
            port,
            disable_tls: true,
            ..ClickHouseConfig::default()
        };
        Address::new(&config).expect("an address")
    }

    #[test]
    fn native_ports_mean_their_http_siblings_and_others_mean_themselves() {
        let ports = [(0, 8123), (9000, 8123), (9440, 8443), (8123, 8123), (8443, 8443), (19000, 19000)];
        for (configured, spoken) in ports {
            assert_eq!(address("db", configured).port, spoken);
        }
    }

    #[test]
    fn an_address_of_version_six_is_bracketed() {
        for host in ["::1", "[::1]"] {
            let url = address(host, 8123).url("/ping").expect("a URL");
            assert_eq!(url.to_string(), "http://[::1]:8123/ping");
        }
    }

    #[test]
    fn a_host_that_is_none_is_refused_by_field() {
        let error = address("a b/c", 8123).url("/").expect_err("no URL");
        assert_eq!(error.to_string(), "host: \"a b/c\" is no host name");
    }
}
