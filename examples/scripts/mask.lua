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

local function has_email(row)
  for _, column in ipairs(peerdb.RowColumns(row)) do
    if column == "email" then
      return true
    end
  end
  return false
end

-- Called for the row before a change as well, so that neither tells.
function transformRow(row)
  if has_email(row) then
    local email = row.email
    -- nil: NULL, or not sent (a delete says its key alone, an update leaves out what did not change).
    if email then
      row.email = mask(email)
    end
  end
end
