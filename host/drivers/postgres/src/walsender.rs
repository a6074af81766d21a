//! What a walsender does that sends nothing, asked through another session.
//!
//! Up to PostgreSQL 15 a walsender that decodes what a transaction wrote into no table of a publication (a materialized
//! view that is refreshed, a table that `ALTER TABLE` writes anew) sends nothing until it is through, and reads nothing
//! of what it is sent, however long that takes. Whoever gave up then would begin at the same place, for ever.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use crate::client::Client;
use crate::config::INQUIRY_DEADLINE;
use crate::connection::Connection;
use crate::error::Error;

/// What a silent walsender is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walsender {
    /// It works, on what it has not sent yet.
    Works,
    /// It waits for its client or for changes. Then it would have answered, if it had been asked: nothing passes
    /// between the two any more.
    Waits,
    /// The server has no such process.
    Gone,
    /// Another server answered, or the same one after a restart: its processes are none of the stream's. So it may be behind a
    /// proxy, or an address that moved with a failover.
    Elsewhere,
}

/// When the server started, as a number: which server it is, beside others of the same history.
const STARTED: &str = "pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time())";

impl<S: AsyncRead + AsyncWrite + Send + 'static> Connection<S> {
    /// When the server of this session started.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub(crate) async fn started(&mut self) -> Result<Started, Error> {
        let rows = self.query(&format!("SELECT {STARTED}")).await?;
        Ok(Started(rows.into_iter().flatten().next().flatten()))
    }
}

/// When a server started; nothing where it did not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Started(Option<String>);

impl Client {
    /// Asks the server that started then what a walsender of its does, by its process.
    ///
    /// # Errors
    /// As [`Client::open`] and [`crate::Connection::query`], after [`INQUIRY_DEADLINE`] at the latest.
    pub(crate) async fn walsender(&self, backend: i32, started: &Started) -> Result<Walsender, Error> {
        let late =
            |_| Error::TimedOut { doing: "asking what the walsender does", deadline: INQUIRY_DEADLINE };
        timeout(INQUIRY_DEADLINE, self.ask_about(backend, started)).await.map_err(late)?
    }

    async fn ask_about(&self, backend: i32, started: &Started) -> Result<Walsender, Error> {
        let mut session = self.open().await?;
        if session.started().await? != *started {
            session.close().await;
            return Ok(Walsender::Elsewhere);
        }
        // A process that waits for nothing has no type of an event.
        let question = format!(
            "SELECT coalesce(wait_event_type IN ('Activity', 'Client'), false) FROM pg_catalog.pg_stat_activity \
             WHERE pid = {backend} AND backend_type = 'walsender'"
        );
        let rows = session.query(&question).await?;
        session.close().await;
        Ok(match rows.first().and_then(|row| row.first()) {
            Some(Some(waits)) if waits == "f" => Walsender::Works,
            Some(_) => Walsender::Waits,
            None => Walsender::Gone,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tarn_model::PostgresConfig;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const SILENCE: Duration = Duration::from_millis(20);
    const READY: &[u8] = b"Z\0\0\0\x05I";
    /// When the stream's server started, and another one.
    const HERE: &str = "1";
    const THERE: &str = "2";
    const DONE: &[u8] = b"C\0\0\0\x06X\0";

    /// What follows the tag of a client's message; its greeting has none.
    async fn body(client: &mut TcpStream) -> Option<Vec<u8>> {
        let length = client.read_u32().await.ok()? as usize;
        let mut body = vec![0; length - 4];
        client.read_exact(&mut body).await.ok()?;
        Some(body)
    }

    /// What a session is told, each a letter: when its server started, and of the walsender.
    type Told = (&'static str, Option<&'static str>);

    /// What a server answers to a statement.
    fn answer(statement: &[u8], (started, of_walsender): Told) -> Vec<u8> {
        if statement.starts_with(b"START_REPLICATION") {
            // Nothing else ever comes.
            return b"W\0\0\0\x07\0\0\0".to_vec();
        }
        let told = match String::from_utf8_lossy(statement) {
            text if text.contains("pg_postmaster_start_time") => Some(started),
            text if text.contains("pg_stat_activity") => of_walsender,
            _ => None,
        };
        let row = told.map(|text| [&b"D\0\0\0\x0b\0\x01\0\0\0\x01"[..], text.as_bytes()].concat());
        [&row.unwrap_or_default(), DONE, READY].concat()
    }

    /// A session with a server whose walsender is silent, and of which is told so much, one answer after the other.
    async fn silent_stream(told: &'static [Told]) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        tokio::spawn(async move {
            let streamed = std::iter::once((HERE, None));
            for told in streamed.chain(told.iter().copied()) {
                let (mut client, _) = listener.accept().await.expect("a client");
                tokio::spawn(async move {
                    body(&mut client).await.expect("a greeting");
                    let greeting = [b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x07\0\0\0\x01", READY].concat();
                    client.write_all(&greeting).await.expect("it reads");
                    while let Ok(tag) = client.read_u8().await
                        && let Some(statement) = body(&mut client).await
                    {
                        // Nobody answers statuses, and whoever asked may be gone.
                        if tag == b'Q' && client.write_all(&answer(&statement, told)).await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
        let host = "127.0.0.1".to_owned();
        let config = PostgresConfig { host, port, disable_tls: true, ..PostgresConfig::default() };
        let mut session = Client::new(config).open_replication().await.expect("a session");
        session.silence_max = SILENCE;
        session.stream("START_REPLICATION").await.expect("a stream");
        session
    }

    /// How many silences a stream outlives.
    async fn outlived(session: &mut Connection) -> (u32, Error) {
        let mut silences = 0;
        loop {
            match session.stream_read(1000, SILENCE).await {
                Ok(messages) => assert!(messages.is_empty()),
                Err(error) => return (silences, error),
            }
            silences += 1;
        }
    }

    #[tokio::test]
    async fn a_walsender_at_work_may_be_silent_and_one_that_is_gone_or_waits_or_another_servers_may_not() {
        const WORKS: Told = (HERE, Some("f"));
        for told in [
            &[WORKS, WORKS, WORKS, (HERE, None)],
            &[WORKS, WORKS, WORKS, (HERE, Some("t"))],
            // Another process has the number there.
            &[WORKS, WORKS, WORKS, (THERE, Some("f"))],
        ] {
            let mut session = silent_stream(told).await;
            let (silences, error) = outlived(&mut session).await;
            assert!(matches!(error, Error::TimedOut { deadline: SILENCE, .. }), "{error:?}");
            assert_eq!(silences, 3);
        }
    }

    #[tokio::test]
    async fn a_silence_of_which_nobody_tells_ends_the_stream() {
        let (silences, error) = outlived(&mut silent_stream(&[]).await).await;
        assert!(matches!(error, Error::TimedOut { deadline: SILENCE, .. }), "{error:?}");
        assert_eq!(silences, 0);
    }
}
