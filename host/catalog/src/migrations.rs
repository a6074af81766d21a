//! Bringing a catalog to the newest form: one list for both databases, each step in one transaction.

use crate::CatalogError;
use crate::database::{Database, integer, now};

/// The steps, oldest first. A released step is never changed.
const STEPS: &[&str] = &[
    include_str!("../migrations/0001_initial.sql"),
    include_str!("../migrations/0002_hours_and_tags.sql"),
    include_str!("../migrations/0003_dead_letters.sql"),
    include_str!("../migrations/0004_versions_of_scripts.sql"),
    include_str!("../migrations/0005_verifications.sql"),
    include_str!("../migrations/0006_beside.sql"),
    include_str!("../migrations/0007_staged.sql"),
    include_str!("../migrations/0008_stages.sql"),
    include_str!("../migrations/0009_deliveries.sql"),
    include_str!("../migrations/0010_schema_changes.sql"),
];

/// Applies the steps that a catalog lacks.
pub(crate) async fn apply(database: &Database) -> Result<(), CatalogError> {
    apply_steps(database, STEPS).await
}

async fn apply_steps(database: &Database, steps: &'static [&'static str]) -> Result<(), CatalogError> {
    let failed = || CatalogError::query("migration");
    let mut transaction = database.begin().await?;
    sqlx::query(
        "CREATE TABLE IF NOT EXISTS schema_versions (version BIGINT PRIMARY KEY, applied_us BIGINT NOT NULL)",
    )
    .execute(&mut *transaction)
    .await
    .map_err(failed())?;
    let row = sqlx::query("SELECT COALESCE(MAX(version), 0) FROM schema_versions")
        .fetch_one(&mut *transaction)
        .await
        .map_err(failed())?;
    let found = integer(&row, 0)?;
    let known = i64::try_from(steps.len()).expect("a short list");
    if found > known {
        return Err(CatalogError::Newer { found, known });
    }
    for (version, step) in (1_i64..).zip(steps).filter(|(version, _)| *version > found) {
        for statement in statements(step) {
            sqlx::query(statement).execute(&mut *transaction).await.map_err(failed())?;
        }
        sqlx::query("INSERT INTO schema_versions (version, applied_us) VALUES ($1, $2)")
            .bind(version)
            .bind(now().micros())
            .execute(&mut *transaction)
            .await
            .map_err(failed())?;
    }
    transaction.commit().await.map_err(failed())
}

/// The statements of a step: a `;` at the end of a line ends one.
fn statements(step: &'static str) -> impl Iterator<Item = &'static str> {
    step.split(";\n").map(str::trim).filter(|statement| !statement.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BROKEN: &[&str] = &["CREATE TABLE a (x BIGINT);\nCREATE TABLE a (x BIGINT);\n"];
    const NEXT: &[&str] = &["CREATE TABLE a (x BIGINT);\n", "ALTER TABLE a ADD COLUMN y TEXT;\n"];

    async fn database(folder: &tempfile::TempDir) -> Database {
        Database::sqlite(&folder.path().join("c.sqlite")).await.expect("opens")
    }

    #[tokio::test]
    async fn steps_are_applied_once_and_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = database(&folder).await;
        apply_steps(&database, &NEXT[..1]).await.expect("the first");
        apply_steps(&database, NEXT).await.expect("the second");
        apply_steps(&database, NEXT).await.expect("nothing to do");
        sqlx::query("SELECT x, y FROM a").fetch_all(database.reader()).await.expect("both columns");
    }

    #[tokio::test]
    async fn what_the_first_form_held_is_in_the_second() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = database(&folder).await;
        apply_steps(&database, &STEPS[..1]).await.expect("the first form");
        let mut transaction = database.begin().await.expect("begins");
        for statement in [
            "INSERT INTO mirrors VALUES (7, 'm', 'a', 'b', '', '{}', 'running', 'STATUS_RUNNING',
                 'STATUS_RUNNING', 1, NULL, NULL, '{}', 0, 35, 0, 0)",
            "INSERT INTO cdc_batches VALUES (7, 1, 0, 1, 10, 3600000000, 3600000001)",
            "INSERT INTO cdc_batches VALUES (7, 2, 1, 2, 20, 7199999999, 7200000001)",
            "INSERT INTO cdc_batches VALUES (7, 3, 2, 3, 5, 7200000000, 7200000001)",
            "INSERT INTO cdc_batches VALUES (7, 4, 3, 3, 0, 7200000002, NULL)",
        ] {
            sqlx::query(statement).execute(&mut *transaction).await.expect(statement);
        }
        transaction.commit().await.expect("committed");
        apply(&database).await.expect("the second form");
        let hours =
            sqlx::query("SELECT hour, row_count FROM written_hours WHERE mirror_id = 7 ORDER BY hour")
                .fetch_all(database.reader())
                .await
                .expect("read");
        let hours: Vec<_> = hours
            .iter()
            .map(|row| (integer(row, 0).expect("a number"), integer(row, 1).expect("a number")))
            .collect();
        assert_eq!(hours, [(1, 30), (2, 5)]);
    }

    #[tokio::test]
    async fn versions_of_scripts_from_before_they_had_cases_and_names_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::sqlite(&folder.path().join("catalog.sqlite")).await.expect("opens");
        let before =
            STEPS.iter().position(|step| step.contains("rolled_back_from")).expect("the step is there");
        apply_steps(&database, &STEPS[..before]).await.expect("the form before");
        let mut transaction = database.begin().await.expect("begins");
        for statement in [
            "INSERT INTO scripts VALUES (1, 'mask', 'lua', 2, 10)",
            "INSERT INTO script_versions VALUES (1, 1, 'lua', 'one', 'd1', 10)",
            "INSERT INTO script_versions VALUES (1, 2, 'lua', 'two', 'd2', 20)",
        ] {
            sqlx::query(statement).execute(&mut *transaction).await.expect(statement);
        }
        transaction.commit().await.expect("committed");
        database.close().await;
        let options =
            crate::CatalogOptions { data_dir: folder.path().into(), ..crate::CatalogOptions::default() };
        let catalog = crate::Catalog::open(&options).await.expect("opens");
        let versions = catalog.script_versions(1).await.expect("read");
        let read: Vec<_> = versions.iter().map(|script| (script.version, script.source.as_str())).collect();
        assert_eq!(read, [(2, "two"), (1, "one")]);
        for script in versions {
            assert_eq!(
                (script.tests.as_str(), script.created_by.as_str(), script.rolled_back_from),
                ("", "", None)
            );
        }
    }

    #[tokio::test]
    async fn a_step_that_fails_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = database(&folder).await;
        apply_steps(&database, BROKEN).await.expect_err("the table is there twice");
        apply_steps(&database, NEXT).await.expect("the failed step left no table");
    }

    #[tokio::test]
    async fn a_catalog_of_a_newer_tarn_is_refused_by_its_form() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = database(&folder).await;
        apply_steps(&database, NEXT).await.expect("both");
        let error = apply_steps(&database, &NEXT[..1]).await.expect_err("newer");
        assert!(matches!(error, CatalogError::Newer { found: 2, known: 1 }));
    }
}
