-- For a queue: change events in the shape that consumers of Debezium know, with the row before and after.
--
-- Before a change often the key alone is known: ALTER TABLE … REPLICA IDENTITY FULL gives all of it.

local json = require "json"

local operation = { insert = "c", update = "u", delete = "d" }

-- The order in which the fields are written.
local event_fields = { "before", "after", "source", "op", "ts_ms" }
local source_fields = { "connector", "table", "lsn", "txId", "ts_ms" }

function onRecord(r)
  local op = operation[r.kind]
  if not op then
    return nil
  end
  local committed = r.commit_time and r.commit_time.unix_milli
  local event = {
    before = r.old or json.null,
    after = r.new or json.null,
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
  return { key = json.encode { id = r.row.id }, value = json.encode(json.object(event, event_fields)) }
end
