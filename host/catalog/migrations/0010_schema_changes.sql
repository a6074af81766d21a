-- Changes of columns that mirrors stopped at until a person approves them: at most one a table, with the plan that was
-- shown. `approved` is 0 or 1; a line goes once its change is made.
CREATE TABLE schema_changes (
    mirror_id BIGINT NOT NULL,
    table_name TEXT NOT NULL,
    digest TEXT NOT NULL,
    plan TEXT NOT NULL,
    approved BIGINT NOT NULL,
    noticed_us BIGINT NOT NULL,
    PRIMARY KEY (mirror_id, table_name)
);
