//! What can go wrong with the catalog.

use tarn_model::Failure;

/// A failure of the catalog. No text holds a secret: statements carry placeholders, and a connection's
/// address is named without its password.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A file or folder of the data directory.
    #[error("cannot use {path}")]
    Folder {
        /// Which one.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Another process holds the data directory.
    #[error("the data directory {path} is in use by another tarn")]
    InUse {
        /// Which one.
        path: String,
    },
    /// The database could not be opened.
    #[error("cannot open the catalog {place}")]
    Open {
        /// Which one, without credentials.
        place: String,
        /// Why.
        #[source]
        source: sqlx::Error,
    },
    /// A statement failed.
    #[error("the catalog's {what} failed")]
    Query {
        /// What it was for.
        what: &'static str,
        /// Why.
        #[source]
        source: sqlx::Error,
    },
    /// What a statement writes has no room.
    #[error("the catalog's {what} found no room")]
    Full {
        /// What it was for.
        what: &'static str,
        /// Where there is none.
        place: FullPlace,
        /// Why.
        #[source]
        source: sqlx::Error,
    },
    /// A newer tarn wrote this catalog.
    #[error("the catalog is of form {found}, this tarn knows forms up to {known}; use the newer tarn")]
    Newer {
        /// The catalog's form.
        found: i64,
        /// The newest known one.
        known: i64,
    },
    /// The sealing key is not what a key looks like.
    #[error("the sealing key from {origin} is not {bytes} bytes of base64")]
    KeyForm {
        /// Where it came from.
        origin: String,
        /// How long it must be.
        bytes: usize,
    },
    /// The secrets were sealed with a key that is not there.
    #[error(
        "the catalog's secrets were sealed with key {wanted}, but the key given is {given}; supply the former"
    )]
    KeyMissing {
        /// Id of the key that sealed.
        wanted: String,
        /// Id of the key that is there.
        given: String,
    },
    /// A rotation to the key that seals already.
    #[error(
        "the secrets are sealed with key {id} already; give the new key, and the present one as the previous"
    )]
    SameKey {
        /// Its id.
        id: String,
    },
    /// A sealed value was changed, moved, or sealed with another key.
    #[error("a sealed value of {place} does not open")]
    Sealed {
        /// Table and name.
        place: String,
    },
    /// A stored value is not what this tarn writes.
    #[error("a stored value of {place} cannot be read")]
    Content {
        /// Table and column.
        place: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A number does not fit the catalog's 64 bits.
    #[error("{0} does not fit the catalog's numbers")]
    Range(&'static str),
    /// A compare-and-set lost too often.
    #[error("others changed the mirror at the same time, again and again")]
    Contention,
}

impl CatalogError {
    pub(crate) fn query(what: &'static str) -> impl FnOnce(sqlx::Error) -> Self {
        move |source| match FullPlace::of(&source) {
            Some(place) => Self::Full { what, place, source },
            None => Self::Query { what, source },
        }
    }

    pub(crate) fn content<E>(place: &'static str) -> impl FnOnce(E) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        move |error| Self::Content { place, source: error.into() }
    }

    /// The error with its causes, for a log line.
    pub fn chain(&self) -> String {
        tarn_model::chain(self)
    }
}

/// Where the catalog has no room left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullPlace {
    /// The data folder, with SQLite.
    DataFolder,
    /// The disk of the PostgreSQL server.
    Server,
}

impl FullPlace {
    /// Where an error of either database says that there is none.
    fn of(error: &sqlx::Error) -> Option<Self> {
        let code = error.as_database_error()?.code()?;
        if code == POSTGRES_DISK_FULL {
            return Some(Self::Server);
        }
        // SQLite's codes are numbers; what comes upon a kind of error is above its eighth bit.
        let code: u32 = code.parse().ok()?;
        (code & 0xff == SQLITE_FULL || code == SQLITE_IOERR_SHMSIZE).then_some(Self::DataFolder)
    }

    /// The place, for a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::DataFolder => "the data folder",
            Self::Server => "the disk of the catalog's PostgreSQL server",
        }
    }
}

const SQLITE_FULL: u32 = 13;

/// The file of the write-ahead log's index could not grow.
const SQLITE_IOERR_SHMSIZE: u32 = 4874;

/// The SQLSTATE `disk_full`.
const POSTGRES_DISK_FULL: &str = "53100";

/// For the loop: a catalog that cannot be reached is passing trouble, one that cannot be read is not.
impl From<CatalogError> for Failure {
    fn from(error: CatalogError) -> Self {
        let text = error.chain();
        match error {
            CatalogError::Full { place, .. } => Self::retry("catalog_full", text).with_hint(format!(
                "make room in {}; what waits for it goes on by itself then",
                place.name()
            )),
            CatalogError::Query { .. } | CatalogError::Open { .. } | CatalogError::Contention => {
                Self::retry("catalog_unavailable", text)
            }
            _ => Self::permanent("catalog_unusable", text),
        }
    }
}
