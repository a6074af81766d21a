-- Masks e-mail addresses: jane.doe@example.com becomes j***@example.com.
--
-- Works for every table that has a column "email"; other tables pass through unchanged. It changes rows in place, so
-- it serves tables and queues, alone or before another script.

local function mask(email)
  -- The first character (a letter beyond ASCII has more than one byte), and all from the @ on.
  local first, domain = email:match("^([^@][\128-\191]*)[^@]*(@.*)$")
  if first then
    return first .. "***" .. domain
  end
  return "***"
end

local has_email = {}  -- by table, so that each is looked at once

local function look(r)
  has_email[r.source] = false
  for _, column in ipairs(peerdb.RowColumns(r.row)) do
    if column == "email" then
      has_email[r.source] = true
    end
  end
  return has_email[r.source]
end

function transformRecord(r)
  local found = has_email[r.source]
  if found == nil then
    found = look(r)
  end
  if found then
    local row = r.row
    local email = row.email
    -- nil: NULL, or not sent (a delete says its key alone, an update leaves out what did not change).
    if email then
      row.email = mask(email)
    end
  end
end
