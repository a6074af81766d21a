//! The demo's table: twelve columns of mixed types, made on the spot, and what keeps changing in it.

use tarn_postgres::Connection;

use super::DemoError;
use crate::config::CHUNK_ROWS;

/// The table at the source.
pub const SOURCE_TABLE: &str = "public.customers";
/// The table at the destination.
pub const DESTINATION_TABLE: &str = "customers";

const CREATE: &str = "\
DROP TABLE IF EXISTS public.customers;
CREATE TABLE public.customers (
    id         bigint PRIMARY KEY,
    email      text NOT NULL,
    name       varchar(80),
    balance    numeric(12,2) NOT NULL,
    visits     integer NOT NULL,
    score      double precision,
    active     boolean NOT NULL,
    born       date,
    updated_at timestamptz NOT NULL,
    device     uuid NOT NULL,
    tags       text[] NOT NULL,
    profile    jsonb
)";

/// The columns of one row, by its number `n`: every type's value follows from the number, every
/// nullable column has NULLs.
const ROW: &str = "\
    n,
    'user' || n || '@example.org',
    CASE WHEN n % 17 = 0 THEN NULL ELSE 'Name ' || md5(n::text) END,
    (n % 1000000)::numeric / 100 - 500,
    (n * 7919 % 100003)::int,
    CASE WHEN n % 13 = 0 THEN NULL ELSE (n % 4096)::float8 / 8 END,
    n % 3 = 0,
    CASE WHEN n % 11 = 0 THEN NULL ELSE date '1940-01-01' + (n % 25000)::int END,
    timestamptz '2024-01-01 00:00:00.000001+00' + n * interval '17.000003 seconds',
    md5('device' || n)::uuid,
    ARRAY['t' || n % 5, 't' || n % 7],
    CASE WHEN n % 19 = 0 THEN NULL ELSE jsonb_build_object('n', n, 'big', 9007199254740993 + n) END";

/// Makes the table anew with rows `1..=rows`; `progress` hears how many there are.
///
/// # Errors
/// [`DemoError::Postgres`].
pub async fn create(
    connection: &mut Connection,
    rows: u64,
    mut progress: impl FnMut(u64),
) -> Result<(), DemoError> {
    connection.query(CREATE).await?;
    let mut made = 0;
    while made < rows {
        let until = rows.min(made + CHUNK_ROWS);
        let first = made + 1;
        connection
            .query(&format!(
                "INSERT INTO public.customers SELECT {ROW} FROM generate_series({first}::bigint, {until}) AS n"
            ))
            .await?;
        made = until;
        progress(made);
    }
    connection.query("VACUUM ANALYZE public.customers").await?;
    Ok(())
}

/// The key of the last row that a round of changes inserts and leaves.
pub fn last_key(rows: u64, round: u64) -> u64 {
    rows + 100 + round * 100
}

/// One round of live changes: inserts, updates and deletes in one transaction, a key update among them.
///
/// # Errors
/// [`DemoError::Postgres`].
pub async fn change(connection: &mut Connection, rows: u64, round: u64) -> Result<u64, DemoError> {
    let first = rows + 1 + round * 100;
    let last = first + 99;
    let residue = round % 97;
    let statements = format!(
        "BEGIN;
INSERT INTO public.customers SELECT {ROW} FROM generate_series({first}::bigint, {last}) AS n;
UPDATE public.customers SET balance = balance + 1, visits = visits + 1, updated_at = updated_at + interval '1 second'
    WHERE id BETWEEN {residue} * 100 AND {residue} * 100 + 99;
UPDATE public.customers SET id = -id WHERE id = {first};
DELETE FROM public.customers WHERE id BETWEEN {first} + 50 AND {first} + 59;
COMMIT"
    );
    connection.query(&statements).await?;
    Ok(211)
}
