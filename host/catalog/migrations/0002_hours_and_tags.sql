-- What a mirror's stream wrote, hour by hour since 1970: the batches themselves are kept for days, and
-- people look back over months.
CREATE TABLE written_hours (
    mirror_id BIGINT NOT NULL REFERENCES mirrors (id) ON DELETE CASCADE,
    hour BIGINT NOT NULL,
    row_count BIGINT NOT NULL,
    PRIMARY KEY (mirror_id, hour)
);

INSERT INTO written_hours (mirror_id, hour, row_count)
SELECT mirror_id, started_us / 3600000000, CAST(SUM(num_rows) AS BIGINT)
FROM cdc_batches WHERE ended_us IS NOT NULL
GROUP BY mirror_id, started_us / 3600000000;

-- What people note on mirrors, in their order.
CREATE TABLE mirror_tags (
    mirror_id BIGINT NOT NULL REFERENCES mirrors (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    value TEXT NOT NULL,
    ordinal BIGINT NOT NULL,
    PRIMARY KEY (mirror_id, tag)
);
