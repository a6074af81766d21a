//! Records that could not be taken and are kept aside, and counts of those that were left out.
//!
//! A record rests sealed: the catalog holds no other values of rows in the clear. What stands beside it, table,
//! key and what went wrong, may be in the log as well. A letter that was settled keeps that and gives its record up.

mod rows;

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sqlx::any::AnyRow;
use sqlx::{Any, Transaction};
use tarn_model::{DeadLetter, DeadLetterState, Enumerated as _, RecordErrors, RecordStage, Timestamp};

use self::rows::{keys, letter, lines_text, mark, shortened, version_text};
use crate::config::DEAD_LETTERS_SETTLED_MAX;
use crate::database::{next, now, signed, text, unsigned};
use crate::digest::sha256;
use crate::{Catalog, CatalogError};

/// Bytes that a letter takes beside what is in it.
const LETTER_OVERHEAD_BYTES: u64 = 512;

/// A record to keep aside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewLetter {
    /// Tells the record from every other of the mirror; see [`letter_digest`].
    pub identity: String,
    /// The same of the row that it is about: of the keys that the change names, the old and the new.
    pub row_keys: Vec<String>,
    /// `schema.name` of the source table.
    pub table: String,
    /// The row's key as text.
    pub key: String,
    /// What happened to the row.
    pub kind: String,
    /// Who could not take it.
    pub stage: RecordStage,
    /// Where its transaction committed.
    pub position: u64,
    /// Which row of the transaction.
    pub ordinal: u64,
    /// When its transaction committed.
    pub commit_time: Option<Timestamp>,
    /// The script, empty for a destination.
    pub script: String,
    /// The script's version.
    pub script_version: u32,
    /// The line in the script.
    pub line: u32,
    /// The function in the script.
    pub function: String,
    /// What went wrong.
    pub message: String,
    /// What the script logged last.
    pub log_lines: Vec<String>,
    /// The record, a batch of it alone.
    pub record: Vec<u8>,
}

/// What keeping letters did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LettersKept {
    /// They are there.
    Done,
    /// They would take more than the mirror's room, and none was kept.
    Full {
        /// What the letters that are there take, in bytes.
        bytes: u64,
    },
}

/// Which letters to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LetterQuery {
    /// Only these; all where empty.
    pub state: Option<DeadLetterState>,
    /// Only letters after this one.
    pub after: i64,
    /// Most letters to return.
    pub limit: u32,
}

/// A letter that waits, with its record: a batch of that alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingLetter {
    /// What is known of it.
    pub letter: DeadLetter,
    /// See [`NewLetter::row_keys`].
    pub row_keys: Vec<String>,
    /// The record.
    pub record: Vec<u8>,
}

/// A letter that waits, as short as can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetterMark {
    /// See [`NewLetter::identity`].
    pub identity: String,
    /// See [`NewLetter::row_keys`].
    pub row_keys: Vec<String>,
    /// See [`NewLetter::position`].
    pub position: u64,
    /// See [`NewLetter::ordinal`].
    pub ordinal: u64,
}

/// What a replay says of a letter that still waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetterTrouble {
    /// The script, empty for a destination.
    pub script: String,
    /// The script's version.
    pub script_version: u32,
    /// The line in the script.
    pub line: u32,
    /// The function in the script.
    pub function: String,
    /// What went wrong.
    pub message: String,
    /// What the script logged last.
    pub log_lines: Vec<String>,
}

/// A digest of what tells a record, or a row, from others.
pub fn letter_digest(parts: &[&[u8]]) -> String {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    sha256(&bytes)
}

/// A query of the columns that `letter` reads.
macro_rules! select_letters {
    ($further:literal, $rest:literal) => {
        concat!(
            "SELECT id, source_table, row_key, kind, stage, version, commit_us, script, script_version, line, \
             function_name, message, log_lines, bytes, state, created_us, settled_us",
            $further,
            " FROM dead_letters ",
            $rest
        )
    };
}

impl Catalog {
    /// Keeps records of a mirror aside, all or none. One that is there already and waits is replaced by what is
    /// said of it now. One that was settled stays settled, unless it is of a later version: a row that another load
    /// read is another record, which nobody has settled.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn keep_letters(
        &self,
        mirror: i64,
        letters: &[NewLetter],
        bytes_max: u64,
    ) -> Result<LettersKept, CatalogError> {
        let failed = || CatalogError::query("dead letters");
        let count = i64::try_from(letters.len()).map_err(|_| CatalogError::Range("a count of letters"))?;
        let mut transaction = self.database().begin().await?;
        let last = next(&mut transaction, "dead_letters", count).await?;
        for (id, letter) in (last - count + 1..).zip(letters) {
            self.insert(&mut transaction, mirror, id, letter).await?;
        }
        let row = sqlx::query(
            "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM dead_letters WHERE mirror_id = $1",
        )
        .bind(mirror)
        .fetch_one(&mut *transaction)
        .await
        .map_err(failed())?;
        let bytes = unsigned(&row, 0)?;
        if bytes > bytes_max {
            let added: u64 = letters.iter().map(NewLetter::bytes).sum();
            return Ok(LettersKept::Full { bytes: bytes.saturating_sub(added) });
        }
        transaction.commit().await.map_err(failed())?;
        Ok(LettersKept::Done)
    }

    async fn insert(
        &self,
        transaction: &mut Transaction<'static, Any>,
        mirror: i64,
        id: i64,
        letter: &NewLetter,
    ) -> Result<(), CatalogError> {
        // The seal names the record and not the letter: one that is replaced keeps its id.
        let name = seal_name(mirror, &letter.identity);
        let record = self.keyring().seal(TABLE, &name, &STANDARD.encode(&letter.record));
        sqlx::query(
            "INSERT INTO dead_letters (id, mirror_id, identity, state, bytes, version, row_keys,
                 source_table, kind, stage, commit_us, script, script_version, line, created_us, function_name,
                 row_key, message, log_lines, record)
             VALUES ($1, $2, $3, 'WAITING', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
                 $19)
             ON CONFLICT (mirror_id, identity) DO UPDATE SET state = excluded.state, settled_us = NULL,
                 bytes = excluded.bytes, version = excluded.version, row_keys = excluded.row_keys,
                 created_us = excluded.created_us, script = excluded.script, script_version = excluded.script_version, line = excluded.line,
                 function_name = excluded.function_name, message = excluded.message,
                 log_lines = excluded.log_lines, record = excluded.record
             WHERE dead_letters.version < excluded.version
                 OR dead_letters.state = 'WAITING' AND dead_letters.version = excluded.version",
        )
        .bind(id)
        .bind(mirror)
        .bind(&letter.identity)
        .bind(signed(letter.bytes(), "bytes of a letter")?)
        .bind(version_text(letter.position, letter.ordinal))
        .bind(letter.row_keys.join(","))
        .bind(&letter.table)
        .bind(&letter.kind)
        .bind(letter.stage.name())
        .bind(letter.commit_time.map(Timestamp::micros))
        .bind(&letter.script)
        .bind(i64::from(letter.script_version))
        .bind(i64::from(letter.line))
        .bind(now().micros())
        .bind(&letter.function)
        .bind(shortened(&letter.key))
        .bind(shortened(&letter.message))
        .bind(lines_text(&letter.log_lines)?)
        .bind(record)
        .execute(&mut **transaction)
        .await
        .map_err(CatalogError::query("dead letter"))?;
        Ok(())
    }

    /// The letters of a mirror that wait.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn letter_marks(&self, mirror: i64) -> Result<Vec<LetterMark>, CatalogError> {
        let rows = sqlx::query(
            "SELECT identity, row_keys, version FROM dead_letters
             WHERE mirror_id = $1 AND state = 'WAITING'",
        )
        .bind(mirror)
        .fetch_all(self.database().reader())
        .await
        .map_err(CatalogError::query("dead letters"))?;
        rows.iter().map(mark).collect()
    }

    /// Takes letters back whose records were delivered again and taken.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn withdraw_letters(&self, mirror: i64, identities: &[String]) -> Result<(), CatalogError> {
        let failed = || CatalogError::query("dead letters");
        let mut transaction = self.database().begin().await?;
        for identity in identities {
            sqlx::query(
                "DELETE FROM dead_letters WHERE mirror_id = $1 AND identity = $2 AND state = 'WAITING'",
            )
            .bind(mirror)
            .bind(identity)
            .execute(&mut *transaction)
            .await
            .map_err(failed())?;
        }
        transaction.commit().await.map_err(failed())
    }

    /// Gives up the waiting letters of a table that are older than a version, or of all tables; which they were.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn void_letters(
        &self,
        mirror: i64,
        table: Option<&str>,
        before: Option<(u64, u64)>,
    ) -> Result<Vec<LetterMark>, CatalogError> {
        let failed = || CatalogError::query("dead letters");
        let mut transaction = self.database().begin().await?;
        let rows = sqlx::query(
            "UPDATE dead_letters SET state = 'DISCARDED', bytes = 0, record = '', settled_us = $1
             WHERE mirror_id = $2 AND state = 'WAITING' AND ($3 = '' OR source_table = $3)
                 AND ($4 = '' OR version < $4)
             RETURNING identity, row_keys, version",
        )
        .bind(now().micros())
        .bind(mirror)
        .bind(table.unwrap_or_default())
        .bind(before.map_or_else(String::new, |(position, ordinal)| version_text(position, ordinal)))
        .fetch_all(&mut *transaction)
        .await
        .map_err(failed())?;
        trim(&mut transaction, mirror).await?;
        transaction.commit().await.map_err(failed())?;
        rows.iter().map(mark).collect()
    }

    /// Settles letters that wait, which give their records up; which of them they were.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn settle_letters(
        &self,
        mirror: i64,
        ids: &[i64],
        state: DeadLetterState,
    ) -> Result<Vec<LetterMark>, CatalogError> {
        let failed = || CatalogError::query("dead letters");
        let mut settled = Vec::new();
        let mut transaction = self.database().begin().await?;
        for id in ids {
            let row = sqlx::query(
                "UPDATE dead_letters SET state = $1, bytes = 0, record = '', settled_us = $2
                 WHERE mirror_id = $3 AND id = $4 AND state = 'WAITING'
                 RETURNING identity, row_keys, version",
            )
            .bind(state.name())
            .bind(now().micros())
            .bind(mirror)
            .bind(id)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(failed())?;
            if let Some(row) = row {
                settled.push(mark(&row)?);
            }
        }
        trim(&mut transaction, mirror).await?;
        transaction.commit().await.map_err(failed())?;
        Ok(settled)
    }

    /// Stores what a replay found of letters that still wait.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn note_letter_trouble(
        &self,
        mirror: i64,
        troubles: &[(i64, LetterTrouble)],
    ) -> Result<(), CatalogError> {
        let failed = || CatalogError::query("dead letters");
        let mut transaction = self.database().begin().await?;
        for (id, trouble) in troubles {
            sqlx::query(
                "UPDATE dead_letters SET script = $1, script_version = $2, line = $3, function_name = $4,
                     message = $5, log_lines = $6
                 WHERE mirror_id = $7 AND id = $8 AND state = 'WAITING'",
            )
            .bind(&trouble.script)
            .bind(i64::from(trouble.script_version))
            .bind(i64::from(trouble.line))
            .bind(&trouble.function)
            .bind(shortened(&trouble.message))
            .bind(lines_text(&trouble.log_lines)?)
            .bind(mirror)
            .bind(id)
            .execute(&mut *transaction)
            .await
            .map_err(failed())?;
        }
        transaction.commit().await.map_err(failed())
    }

    /// Letters of a mirror by id, oldest first.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn letters(&self, mirror: i64, query: LetterQuery) -> Result<Vec<DeadLetter>, CatalogError> {
        let rows = sqlx::query(select_letters!(
            "",
            "WHERE mirror_id = $1 AND id > $2 AND ($3 = '' OR state = $3) ORDER BY id LIMIT $4"
        ))
        .bind(mirror)
        .bind(query.after)
        .bind(query.state.map_or("", DeadLetterState::name))
        .bind(i64::from(query.limit))
        .fetch_all(self.database().reader())
        .await
        .map_err(CatalogError::query("dead letters"))?;
        rows.iter().map(letter).collect()
    }

    /// Letters that wait, in the order of their records: by id where ids are given. At most so many.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn waiting_letters(
        &self,
        mirror: i64,
        ids: &[i64],
        limit: u32,
    ) -> Result<Vec<DeadLetter>, CatalogError> {
        let failed = || CatalogError::query("dead letters");
        let mut found = Vec::new();
        if ids.is_empty() {
            let rows = sqlx::query(select_letters!(
                "",
                "WHERE mirror_id = $1 AND state = 'WAITING' ORDER BY version, id LIMIT $2"
            ))
            .bind(mirror)
            .bind(i64::from(limit))
            .fetch_all(self.database().reader())
            .await
            .map_err(failed())?;
            return rows.iter().map(letter).collect();
        }
        for id in ids.iter().take(limit as usize) {
            let row =
                sqlx::query(select_letters!("", "WHERE mirror_id = $1 AND id = $2 AND state = 'WAITING'"))
                    .bind(mirror)
                    .bind(id)
                    .fetch_optional(self.database().reader())
                    .await
                    .map_err(failed())?;
            found.extend(row.as_ref().map(letter).transpose()?);
        }
        found.sort_by_key(|letter| (letter.position, letter.ordinal, letter.id));
        Ok(found)
    }

    /// A letter that waits, with its record.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn waiting_letter(&self, mirror: i64, id: i64) -> Result<Option<WaitingLetter>, CatalogError> {
        let row = sqlx::query(select_letters!(
            ", row_keys, record, identity",
            "WHERE mirror_id = $1 AND id = $2 AND state = 'WAITING'"
        ))
        .bind(mirror)
        .bind(id)
        .fetch_optional(self.database().reader())
        .await
        .map_err(CatalogError::query("dead letter"))?;
        row.map(|row| self.waiting(mirror, &row)).transpose()
    }

    fn waiting(&self, mirror: i64, row: &AnyRow) -> Result<WaitingLetter, CatalogError> {
        let letter = letter(row)?;
        let name = seal_name(mirror, &text(row, 19)?);
        let record = self.keyring().open(TABLE, &name, &text(row, 18)?)?;
        let record = STANDARD.decode(record).map_err(CatalogError::content("dead_letters.record"))?;
        Ok(WaitingLetter { letter, row_keys: keys(&text(row, 17)?), record })
    }

    /// Whether another letter about one of the rows waits that is older than this one.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn waits_for_earlier(&self, mirror: i64, letter: &WaitingLetter) -> Result<bool, CatalogError> {
        let DeadLetter { id, position, ordinal, .. } = letter.letter;
        for key in &letter.row_keys {
            let row = sqlx::query(
                "SELECT id FROM dead_letters WHERE mirror_id = $1 AND state = 'WAITING'
                     AND (version < $2 OR (version = $2 AND id < $3)) AND row_keys LIKE $4 LIMIT 1",
            )
            .bind(mirror)
            .bind(version_text(position, ordinal))
            .bind(id)
            .bind(format!("%{key}%"))
            .fetch_optional(self.database().reader())
            .await
            .map_err(CatalogError::query("dead letters"))?;
            if row.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A letter of a mirror, and its record while it waits.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn letter(
        &self,
        mirror: i64,
        id: i64,
    ) -> Result<Option<(DeadLetter, Option<Vec<u8>>)>, CatalogError> {
        if let Some(waiting) = self.waiting_letter(mirror, id).await? {
            return Ok(Some((waiting.letter, Some(waiting.record))));
        }
        let row = sqlx::query(select_letters!("", "WHERE mirror_id = $1 AND id = $2"))
            .bind(mirror)
            .bind(id)
            .fetch_optional(self.database().reader())
            .await
            .map_err(CatalogError::query("dead letter"))?;
        row.map(|row| Ok((letter(&row)?, None))).transpose()
    }

    /// How many records of a mirror could not be taken.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn record_errors(&self, mirror: i64) -> Result<RecordErrors, CatalogError> {
        let failed = || CatalogError::query("dead letters");
        let rows = sqlx::query(
            "SELECT state, COUNT(*), CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM dead_letters
             WHERE mirror_id = $1 GROUP BY state",
        )
        .bind(mirror)
        .fetch_all(self.database().reader())
        .await
        .map_err(failed())?;
        let mut by_state = HashMap::new();
        for row in &rows {
            by_state.insert(text(row, 0)?, (unsigned(row, 1)?, unsigned(row, 2)?));
        }
        let row = sqlx::query("SELECT row_count FROM skipped_records WHERE mirror_id = $1")
            .bind(mirror)
            .fetch_optional(self.database().reader())
            .await
            .map_err(failed())?;
        let of = |state: DeadLetterState| by_state.get(state.name()).copied().unwrap_or_default();
        Ok(RecordErrors {
            skipped: row.map_or(Ok(0), |row| unsigned(&row, 0))?,
            waiting: of(DeadLetterState::Waiting).0,
            replayed: of(DeadLetterState::Replayed).0,
            discarded: of(DeadLetterState::Discarded).0,
            bytes: by_state.values().map(|(_, bytes)| bytes).sum(),
        })
    }

    /// Counts records of a mirror that were left out.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn count_skipped(&self, mirror: i64, records: u64) -> Result<(), CatalogError> {
        let failed = || CatalogError::query("skipped records");
        let mut transaction = self.database().begin().await?;
        sqlx::query(
            "INSERT INTO skipped_records (mirror_id, row_count) VALUES ($1, $2)
             ON CONFLICT (mirror_id) DO UPDATE SET row_count = skipped_records.row_count + excluded.row_count",
        )
        .bind(mirror)
        .bind(signed(records, "a count")?)
        .execute(&mut *transaction)
        .await
        .map_err(failed())?;
        transaction.commit().await.map_err(failed())
    }
}

/// What the seal of a record is made for, besides its own name.
pub(crate) const TABLE: &str = "dead_letters";

/// The name that a record is sealed under.
fn seal_name(mirror: i64, identity: &str) -> String {
    format!("{mirror}/{identity}")
}

impl NewLetter {
    /// What it takes of the mirror's room: the record as it is stored, and the texts.
    fn bytes(&self) -> u64 {
        let lines: usize = self.log_lines.iter().map(String::len).sum();
        // Twice base64, for the record and for its seal.
        let record = self.record.len() as u64 * 16 / 9;
        record + (self.key.len() + self.message.len() + lines) as u64 + LETTER_OVERHEAD_BYTES
    }
}

/// Removes the oldest letters that were settled, beyond those that people look back at.
async fn trim(transaction: &mut Transaction<'static, Any>, mirror: i64) -> Result<(), CatalogError> {
    sqlx::query(
        "DELETE FROM dead_letters WHERE mirror_id = $1 AND state <> 'WAITING' AND id <= COALESCE((
             SELECT id FROM dead_letters WHERE mirror_id = $1 AND state <> 'WAITING'
             ORDER BY id DESC LIMIT 1 OFFSET $2), 0)",
    )
    .bind(mirror)
    .bind(DEAD_LETTERS_SETTLED_MAX)
    .execute(&mut **transaction)
    .await
    .map_err(CatalogError::query("dead letters"))?;
    Ok(())
}
