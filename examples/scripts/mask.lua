-- Masks e-mail addresses: jane.doe@example.com becomes j***@example.com.
--
-- Works for every table that has a column "email"; other tables pass through unchanged.

local function mask(email)
  local at = email:find("@", 1, true)
  if not at then
    return "***"
  end
  local first = email:match("^" .. utf8.charpattern)
  return (first == "@" and "" or first) .. "***" .. email:sub(at)
end

local has_email = {}  -- by table, so that each is looked at once

local function check(row)
  for _, column in ipairs(peerdb.RowColumns(row)) do
    if column == "email" then
      return true
    end
  end
  return false
end

function onRecord(r)
  local row = r.row
  if has_email[r.source] == nil then
    has_email[r.source] = check(row)
  end
  -- nil: NULL, or not sent (a delete says its key alone, an update leaves out what did not change).
  if has_email[r.source] and row.email then
    row.email = mask(row.email)
  end
  return row
end
