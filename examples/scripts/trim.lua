-- Cleans text on the way: no blanks around it, empty text becomes NULL where the column may be NULL.
--
-- A transform function changes the row in place; what it returns does not matter.

local function clean(text)
  return text:match("^%s*(.-)%s*$")
end

function transformRow(row)
  for column, value in pairs(row) do
    if type(value) == "string" and peerdb.RowColumnKind(row, column) == "string" then
      local cleaned = clean(value)
      if cleaned == "" then
        -- Raises an error where the column is NOT NULL: then the empty text stays.
        if not pcall(function() row[column] = nil end) then
          row[column] = ""
        end
      elseif cleaned ~= value then
        row[column] = cleaned
      end
    end
  end
end
