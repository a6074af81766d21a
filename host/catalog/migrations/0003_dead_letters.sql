-- Records that could not be taken and are kept aside. `version` is the record's version as 32 hexadecimal digits,
-- which sort alike; `record` is a batch of that one record, sealed, and empty once the letter is settled. What is
-- small comes before what is large: counting does not read the records.
CREATE TABLE dead_letters (
    id BIGINT PRIMARY KEY,
    mirror_id BIGINT NOT NULL REFERENCES mirrors (id) ON DELETE CASCADE,
    identity TEXT NOT NULL,
    state TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    version TEXT NOT NULL,
    row_keys TEXT NOT NULL,
    source_table TEXT NOT NULL,
    kind TEXT NOT NULL,
    stage TEXT NOT NULL,
    commit_us BIGINT,
    script TEXT NOT NULL,
    script_version BIGINT NOT NULL,
    line BIGINT NOT NULL,
    created_us BIGINT NOT NULL,
    settled_us BIGINT,
    function_name TEXT NOT NULL,
    row_key TEXT NOT NULL,
    message TEXT NOT NULL,
    log_lines TEXT NOT NULL,
    record TEXT NOT NULL,
    UNIQUE (mirror_id, identity)
);

CREATE INDEX dead_letters_by_state ON dead_letters (mirror_id, state, version);

INSERT INTO counters (name, value) VALUES ('dead_letters', 0);

-- How many records of a mirror were left out and not kept.
CREATE TABLE skipped_records (
    mirror_id BIGINT PRIMARY KEY REFERENCES mirrors (id) ON DELETE CASCADE,
    row_count BIGINT NOT NULL
);
