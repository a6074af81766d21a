//! A server's address with user, password and database, as one URL on the command line.

use std::fmt;
use std::str::FromStr;

use tarn_model::{ClickHouseConfig, MASK, PostgresConfig, Secret};

use super::DemoError;

/// A URL as it was given. The parser of the command line quotes what it refuses, and this holds a password: so it is
/// taken apart later.
#[derive(Clone)]
pub struct EndpointUrl(String);

impl EndpointUrl {
    /// What it says.
    ///
    /// # Errors
    /// [`DemoError::Url`] without the URL.
    pub fn endpoint(&self, option: &'static str) -> Result<Endpoint, DemoError> {
        self.0.parse().map_err(|reason| DemoError::Url { option, reason })
    }
}

impl From<String> for EndpointUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}

impl fmt::Debug for EndpointUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// `scheme://user:password@host:port/database`; user and password may be percent-encoded.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// User to connect as.
    pub user: String,
    /// That user's password.
    pub password: Secret,
    /// Database.
    pub database: String,
}

impl Endpoint {
    /// As a PostgreSQL peer.
    pub fn postgres(&self) -> PostgresConfig {
        PostgresConfig {
            host: self.host.clone(),
            port: self.port,
            user: self.user.clone(),
            password: self.password.clone(),
            database: self.database.clone(),
            ..PostgresConfig::default()
        }
    }

    /// As a ClickHouse peer that speaks HTTP without TLS.
    pub fn clickhouse(&self) -> ClickHouseConfig {
        ClickHouseConfig {
            host: self.host.clone(),
            port: self.port,
            user: self.user.clone(),
            password: self.password.clone(),
            database: self.database.clone(),
            disable_tls: true,
            ..ClickHouseConfig::default()
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}:{}/{}", self.user, self.host, self.port, self.database)
    }
}

impl FromStr for Endpoint {
    type Err = &'static str;

    fn from_str(url: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "scheme://user:password@host:port/database is expected";
        let (_, rest) = url.split_once("://").ok_or(FORM)?;
        let (authority, database) = rest.split_once('/').ok_or(FORM)?;
        let (credentials, address) = authority.rsplit_once('@').ok_or(FORM)?;
        let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
        let (host, port) = address.rsplit_once(':').ok_or(FORM)?;
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: port.parse().map_err(|_| "the port must be a number up to 65535")?,
            user: percent_decoded(user).ok_or(FORM)?,
            password: Secret::new(percent_decoded(password).ok_or(FORM)?),
            database: percent_decoded(database).ok_or(FORM)?,
        })
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart_and_its_password_decoded_once() {
        let endpoint: Endpoint =
            "postgres://ann:p%40ss%3Aw%2F%3Ford%23%20+@[::1]:5432/shop".parse().expect("good");
        assert_eq!((endpoint.host.as_str(), endpoint.port), ("::1", 5432));
        assert_eq!(endpoint.password.expose(), "p@ss:w/?ord# +");
        assert_eq!(format!("{endpoint:?}"), "ann@::1:5432/shop");
    }

    #[test]
    fn a_url_without_port_or_database_is_refused() {
        assert!("postgres://ann@localhost/shop".parse::<Endpoint>().is_err());
        assert!("postgres://ann@localhost:5432".parse::<Endpoint>().is_err());
    }

    #[test]
    fn a_url_that_is_refused_is_not_quoted() {
        let url = EndpointUrl::from("postgres://ann:planted@localhost/shop".to_owned());
        let error = url.endpoint("--postgres").expect_err("no port").to_string();
        assert!(error.starts_with("--postgres: scheme://") && !error.contains("planted"), "{error}");
        assert!(!format!("{url:?}").contains("planted"));
    }
}
