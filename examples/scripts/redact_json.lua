-- Removes secrets from JSON documents, however deep they are: {"user": {"password": "x"}} becomes
-- {"user": {"password": "[redacted]"}}. Numbers in the document keep every digit.

local json = require "json"

local secret = { password = true, token = true, api_key = true, card_number = true }

-- Changes the value in place; true when it did.
local function redact(value)
  local changed = false
  for key, inner in pairs(value) do
    if secret[key] then
      value[key] = "[redacted]"
      changed = true
    elseif type(inner) == "table" then
      changed = redact(inner) or changed
    end
  end
  return changed
end

function onRecord(r)
  local row = r.row
  local document = row.profile and json.decode(row.profile)
  if type(document) == "table" and redact(document) then
    row.profile = json.encode(document)
  end
  return row
end
