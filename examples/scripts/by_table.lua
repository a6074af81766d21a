-- One script for several tables: a function for each, by the name at the source.

local transform = {}

transform["public.users"] = function(row)
  row.name = row.name and row.name:upper()
end

transform["public.logins"] = function(row)
  -- The address is kept without its last part.
  if row.address then
    row.address = row.address:gsub("%d+$", "0")
  end
end

-- Counted while the script lives, and said now and then.
local seen = 0

function onRecord(r)
  local change = transform[r.source]
  if not change then
    return nil  -- other tables are not replicated by this script
  end
  change(r.row)
  seen = seen + 1
  if seen % 1000000 == 0 then
    print("records so far:", seen)
  end
  return r
end
