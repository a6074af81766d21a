-- Loads that go into tables beside those that people read, by a name of their own.
CREATE TABLE loads_beside (
    mirror_id BIGINT PRIMARY KEY,
    name TEXT NOT NULL
);
