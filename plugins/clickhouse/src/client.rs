//! The server, as far as the plugin speaks to it. A trait, so that tests reach the logic natively.

use std::fmt;

use tarn_sdk::clickhouse;
pub(crate) use tarn_sdk::clickhouse::Error;

/// Statements and inserts; unqualified names are in the peer's database.
pub(crate) trait Client {
    /// Rows on their way to one table.
    type Insert: Insert;

    /// Runs a statement and returns the answer's body, at most 64 MiB.
    fn query(&mut self, sql: &str) -> Result<Vec<u8>, Error>;
    /// Rows for `INSERT … FORMAT …`.
    fn insert(&mut self, sql: &str, settings: &[(String, String)]) -> Result<Self::Insert, Error>;
}

/// Rows that are sent while more are made. Dropping it gives up what was not finished.
pub(crate) trait Insert: fmt::Debug {
    /// Sends whole rows.
    fn append(&mut self, rows: &[u8]) -> Result<(), Error>;
    /// Ends the rows without waiting.
    fn end(&mut self);
    /// Waits until all rows are in the table.
    fn finish(&mut self) -> Result<(), Error>;
}

/// The peer's server, through the host.
#[derive(Debug)]
pub(crate) struct Host;

impl Client for Host {
    type Insert = clickhouse::Insert;

    fn query(&mut self, sql: &str) -> Result<Vec<u8>, Error> {
        clickhouse::query(sql)
    }

    fn insert(&mut self, sql: &str, settings: &[(String, String)]) -> Result<Self::Insert, Error> {
        clickhouse::Insert::begin(sql, settings)
    }
}

impl Insert for clickhouse::Insert {
    fn append(&mut self, rows: &[u8]) -> Result<(), Error> {
        Self::append(self, rows)
    }

    fn end(&mut self) {
        Self::end(self);
    }

    fn finish(&mut self) -> Result<(), Error> {
        Self::finish(self)
    }
}

/// Rows of texts from an answer in the format `JSONCompactEachRow`, whose columns are all strings.
pub(crate) fn text_rows(client: &mut impl Client, sql: &str) -> Result<Vec<Vec<String>>, Error> {
    let answer = client.query(&format!("{sql} FORMAT JSONCompactEachRow"))?;
    serde_json::Deserializer::from_slice(&answer)
        .into_iter::<Vec<String>>()
        .collect::<Result<_, _>>()
        // 0: what arrived is not what the server sends, so the way there is at fault.
        .map_err(|error| Error { code: 0, message: format!("the server's answer is not readable: {error}") })
}
