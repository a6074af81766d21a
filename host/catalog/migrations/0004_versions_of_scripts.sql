-- What a version of a script has besides its code: its cases, the user who stored it, and the older version
-- that it took up again (0 where it took up none).
ALTER TABLE script_versions ADD COLUMN tests TEXT NOT NULL DEFAULT '';

ALTER TABLE script_versions ADD COLUMN created_by TEXT NOT NULL DEFAULT '';

ALTER TABLE script_versions ADD COLUMN rolled_back_from BIGINT NOT NULL DEFAULT 0;
