-- How often what a mirror delivered was forgotten: a queue keeps its own note of that, by a name with this number in it.
ALTER TABLE mirrors ADD COLUMN delivery BIGINT NOT NULL DEFAULT 0;
