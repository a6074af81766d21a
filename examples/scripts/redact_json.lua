-- Removes secrets from JSON documents, however deep they are: {"user": {"password": "x"}} becomes
-- {"user": {"password": "[redacted]"}}. Everything else stays to the digit, in its order.

local json = require "json"

local secret = { password = true, token = true, api_key = true, card_number = true }

-- Changes the value in place; true when it did.
local function redact(value)
  local inner = json.unmark(value)
  if type(inner) ~= "table" then
    return false
  end
  local changed = false
  for key, field in pairs(inner) do
    if secret[key] then
      inner[key] = "[redacted]"
      changed = true
    elseif redact(field) then
      changed = true
    end
  end
  return changed
end

function transformRow(row)
  local document = row.profile and json.decode(row.profile, true)
  if document and redact(document) then
    row.profile = json.encode(document)
  end
end
