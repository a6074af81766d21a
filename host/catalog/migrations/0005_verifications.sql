-- Comparisons of both sides of mirrors. They outlive their mirrors; the tables' progress is JSON.
INSERT INTO counters (name, value) VALUES ('verifications', 0);

CREATE TABLE verifications (
    id BIGINT PRIMARY KEY,
    mirror_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    message TEXT NOT NULL,
    sample_rate DOUBLE PRECISION NOT NULL,
    tables TEXT NOT NULL,
    created_us BIGINT NOT NULL,
    updated_us BIGINT NOT NULL,
    ended BIGINT NOT NULL
);

-- A mirror has one at a time.
CREATE UNIQUE INDEX verifications_under_way ON verifications (mirror_id) WHERE ended = 0;

-- What the source's rows of a table add up to by their keys' numbers, base64.
CREATE TABLE verification_digests (
    verification_id BIGINT NOT NULL REFERENCES verifications (id) ON DELETE CASCADE,
    source_table TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (verification_id, source_table)
);
