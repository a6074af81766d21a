//! The bench's table: ten columns of mixed types, about 160 bytes a row.

use tarn_harness::Postgres;

/// The values of row `n`.
pub const ROW: &str = "n, (n % 100000)::int, 'user' || n || '@example.org', 'name ' || md5(n::text), \
    (n % 1000000)::numeric / 100, (n % 4096)::float8 / 8, n % 3 = 0, date '1990-01-01' + (n % 10000)::int, \
    timestamptz '2024-01-01Z' + n * interval '1 second', md5('d' || n)::uuid";

/// Makes the table with rows `1..=rows`.
pub fn create(postgres: &Postgres, rows: u64) {
    postgres.query(&format!(
        "DROP TABLE IF EXISTS bench;
         CREATE TABLE bench (id bigint PRIMARY KEY, kind int NOT NULL, email text NOT NULL, name text,
            price numeric(12,2) NOT NULL, score float8, active boolean NOT NULL, born date,
            at timestamptz NOT NULL, device uuid NOT NULL);
         INSERT INTO bench SELECT {ROW} FROM generate_series(1, {rows}) n;
         VACUUM (FREEZE, ANALYZE) bench;
         CHECKPOINT"
    ));
}
