-- For a queue: sends each record to a topic of its tenant, so that a consumer reads its own alone.
--
-- The key keeps the changes of one order in one partition, and with it their order. Headers let a consumer
-- choose without reading the value. A delete has the key alone, and so no tenant, unless the table's
-- REPLICA IDENTITY is FULL.

local json = require "json"

local function topic_of(row)
  -- A topic has letters, digits, '.', '_' and '-'; whatever else a tenant is called becomes '_'.
  return "orders." .. tostring(row.tenant or "unknown"):gsub("[^%w._-]", "_")
end

function onRecord(r)
  local row = r.row
  if not row then
    return nil  -- a message in the log, or changed columns
  end
  return {
    topic = topic_of(row),
    key = row.id,
    value = json.encode { kind = r.kind, order = row, at = r.commit_time },
    headers = { kind = r.kind, source = r.source },
  }
end
