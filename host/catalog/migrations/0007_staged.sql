-- Mirrors whose rows wait in the stage of the data folder. Their positions are worth nothing without it.
CREATE TABLE staged_mirrors (
    mirror_id BIGINT PRIMARY KEY
);
