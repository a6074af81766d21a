//! The server, as far as the plugin speaks to it. A trait, so that tests reach the logic natively.

use tarn_sdk::clickhouse;
pub(crate) use tarn_sdk::clickhouse::Error;

/// Statements and inserts; unqualified names are in the peer's database.
pub(crate) trait Client {
    /// Runs a statement and returns the answer's body, at most 64 MiB.
    fn query(&mut self, sql: &str) -> Result<Vec<u8>, Error>;
    /// Runs `INSERT … FORMAT …` with the data.
    fn insert(&mut self, sql: &str, settings: &[(String, String)], data: &[u8]) -> Result<(), Error>;
}

/// The peer's server, through the host.
#[derive(Debug)]
pub(crate) struct Host;

impl Client for Host {
    fn query(&mut self, sql: &str) -> Result<Vec<u8>, Error> {
        clickhouse::query(sql)
    }

    fn insert(&mut self, sql: &str, settings: &[(String, String)], data: &[u8]) -> Result<(), Error> {
        clickhouse::insert(sql, settings, data)
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
