-- What waits in stages, entry by entry: the rows of an entry are acknowledged once its line is here, and forgotten
-- once it is gone, whatever a folder or a bucket shows late. `epoch` counts the lives of a mirror's stage; only the
-- latest may change its lines. `place` is empty for the data folder. A key opens one entry alone, and goes with it.
-- `staged_mirrors` remains for what an earlier version put aside, until it is taken over.
CREATE TABLE stages (
    mirror_id BIGINT PRIMARY KEY,
    epoch BIGINT NOT NULL
);

CREATE TABLE staged_entries (
    mirror_id BIGINT NOT NULL,
    number BIGINT NOT NULL,
    place TEXT NOT NULL,
    name TEXT NOT NULL,
    after_sequence BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    digest TEXT NOT NULL,
    sealed_key TEXT NOT NULL,
    staged_us BIGINT NOT NULL,
    PRIMARY KEY (mirror_id, number)
);
