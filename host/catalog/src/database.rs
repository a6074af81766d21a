//! The connection to the database: SQLite in a file or PostgreSQL by URL, behind the same statements.
//!
//! Both are spoken to through sqlx's `Any`, so statements hold to `$1` placeholders, ON CONFLICT and
//! RETURNING, and read BIGINT and TEXT only. SQLite has one writer here, so that writers queue in this
//! process instead of failing on each other's locks, and readers beside it (WAL). Commits are
//! synchronous: what was committed survives `kill -9` and a power cut.
//!
//! SQLite undoes a transaction by itself where a write meets a full disk or another trouble of the file. sqlx does not
//! notice: its own undoing fails, and the connection would take no transaction ever after. Such a connection
//! does not come back into the pool.

use std::path::Path;

use sqlx::any::{AnyPoolOptions, AnyRow, install_default_drivers};
use sqlx::{Any, AnyPool, Connection as _, Executor as _, Row as _, Transaction};
use tarn_model::{Secret, Timestamp};

use crate::CatalogError;
use crate::config::{ACQUIRE_TIMEOUT, POSTGRES_CONNECTIONS_MAX, SQLITE_BUSY_TIMEOUT_MS, SQLITE_READERS_MAX};

/// The pools.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    readers: AnyPool,
    writers: AnyPool,
    kind: Kind,
}

/// Which database it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sqlite,
    Postgres,
}

impl Database {
    /// Opens, and makes if needed, the SQLite file.
    pub(crate) async fn sqlite(path: &Path) -> Result<Self, CatalogError> {
        install_default_drivers();
        let place = path.display().to_string();
        let failed = |source| CatalogError::Open { place: place.clone(), source };
        let url = format!("sqlite://{}?mode=rwc", percent_encoded(&place));
        let pool = |size: u32, purpose: &'static str| {
            AnyPoolOptions::new()
                .max_connections(size)
                .min_connections(1)
                .acquire_timeout(ACQUIRE_TIMEOUT)
                .idle_timeout(None)
                .max_lifetime(None)
                .after_connect(move |connection, _| {
                    Box::pin(async move {
                        connection.execute(purpose).await?;
                        Ok(())
                    })
                })
                .after_release(|connection, _| {
                    Box::pin(async move {
                        // What undoes a dropped transaction is still on its way to the connection.
                        connection.ping().await?;
                        Ok(!connection.is_in_transaction())
                    })
                })
        };
        let writers = pool(1, WRITER_SETTINGS).connect(&url).await.map_err(&failed)?;
        let readers = pool(SQLITE_READERS_MAX, READER_SETTINGS).connect(&url).await.map_err(&failed)?;
        Ok(Self { readers, writers, kind: Kind::Sqlite })
    }

    /// Opens the PostgreSQL database.
    pub(crate) async fn postgres(url: &Secret) -> Result<Self, CatalogError> {
        install_default_drivers();
        let pool = AnyPoolOptions::new()
            .max_connections(POSTGRES_CONNECTIONS_MAX)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect(url.expose())
            .await
            .map_err(|source| CatalogError::Open { place: "at the configured URL".into(), source })?;
        Ok(Self { readers: pool.clone(), writers: pool, kind: Kind::Postgres })
    }

    /// Where queries run.
    pub(crate) fn reader(&self) -> &AnyPool {
        &self.readers
    }

    /// Begins a transaction that writes. Dropping it undoes it.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Any>, CatalogError> {
        let statement = match self.kind {
            Kind::Sqlite => "BEGIN IMMEDIATE",
            Kind::Postgres => "BEGIN",
        };
        self.writers.begin_with(statement).await.map_err(CatalogError::query("begin"))
    }

    /// Writes what nobody reads, to see whether writing works.
    pub(crate) async fn probe(&self) -> Result<(), CatalogError> {
        let failed = || CatalogError::query("trial of a write");
        let mut transaction = self.begin().await?;
        // Another value each time: SQLite writes nothing where nothing changes.
        sqlx::query(
            "INSERT INTO meta (name, value) VALUES ($1, $2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )
        .bind(PROBE)
        .bind(now().micros().to_string())
        .execute(&mut *transaction)
        .await
        .map_err(failed())?;
        transaction.commit().await.map_err(failed())
    }

    /// Writes the SQLite file anew, so that nothing of what was overwritten is left in it. PostgreSQL's
    /// vacuum does as much in its own time.
    pub(crate) async fn scrub(&self) -> Result<(), CatalogError> {
        if self.kind == Kind::Postgres {
            return Ok(());
        }
        for statement in ["VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"] {
            let done = sqlx::query(statement).execute(&self.writers).await;
            done.map_err(CatalogError::query("clean-up"))?;
        }
        Ok(())
    }

    /// Closes the connections; SQLite then folds its write-ahead log into the file.
    pub(crate) async fn close(&self) {
        self.readers.close().await;
        self.writers.close().await;
    }
}

/// See `SQLITE_BUSY_TIMEOUT_MS` for the first number.
const WRITER_SETTINGS: &str = "PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; \
     PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON";
const READER_SETTINGS: &str = "PRAGMA busy_timeout = 10000; PRAGMA query_only = ON";
const _: () = assert!(SQLITE_BUSY_TIMEOUT_MS == 10_000, "the settings above name this number");

/// The meta entry that tells when writing was tried last.
const PROBE: &str = "written_us";

/// The moment to write down.
pub(crate) fn now() -> Timestamp {
    Timestamp::from(std::time::SystemTime::now())
}

/// The next value of a counter.
pub(crate) async fn next(
    transaction: &mut Transaction<'static, Any>,
    counter: &'static str,
    by: i64,
) -> Result<i64, CatalogError> {
    let row = sqlx::query("UPDATE counters SET value = value + $1 WHERE name = $2 RETURNING value")
        .bind(by)
        .bind(counter)
        .fetch_one(&mut **transaction)
        .await
        .map_err(CatalogError::query("counter"))?;
    integer(&row, 0)
}

/// A BIGINT of a row.
pub(crate) fn integer(row: &AnyRow, column: usize) -> Result<i64, CatalogError> {
    row.try_get(column).map_err(CatalogError::query("row"))
}

/// A BIGINT of a row that holds a count or an unsigned id.
pub(crate) fn unsigned(row: &AnyRow, column: usize) -> Result<u64, CatalogError> {
    u64::try_from(integer(row, column)?).map_err(CatalogError::content("a count"))
}

/// The same in 32 bits.
pub(crate) fn small(row: &AnyRow, column: usize) -> Result<u32, CatalogError> {
    u32::try_from(integer(row, column)?).map_err(CatalogError::content("a count"))
}

/// A TEXT of a row.
pub(crate) fn text(row: &AnyRow, column: usize) -> Result<String, CatalogError> {
    row.try_get(column).map_err(CatalogError::query("row"))
}

/// A TEXT that may be NULL.
pub(crate) fn optional_text(row: &AnyRow, column: usize) -> Result<Option<String>, CatalogError> {
    row.try_get(column).map_err(CatalogError::query("row"))
}

/// A BIGINT that may be NULL.
pub(crate) fn optional_integer(row: &AnyRow, column: usize) -> Result<Option<i64>, CatalogError> {
    row.try_get(column).map_err(CatalogError::query("row"))
}

/// An unsigned number in the database's signed form.
pub(crate) fn signed(number: u64, what: &'static str) -> Result<i64, CatalogError> {
    i64::try_from(number).map_err(|_| CatalogError::Range(what))
}

/// A path as the middle of a URL.
fn percent_encoded(path: &str) -> String {
    path.bytes().fold(String::with_capacity(path.len()), |mut url, byte| {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
        url
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FullPlace;

    async fn stored(database: &Database, name: &str, value: &str) -> Result<(), CatalogError> {
        let mut transaction = database.begin().await?;
        sqlx::query("INSERT INTO entries (name, value) VALUES ($1, $2)")
            .bind(name)
            .bind(value)
            .execute(&mut *transaction)
            .await
            .map_err(CatalogError::query("entry"))?;
        transaction.commit().await.map_err(CatalogError::query("entry"))
    }

    #[tokio::test]
    async fn writes_that_found_no_room_are_undone_and_later_ones_go_well() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::sqlite(&folder.path().join("c.sqlite")).await.expect("opens");
        for statement in ["CREATE TABLE entries (name TEXT, value TEXT)", "PRAGMA max_page_count = 8"] {
            sqlx::query(statement).execute(&database.writers).await.expect(statement);
        }
        let large = "x".repeat(1 << 20);
        let full = stored(&database, "large", &large).await.expect_err("there are eight pages");
        assert!(matches!(full, CatalogError::Full { place: FullPlace::DataFolder, .. }), "{full:?}");
        // The limit was that connection's: whoever writes now has another one.
        stored(&database, "small", "y").await.expect("there is room");
        stored(&database, "large", &large).await.expect("there is room");
        let rows = sqlx::query("SELECT name FROM entries").fetch_all(database.reader()).await.expect("read");
        let names: Vec<_> = rows.iter().map(|row| text(row, 0).expect("a name")).collect();
        assert_eq!(names, ["small", "large"]);
    }
}
