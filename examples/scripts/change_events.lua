-- For a queue: change events in the shape that consumers of Debezium know, with the row before and after.
--
-- Before a change often the key alone is known: ALTER TABLE … REPLICA IDENTITY FULL gives all of it.

local json = require "json"

local operation = { insert = "c", update = "u", delete = "d" }

-- The order in which the fields are written.
local event_fields = { "before", "after", "source", "op", "ts_ms" }
local source_fields = { "connector", "table", "lsn", "txId", "ts_ms" }

local function key_of(row)
  return json.encode { id = row.id }
end

local function event_of(r, op, before, after)
  local committed = r.commit_time and r.commit_time.unix_milli
  local event = {
    before = before or json.null,
    after = after or json.null,
    source = json.object({
      connector = "tarn",
      table = r.source,
      lsn = r.checkpoint,
      txId = r.transaction_id,
      ts_ms = committed,
    }, source_fields),
    op = op,
    ts_ms = committed,
  }
  return json.encode(json.object(event, event_fields))
end

function onRecord(r)
  local op = operation[r.kind]
  if not op then
    return nil
  end
  local key = key_of(r.row)
  if op == "u" and r.old and key_of(r.old) ~= key then
    -- The row goes under its old key, for readers and for compaction, and comes under the new one.
    local old_key = key_of(r.old)
    return { key = old_key, value = event_of(r, "d", r.old, nil) },
      { key = old_key },
      { key = key, value = event_of(r, "c", nil, r.new) }
  end
  return { key = key, value = event_of(r, op, r.old, r.new) }
end
