-- Replicates only the rows of some countries, and none of test accounts.
--
-- Deletes always go on: they say the key alone, and deleting a row that is not there does no harm.
-- A row that stops matching keeps its last state at the destination; return it once more, marked, if
-- readers must know.

local countries = { AT = true, CH = true, DE = true }

function onRecord(r)
  if r.kind == "delete" then
    return r
  end
  local row = r.row
  if not countries[row.country] then
    return nil
  end
  if row.email and row.email:find("@test.example.com", 1, true) then
    return nil
  end
  return row
end
