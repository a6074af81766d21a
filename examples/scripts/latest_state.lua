-- For a queue: a compacted topic that holds the latest state of every row. The key is the row's, a delete
-- is a message without a value, which makes the topic forget the key.
--
-- A change of the key forgets the old one first. Messages of one record are sent in order.

local json = require "json"

local function key_of(row)
  return json.encode { id = row.id }
end

function onRecord(r)
  if r.kind == "delete" then
    return { key = key_of(r.old) }
  end
  if not r.new then
    return nil
  end
  local state = { key = key_of(r.new), value = json.encode(r.new, { json = "nested" }) }
  if r.old and r.old.id ~= r.new.id then
    return { key = key_of(r.old) }, state
  end
  return state
end
