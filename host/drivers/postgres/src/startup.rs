//! From a stream to a session: greeting, authentication, settings.

use bytes::BytesMut;
use postgres_protocol::message::{backend, frontend};
use tarn_transport::CONNECT_DEADLINE;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout_at};

use crate::authentication::{Authentication, Credentials, Step};
use crate::config::{GREETING_BYTES_MAX, REPLICATION_SETTINGS, SESSION_SETTINGS, SETTINGS_SINCE};
use crate::connection::{Connection, Server};
use crate::error::Error;
use crate::frame::FrameReader;
use crate::server_error::ServerError;

const DOING: &str = "starting a session";

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// SQL and COPY.
    Sql,
    /// The replication protocol, bound to a database: SQL works too.
    Replication,
}

/// Starts a session over a stream that is ready for the startup message, all of it by `deadline`.
pub(crate) async fn start<S: AsyncRead + AsyncWrite + Send + 'static>(
    stream: S,
    database: &str,
    credentials: Credentials<'_>,
    purpose: Purpose,
    deadline: Instant,
) -> Result<Connection<S>, Error> {
    let session = greet(stream, database, credentials, purpose, deadline);
    let late = |_| Error::TimedOut { doing: DOING, deadline: CONNECT_DEADLINE };
    timeout_at(deadline, session).await.map_err(late)?
}

async fn greet<S: AsyncRead + AsyncWrite + Send + 'static>(
    stream: S,
    database: &str,
    credentials: Credentials<'_>,
    purpose: Purpose,
    deadline: Instant,
) -> Result<Connection<S>, Error> {
    let (reader, writer) = tokio::io::split(stream);
    let mut connection = Connection::new(FrameReader::new(reader), writer);
    let mut parameters = vec![
        ("user", credentials.user),
        ("database", database),
        ("client_encoding", "UTF8"),
        ("application_name", "tarn"),
    ];
    if purpose == Purpose::Replication {
        parameters.push(("replication", "database"));
    }
    let mut message = BytesMut::new();
    frontend::startup_message(parameters, &mut message)
        .map_err(|_| Error::Settings("a zero byte in the user's or the database's name"))?;
    connection.send(&message, DOING).await?;
    let user = credentials.user;
    authenticate(&mut connection, Authentication::new(credentials), deadline)
        .await
        .map_err(|error| with_remedy(error, user, database, purpose))?;
    let settings = settings(purpose, &connection.server);
    connection.query(&settings).await?;
    Ok(connection)
}

/// The same with what opens a role or a database that is closed to us. In a session these codes mean other things.
fn with_remedy(error: Error, user: &str, database: &str, purpose: Purpose) -> Error {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let (user, database) = (quoted(user), quoted(database));
    match error {
        Error::Server(mut told) if told.hint.is_empty() => {
            told.hint = match (told.sqlstate.as_str(), purpose) {
                ("42501", Purpose::Sql) => {
                    format!("GRANT CONNECT ON DATABASE {database} TO {user}, then resume")
                }
                ("42501", Purpose::Replication) => format!(
                    "ALTER ROLE {user} REPLICATION (rds_replication and the like where the provider has such a role), and GRANT \
                     CONNECT ON DATABASE {database} TO {user}, whichever it lacks; then resume"
                ),
                ("55000", _) => format!("ALTER DATABASE {database} ALLOW_CONNECTIONS true, then resume"),
                _ => String::new(),
            };
            Error::Server(told)
        }
        other => other,
    }
}

async fn authenticate<S: AsyncRead + AsyncWrite + Send + 'static>(
    connection: &mut Connection<S>,
    mut authentication: Authentication<'_>,
    deadline: Instant,
) -> Result<(), Error> {
    let mut authenticated = false;
    loop {
        let frame = connection.reader.next(GREETING_BYTES_MAX, deadline, DOING).await?;
        let body = connection.reader.body(frame);
        match frame.tag {
            backend::ERROR_RESPONSE_TAG => return Err(ServerError::parse(body).into()),
            backend::AUTHENTICATION_TAG => match authentication.answer(body)? {
                Step::Send(message) => connection.send(&message, DOING).await?,
                Step::Nothing => {}
                Step::Done => authenticated = true,
            },
            backend::PARAMETER_STATUS_TAG => {
                if let Some(version) = parameter(body, "server_version") {
                    connection.server.version = version;
                }
                if let Some(encoding) = parameter(body, "server_encoding") {
                    connection.server.has_any_bytes = encoding == "SQL_ASCII";
                }
            }
            backend::BACKEND_KEY_DATA_TAG => {
                if let Some(process) = body.first_chunk::<4>() {
                    connection.server.backend = i32::from_be_bytes(*process);
                }
            }
            backend::NOTICE_RESPONSE_TAG => {}
            backend::READY_FOR_QUERY_TAG if authenticated => return Ok(()),
            tag => return Err(Error::Protocol(format!("tag {tag:#04x} in the greeting"))),
        }
    }
}

/// The value in the body of a `ParameterStatus`, if it is about this parameter.
fn parameter(body: &[u8], name: &str) -> Option<String> {
    let value = body.strip_prefix(name.as_bytes())?.strip_prefix(b"\0")?.strip_suffix(b"\0")?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// The statements that make a session independent of settings elsewhere. They are not startup
/// parameters, because poolers refuse those that they do not know.
fn settings(purpose: Purpose, server: &Server) -> String {
    let major = server.major();
    let since = SETTINGS_SINCE.iter().filter(|(since, ..)| major >= *since);
    let mut settings: Vec<(&str, &str)> = SESSION_SETTINGS.to_vec();
    if server.has_any_bytes {
        // B044: the server would refuse a row whose text is none in UTF-8, and say neither which one nor of which table.
        settings.push(("client_encoding", "SQL_ASCII"));
    }
    settings.extend(since.map(|(_, name, value)| (*name, *value)));
    if purpose == Purpose::Replication {
        settings.extend(REPLICATION_SETTINGS);
    }
    settings.iter().map(|(name, value)| format!("SET {name} = '{value}';")).collect()
}

#[cfg(test)]
mod tests {
    use tarn_model::Secret;
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    #[test]
    fn settings_that_a_server_does_not_know_are_left_out() {
        let of = |purpose, major: u32| {
            settings(purpose, &Server { version: format!("{major}.1"), ..Server::default() })
        };
        assert!(!of(Purpose::Sql, 13).contains("idle_session_timeout"));
        assert!(of(Purpose::Sql, 14).contains("SET idle_session_timeout = '0';"));
        assert!(!of(Purpose::Sql, 17).contains("wal_sender_timeout"));
        assert!(of(Purpose::Replication, 17).contains("SET transaction_timeout = '0';"));
        assert!(!of(Purpose::Sql, 17).contains("SQL_ASCII"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_lets_us_in_and_then_says_nothing_is_given_up_by_the_deadline() {
        let (client, mut server) = tokio::io::duplex(1024);
        let (password, deadline) = (Secret::default(), Instant::now() + CONNECT_DEADLINE);
        let credentials = Credentials { user: "u", password: &password, end_point: None };
        server.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").await.expect("room");
        let started = start(client, "d", credentials, Purpose::Sql, deadline);
        let error = started.await.expect_err("no answer to the settings");
        assert!(matches!(error, Error::TimedOut { .. }), "{error}");
        assert_eq!(Instant::now(), deadline);
    }

    #[test]
    fn a_parameter_status_is_read_by_its_whole_name() {
        assert_eq!(parameter(b"server_version\x0015.13\0", "server_version"), Some("15.13".to_owned()));
        assert_eq!(parameter(b"server_version_num\x00150013\0", "server_version"), None);
    }
}
