-- The catalog's first form. The statements hold to what SQLite and PostgreSQL read alike: TEXT and
-- BIGINT columns, booleans as 0 and 1, JSON and base64 as TEXT, times as microseconds since 1970.

-- Single values by name: catalog facts, the digest of the generated password.
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- Ids that grow, never reused.
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);

INSERT INTO counters (name, value) VALUES ('mirrors', 0), ('scripts', 0), ('logs', 0);

-- Registered data stores; the settings are sealed whole.
CREATE TABLE peers (
    name TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    sealed TEXT NOT NULL,
    created_us BIGINT NOT NULL,
    updated_us BIGINT NOT NULL
);

-- Mirrors, also dropped ones until their name is used again.
CREATE TABLE mirrors (
    id BIGINT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    source_peer TEXT NOT NULL,
    destination_peer TEXT NOT NULL,
    script TEXT NOT NULL,
    spec TEXT NOT NULL,
    desired TEXT NOT NULL,
    state TEXT NOT NULL,
    resume_at TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    failure TEXT,
    edit TEXT,
    drop_options TEXT NOT NULL,
    generation BIGINT NOT NULL,
    rows_synced BIGINT NOT NULL,
    created_us BIGINT NOT NULL,
    updated_us BIGINT NOT NULL
);

-- The snapshot's ledger: tables in the order they load in, and their partitions.
CREATE TABLE snapshot_tables (
    mirror_id BIGINT NOT NULL REFERENCES mirrors (id) ON DELETE CASCADE,
    source_table TEXT NOT NULL,
    destination_table TEXT NOT NULL,
    ordinal BIGINT NOT NULL,
    planned BIGINT NOT NULL,
    PRIMARY KEY (mirror_id, source_table)
);

CREATE TABLE snapshot_partitions (
    mirror_id BIGINT NOT NULL,
    source_table TEXT NOT NULL,
    number BIGINT NOT NULL,
    plan TEXT NOT NULL,
    done BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    horizon TEXT NOT NULL,
    row_count BIGINT NOT NULL,
    started_us BIGINT,
    finished_us BIGINT,
    PRIMARY KEY (mirror_id, source_table, number),
    FOREIGN KEY (mirror_id, source_table)
        REFERENCES snapshot_tables (mirror_id, source_table) ON DELETE CASCADE
);

-- Where each stream began and where it restarts. `sequence` never gets smaller. Up to `loaded_sequence`
-- the stream brings changes of rows that a load has seen later.
CREATE TABLE checkpoints (
    mirror_id BIGINT PRIMARY KEY REFERENCES mirrors (id) ON DELETE CASCADE,
    start_position TEXT NOT NULL,
    position TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    loaded_sequence BIGINT NOT NULL DEFAULT 0,
    updated_us BIGINT NOT NULL
);

-- Destination writes of the streams.
CREATE TABLE cdc_batches (
    mirror_id BIGINT NOT NULL REFERENCES mirrors (id) ON DELETE CASCADE,
    batch_id BIGINT NOT NULL,
    start_lsn BIGINT NOT NULL,
    end_lsn BIGINT NOT NULL,
    num_rows BIGINT NOT NULL,
    started_us BIGINT NOT NULL,
    ended_us BIGINT,
    PRIMARY KEY (mirror_id, batch_id)
);

CREATE TABLE table_counts (
    mirror_id BIGINT NOT NULL REFERENCES mirrors (id) ON DELETE CASCADE,
    table_name TEXT NOT NULL,
    inserts BIGINT NOT NULL,
    updates BIGINT NOT NULL,
    deletes BIGINT NOT NULL,
    PRIMARY KEY (mirror_id, table_name)
);

-- What happened to mirrors, by name: entries outlive their mirror.
CREATE TABLE logs (
    id BIGINT PRIMARY KEY,
    mirror TEXT NOT NULL,
    level BIGINT NOT NULL,
    message TEXT NOT NULL,
    at_us BIGINT NOT NULL
);

CREATE INDEX logs_by_mirror ON logs (mirror, id);

-- Scripts, their versions, and the components they were compiled into by digest.
CREATE TABLE scripts (
    id BIGINT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    language TEXT NOT NULL,
    version BIGINT NOT NULL,
    created_us BIGINT NOT NULL
);

CREATE TABLE script_versions (
    script_id BIGINT NOT NULL REFERENCES scripts (id) ON DELETE CASCADE,
    version BIGINT NOT NULL,
    language TEXT NOT NULL,
    source TEXT NOT NULL,
    digest TEXT NOT NULL,
    created_us BIGINT NOT NULL,
    PRIMARY KEY (script_id, version)
);

CREATE TABLE components (
    digest TEXT PRIMARY KEY,
    bytes TEXT NOT NULL,
    created_us BIGINT NOT NULL
);
