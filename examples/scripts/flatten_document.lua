-- For a queue: the fields of a jsonb column beside the other columns, one flat object a row.
--
-- {"id": 7, "profile": {"city": "Bern", "geo": {"lat": 46.9480}}} becomes
-- {"id": 7, "profile_city": "Bern", "profile_geo_lat": 46.9480}. Numbers keep every digit.

local json = require "json"

local function flatten(into, prefix, value)
  local inner, marker = json.unmark(value)
  if marker == json.object then
    for name, field in pairs(inner) do
      flatten(into, prefix .. "_" .. name, field)
    end
  else
    into[prefix] = value  -- text, numbers, null, and arrays as they are
  end
end

function onRecord(r)
  local row = r.row
  if not row then
    return nil
  end
  local flat = peerdb.RowTable(row)
  local found = {}
  for column, value in pairs(flat) do
    if peerdb.RowColumnKind(row, column) == "json" then
      flatten(found, column, json.decode(value, true))
      flat[column] = nil
    end
  end
  for name, value in pairs(found) do
    flat[name] = value
  end
  return { key = row.id, value = json.encode(flat) }
end
