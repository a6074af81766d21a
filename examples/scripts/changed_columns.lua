-- For a queue: what an update changed, and nothing when it changed nothing of interest:
-- {"id": 7, "changed": {"status": {"from": "new", "to": "paid"}}}.
--
-- Needs the whole row before the change: ALTER TABLE … REPLICA IDENTITY FULL. A column that was not sent
-- did not change.

local json = require "json"

local ignored = { updated_at = true }

local function differs(one, other)
  if type(one) == "table" then
    return json.encode(one) ~= json.encode(other)  -- arrays
  end
  return one ~= other
end

function onRecord(r)
  if r.kind ~= "update" or not r.old then
    return nil
  end
  local changed = {}
  for column, value in pairs(r.new) do
    local before = r.old[column]
    if not ignored[column] and not r.unchanged_columns[column] and differs(value, before) then
      changed[column] = json.object({
        from = before == nil and json.null or before,
        to = value == nil and json.null or value,
      }, { "from", "to" })
    end
  end
  if next(changed) == nil then
    return nil
  end
  return { key = r.new.id, value = json.encode { id = r.new.id, changed = changed } }
end
