//! Changes of columns that mirrors stopped at, and what a person approved of them.

use sqlx::any::AnyRow;
use tarn_model::{SchemaChange, TablePlan, Timestamp};

use crate::database::{integer, now, text};
use crate::digest::sha256;
use crate::{Catalog, CatalogError};

/// Characters of a digest: a person copies them, and a mirror has a handful of changes.
const DIGEST_CHARACTERS: usize = 16;

impl Catalog {
    /// The changes of a mirror that wait, or are approved and not made yet, by table.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn schema_changes(&self, mirror: i64) -> Result<Vec<SchemaChange>, CatalogError> {
        let rows = sqlx::query(
            "SELECT digest, plan, approved, noticed_us FROM schema_changes WHERE mirror_id = $1 ORDER BY table_name",
        )
        .bind(mirror)
        .fetch_all(self.database().reader())
        .await
        .map_err(CatalogError::query("changes of columns"))?;
        rows.iter().map(change).collect()
    }

    /// Keeps a change that waits, in place of what its table had, and returns the change's digest. An approval of
    /// another one goes; that of the same one stays.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn keep_schema_change(&self, mirror: i64, plan: &TablePlan) -> Result<String, CatalogError> {
        let failed = || CatalogError::query("change of columns");
        let digest = digest_of(plan);
        let plan_text = serde_json::to_string(plan).map_err(CatalogError::content("schema_changes.plan"))?;
        let mut transaction = self.database().begin().await?;
        sqlx::query("DELETE FROM schema_changes WHERE mirror_id = $1 AND table_name = $2 AND digest <> $3")
            .bind(mirror)
            .bind(&plan.table)
            .bind(&digest)
            .execute(&mut *transaction)
            .await
            .map_err(failed())?;
        sqlx::query(
            "INSERT INTO schema_changes (mirror_id, table_name, digest, plan, approved, noticed_us)
             VALUES ($1, $2, $3, $4, 0, $5) ON CONFLICT DO NOTHING",
        )
        .bind(mirror)
        .bind(&plan.table)
        .bind(&digest)
        .bind(plan_text)
        .bind(now().micros())
        .execute(&mut *transaction)
        .await
        .map_err(failed())?;
        transaction.commit().await.map_err(failed())?;
        Ok(digest)
    }

    /// Approves the change of a digest; false where the mirror does not wait at such a one.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn approve_schema_change(&self, mirror: i64, digest: &str) -> Result<bool, CatalogError> {
        let failed = || CatalogError::query("approval of a change of columns");
        let mut transaction = self.database().begin().await?;
        let done = sqlx::query("UPDATE schema_changes SET approved = 1 WHERE mirror_id = $1 AND digest = $2")
            .bind(mirror)
            .bind(digest)
            .execute(&mut *transaction)
            .await
            .map_err(failed())?;
        transaction.commit().await.map_err(failed())?;
        Ok(done.rows_affected() > 0)
    }

    /// Forgets the change of a table, which is made or given up. Repeatable.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn forget_schema_change(&self, mirror: i64, table: &str) -> Result<(), CatalogError> {
        self.forget_changes(
            "DELETE FROM schema_changes WHERE mirror_id = $1 AND table_name = $2",
            mirror,
            table,
        )
        .await
    }

    /// Forgets the changes of all tables. Repeatable.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub async fn forget_schema_changes(&self, mirror: i64) -> Result<(), CatalogError> {
        // Most mirrors have none: a look is cheaper than a transaction that writes.
        if self.schema_changes(mirror).await?.is_empty() {
            return Ok(());
        }
        self.forget_changes(
            "DELETE FROM schema_changes WHERE mirror_id = $1 AND table_name <> $2",
            mirror,
            "",
        )
        .await
    }

    async fn forget_changes(
        &self,
        statement: &'static str,
        mirror: i64,
        table: &str,
    ) -> Result<(), CatalogError> {
        let failed = || CatalogError::query("change of columns");
        let mut transaction = self.database().begin().await?;
        sqlx::query(statement).bind(mirror).bind(table).execute(&mut *transaction).await.map_err(failed())?;
        transaction.commit().await.map_err(failed())
    }
}

/// What is run, where: whatever else the plan says of it.
fn digest_of(plan: &TablePlan) -> String {
    let parts = [plan.table.as_str(), plan.target.as_str()].into_iter().chain(plan.statements());
    let bytes: Vec<u8> = parts.flat_map(|part| part.bytes().chain([0])).collect();
    let mut digest = sha256(&bytes);
    digest.truncate(DIGEST_CHARACTERS);
    digest
}

fn change(row: &AnyRow) -> Result<SchemaChange, CatalogError> {
    Ok(SchemaChange {
        digest: text(row, 0)?,
        plan: serde_json::from_str(&text(row, 1)?).map_err(CatalogError::content("schema_changes.plan"))?,
        approved: integer(row, 2)? != 0,
        noticed_at: Timestamp::from_micros(integer(row, 3)?),
    })
}
